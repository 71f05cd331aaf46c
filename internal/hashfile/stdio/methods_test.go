package stdio

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestVersions: the versions are those of the SDK, whose client the tests of other packages use.
func TestVersions(t *testing.T) {
	if want := mcp.SupportedProtocolVersions(); !slices.Equal(versions, want) {
		t.Errorf("%q, want %q", versions, want)
	}
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-06-18": "2025-06-18",
		stateless: "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25"} {
		c := begin(t, fmt.Sprintf(greeting, asked), echo)
		if got := c.line(); !strings.Contains(got, `"capabilities":{"tools":{}}`) ||
			!strings.Contains(got, `"protocolVersion":"`+want+`"`) || strings.Contains(got, "resultType") {
			t.Errorf("%s: %s", asked, got)
		}
	}
}

// meta is what a request of a stateless client has.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"%s",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`

func ask(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
}

// TestMethods: what is answered before a session has begun, in one, and to a client that needs none.
func TestMethods(t *testing.T) {
	now := fmt.Sprintf(meta, stateless, "{}")
	info := `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","title":"","version":"1"}}`
	for _, x := range []struct{ version, line, want string }{
		{"", ask("ping", ""), `"result":{}`},
		{"", ask("tools/list", ""), `"error":{"code":0,"message":"method \"tools/list\" is invalid during session init`},
		{"", call(1, "write", ""), `"error":{"code":0,`},
		{"", ask("foo", ""), `"error":{"code":0,`},
		{"", ask("server/discover", ""), `"error":{"code":-32601,`},
		{"", ask("initialize", `"protocolVersion":7`), `"error":{"code":-32602,`},
		{"", ask("initialize", `"protocolVersion":"2025-06-18","capabilities":7`), `"error":{"code":-32602,`},
		{"", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `"error":{"code":-32600,`},
		{"2025-11-25", ask("initialize", `"protocolVersion":"2025-11-25"`), `"error":{"code":0,`},
		{"2025-11-25", ask("foo", ""), `"error":{"code":-32601,"message":"method not found: \"foo\""}`},
		{"2025-11-25", ask("logging/setLevel", `"level":"debug"`), `"error":{"code":-32601,`},
		{"2025-11-25", ask("tools/list", ""), `"result":{"cacheScope":"public","tools":[{"description":"","inputSchema":null,` +
			`"name":"read"},{"description":"","inputSchema":null,"name":"write"}],"ttlMs":0}`},
		{"2025-11-25", ask("tools/list", `"cursor":"x"`), `"error":{"code":-32602,`},
		{"2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, `"error":{"code":-32602,`},
		{"2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `"error":{"code":-32600,`},
		{"2025-11-25", ask("tools/call", `"name":7`), `"error":{"code":-32602,`},
		{"2025-11-25", ask("tools/call", `"name":"none"`), `"error":{"code":-32602,"message":"none"}`},
		{"2025-11-25", ask("tools/call", `"name":"read","_meta":7`), `"error":{"code":-32602,`},
		{"2025-11-25", ask("tools/call", `"name":"read"`), `"result":{"content":[{"type":"text","text":"read"}]}`},
		{"", ask("server/discover", now), `"supportedVersions":["2026-07-28",`},
		{"", ask("tools/list", now), `"result":{` + info + `,"cacheScope":"public","resultType":"complete","tools":[`},
		{"", ask("tools/call", `"name":"read",`+now),
			`"result":{"content":[{"type":"text","text":"read"}],` + info + `,"resultType":"complete"}`},
		{"", ask("ping", now), `"error":{"code":-32601,`},
		{"", ask("initialize", now), `"error":{"code":-32601,`},
		{"", ask("tools/list", fmt.Sprintf(meta, "2027-01-01", "{}")), `"error":{"code":-32022,`},
		{"", ask("tools/list", fmt.Sprintf(meta, stateless, "7")), `"error":{"code":-32602,`},
		{"", ask("tools/list", fmt.Sprintf(meta, stateless, `{"roots":7}`)), `"error":{"code":-32602,`},
		{"", ask("tools/list", fmt.Sprintf(meta, "2025-06-18", "{}")), `"error":{"code":0,`},
	} {
		c := begin(t, "", echo)
		if x.version != "" {
			c = greeted(t, x.version, echo)
		}
		c.send(x.line)
		if got := c.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,`) || !strings.Contains(got, x.want) {
			t.Errorf("%s: %s, want %s", x.line, got, x.want)
		}
	}
}

// TestIDs: an id comes back as it was written.
func TestIDs(t *testing.T) {
	c := greeted(t, "2025-11-25", echo)
	for _, id := range []string{"0", "-3", "-0", "1.0", "1e2", "9007199254740992", `""`, `"a\u00e9\"<\/"`, `"\ud83d\ude00"`} {
		for method, params := range map[string]string{"ping": "", "none": "", "tools/call": `"name":"read"`} {
			c.send(strings.Replace(ask(method, params), `"id":1`, `"id":`+id, 1))
			if got := c.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,`) {
				t.Errorf("%s: %s", id, got)
			}
		}
	}
}

// TestAsk: a client is asked, and only what it was asked for is taken of it, once.
func TestAsk(t *testing.T) {
	asks := make(chan *Call, 1)
	c := begin(t, "", echo)
	c.server.Call = func(_ context.Context, call *Call) *Result { asks <- call; return &Result{} }
	c.send(strings.TrimSuffix(fmt.Sprintf(greeting, "2025-11-25"), "\n"), call(7, "read", ""))
	c.line()
	asking := <-asks
	c.line()
	type taken struct {
		result string
		err    error
	}
	got := make(chan taken, 9)
	done := func(result json.RawMessage, err error) { got <- taken{string(result), err} }
	next := func(answers ...string) taken {
		t.Helper()
		asking.Ask("roots/list", done)
		var asked struct {
			ID     int
			Method string
		}
		if line := c.line(); json.Unmarshal([]byte(line), &asked) != nil || asked.Method != "roots/list" {
			t.Fatal(line)
		}
		for _, answer := range answers {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, asked.ID, answer))
		}
		return <-got
	}
	c.send(`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`)
	if a := next(`"result":{"a":1}`, `"result":{"a":2}`); a.result != `{"a":1}` || a.err != nil {
		t.Errorf("%+v", a)
	}
	if a := next(`"error":{"code":1,"message":"no"}`); a.err == nil || !strings.Contains(a.err.Error(), "no") {
		t.Errorf("%+v", a)
	}
	if a := next(`"result":"` + strings.Repeat("x", limit) + `"`); a.err == nil ||
		!strings.Contains(a.err.Error(), "too large") {
		t.Errorf("%+v", a)
	}
	go asking.Ask("roots/list", done)
	c.line()
	c.in.Close()
	if a := <-got; a.err != errGone {
		t.Errorf("%+v", a)
	}
	asking.Ask("roots/list", done)
	if a := <-got; a.err != errGone || len(got) > 0 {
		t.Errorf("%+v", a)
	}
	c.ended()
}

// TestLargeBatches: the answers of batches are held up to a bound. What is beyond it is refused by its id, and nothing
// of what is within is lost.
func TestLargeBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("moves much data through the goroutines of TestManyCalls")
	}
	large := strings.Repeat("x", maxBatch/4)
	c := greeted(t, "2025-03-26", func(context.Context, string, string) (string, error) { return large, nil })
	const batches, calls = 3, 2
	for i := range batches {
		c.send(fmt.Sprintf("[%s,%s]", call(10*i, "write", ""), call(10*i+1, "write", "")))
	}
	given, refused := 0, 0
	for range batches {
		got := c.line()
		given += strings.Count(got, `"result"`)
		refused += strings.Count(got, "-32000")
	}
	if given < 3 || given+refused != batches*calls {
		t.Errorf("%d calls are answered, and %d refused", given, refused)
	}
}
