package clients

import (
	"strings"
	"testing"
)

// TestFront: no server in front matter is passed over, in whatever form it has there; names of
// servers are none, and prose that is no YAML is passed over if it can name none.
func TestFront(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"# A page\n---\nmcpServers: {a: {command: b}}\n---\n":                         "",
		"---\nname: x\n---\nmcpServers:\n  a: {command: b}\n":                         "",
		"---\nmcpServers: [github, slack]\n---\n":                                     "",
		"---\ndescription: Use when: <example>: \"x\n---\n":                           "",
		"---\ndescription: Use when: x\nmcpServers: {a: {command: b}}\n---\n":         "error",
		"---\ndescription: Use when: x\n\"mc\\x70Servers\": {a: {command: b}}\n---\n": "error",
		"---\nmcpServers: {a: {command: b}}\nmcpServers: {c: {command: d}}\n---\n":    "a c",
		"---\nx: &x {a: {command: b}}\nmcpServers: {<<: *x}\n---\n":                   "error",
		"---\nmcpServers:\n- github\n- a: {command: b}\n  c: {url: d}\n---\n":         "a c",
		"---\nmcpServers:\n- name: a\n  command: b\n---\n":                            "a",
		"---  \r\nmcp-servers:\r\n  a: {command: b}\r\n---\r\n":                       "a",
		"\ufeff---\nmcp_servers:\n  a: {command: b}\n":                                "a",
		"---\nmcpServers: ./other.json\n---\n":                                        "mcpServers: is a text; if it names another file, that is not followed",
		"---\nmcpServers:\n- {a: {command: b}, c: 1}\n---\n":                          ": has no name",
	} {
		f := File{Client: "x", Path: "a.md", format: FrontMatter,
			shapes: []string{usualKey, "mcp-servers", "mcp_servers"}}
		found, err := Inspect(f, []byte(text))
		var got []string
		for _, s := range found {
			if s.Problem != "" {
				s.Name += ": " + s.Problem
			}
			got = append(got, s.Name)
		}
		if err != nil {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}
