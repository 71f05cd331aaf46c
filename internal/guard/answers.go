package guard

import (
	"encoding/json"
	"maps"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

var (
	switches  = object(map[string]Shape{"listChanged": flag, "subscribe": flag})
	offerings = object(map[string]Shape{
		"tools": switches, "prompts": switches, "resources": switches, "logging": blank, "completions": blank,
		"tasks": object(map[string]Shape{
			"list": blank, "cancel": blank,
			"requests": object(map[string]Shape{"tools": object(map[string]Shape{"call": blank})}),
		}),
		"experimental": NoValue, "extensions": NoValue,
	})
	results = map[string]Shape{
		"resultType": {fits: oneOf(`"complete"`)}, "ttlMs": flag, "cacheScope": {fits: oneOf(`"public"`, `"private"`)},
	}
)

// InitializeResult is the shape of the results of initialize and server/discover. server is the name
// that the server's user gave it.
func InitializeResult(server string) Shape {
	return resultOf(map[string]Shape{
		"protocolVersion": {fits: isProtocolVersion}, "supportedVersions": {fits: areProtocolVersions},
		"capabilities": offerings, "serverInfo": identity(server), "instructions": opaque,
	}, server)
}

// Page is the shape of the result of a listing, whose items are the member of that name.
// replaceCursor gives the JSON that takes the place of a cursor.
func Page(member, server string, replaceCursor func([]byte) []byte) Shape {
	return resultOf(map[string]Shape{
		member: opaque, "nextCursor": {fits: isPlainCursor, instead: replaceCursor, quiet: isAnything},
	}, server)
}

// identity is the shape of what a server says that it is. Its name becomes the one that its user
// gave it, whatever it calls itself: even one word has room for a sentence, and for the name of
// another server.
func identity(server string) Shape {
	called, err := json.Marshal(surface.Escape(server))
	if err != nil || server == "" {
		called = []byte(`"server"`)
	}
	return object(map[string]Shape{
		"name":    {fits: oneOf(string(called)), instead: always(called), quiet: isWord},
		"version": {fits: isProgramVersion, instead: always([]byte(`"0"`))},
		"title":   NoValue, "description": NoValue, "icons": NoValue, "websiteUrl": NoValue,
	})
}

// resultOf is the shape of a result with the given members besides those of every result.
func resultOf(members map[string]Shape, server string) Shape {
	members["_meta"] = object(map[string]Shape{"io.modelcontextprotocol/serverInfo": identity(server)})
	maps.Copy(members, results)
	return object(members)
}

// Failure is the shape of the error that answers an introduction or a listing. Of its data is
// passed on what a client needs to choose another version of the protocol.
var Failure = object(map[string]Shape{
	"code": flag,
	"message": {
		fits: oneOf(`"Parse error"`, `"Invalid Request"`, `"Method not found"`, `"Invalid params"`,
			`"Internal error"`),
		instead: attributeReason, quiet: isAnything,
	},
	"data": object(map[string]Shape{"supported": {fits: areProtocolVersions}, "requested": {fits: isProtocolVersion}}),
})

// attributeReason is the reason of a server's error as Hallmark repeats it.
func attributeReason(v []byte) []byte {
	reason, _ := jsonrpc.Text(v)
	out, err := json.Marshal("hallmark: " + jsonrpc.ShowReason(reason))
	if err != nil {
		return nil
	}
	return out
}
