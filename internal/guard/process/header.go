package process

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// From version 2026-07-28 on a tool's inputSchema can ask, by "x-mcp-header", that an argument is repeated
// in a header Mcp-Param-NAME of the HTTP request.

// binding is one such argument.
type binding struct {
	path   []string // names of properties, from the outermost
	header string
}

const maxBindingDepth = 32

// rememberBindings remembers the bindings of a page of tools. b.mu is held.
func (b *bridge) rememberBindings(result []byte) {
	if !strings.Contains(string(result), "x-mcp-header") {
		return
	}
	var page struct {
		Tools []struct {
			Name        string
			InputSchema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"inputSchema"`
		} `json:"tools"`
	}
	if json.Unmarshal(result, &page) != nil {
		return
	}
	for _, t := range page.Tools {
		var found []binding
		collectBindings(t.InputSchema.Properties, nil, &found)
		size := 0
		for _, f := range found {
			size += len(f.header) + len(strings.Join(f.path, " "))
		}
		b.bindings.Put(t.Name, found, size) // without room the server refuses the call
	}
}

// collectBindings adds to found the bindings of properties, which are those at path.
func collectBindings(properties map[string]json.RawMessage, path []string, found *[]binding) {
	if len(path) == maxBindingDepth {
		return
	}
	for name, raw := range properties {
		var p struct {
			Header     json.RawMessage            `json:"x-mcp-header"`
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		at := append(path[:len(path):len(path)], name)
		if header, ok := jsonrpc.Text(p.Header); ok && isHeaderToken(header) {
			*found = append(*found, binding{at, "Mcp-Param-" + header})
		}
		collectBindings(p.Properties, at, found)
	}
}

// isHeaderToken reports whether s can be a part of a header's name.
func isHeaderToken(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// paramHeaders are the headers for the arguments in the params of a call.
func paramHeaders(bound []binding, params []byte) map[string]string {
	if len(bound) == 0 {
		return nil
	}
	var call struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(params, &call) != nil {
		return nil
	}
	out := map[string]string{}
	for _, x := range bound {
		at := call.Arguments
		for _, name := range x.path {
			var members map[string]json.RawMessage
			if json.Unmarshal(at, &members) != nil {
				at = nil
				break
			}
			at = members[name]
		}
		if value, ok := headerText(at); ok {
			out[x.header] = headerASCII(value)
		}
	}
	return out
}

// headerText is a JSON string, boolean or integer that a header can repeat.
func headerText(raw []byte) (string, bool) {
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '"':
		return jsonrpc.Text(raw)
	case string(raw) == "true" || string(raw) == "false":
		return string(raw), true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53-1 {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// headerASCII is headerValue, in base64 also where s is not ASCII.
func headerASCII(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r > '~' }) {
		return headerBase64(s)
	}
	return headerValue(s)
}

// headerValue is s as a header can hold it: the text itself, or its base64 between the protocol's marks.
func headerValue(s string) string {
	plain := strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) &&
		!(strings.HasPrefix(s, base64Begin) && strings.HasSuffix(s, base64End))
	if plain {
		return s
	}
	return headerBase64(s)
}

// headerBase64 is the base64 of s between the protocol's marks.
func headerBase64(s string) string {
	return base64Begin + base64.StdEncoding.EncodeToString([]byte(s)) + base64End
}

const base64Begin, base64End = "=?base64?", "?="
