package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// No entry that a client may read is passed over: what is no server is there with what is
// the matter with it.
func TestInspect(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{".mcp.json", `{"mcpServers": {"a": {"command": "x"}, "b": {}, "c": "npx", "d": ["npx"], "e": null, "f": 1}}`,
			`a, b: neither, c: is a text, d: not a table, e: not a table, f: not a table`},
		{".mcp.json", `{"mcpServers": "./servers.json"}`, `mcpServers: is a text`},
		{".mcp.json", `{"mcpServers": null}`, ``},
		{".mcp.json", `{"mcpServers": {}}`, ``},
		{".mcp.json", `{"mcpServers": {"a": {"command": ""}, "b": {"url": ""}, "c": {"command": 1}, "d": {"command": "x", "args": "run y"}}}`,
			`a: neither, b: neither, c: neither, d: neither`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "args": ["run", "a"], "url": "https://x.example.com"}}}`, `a: both a command and a URL`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "command": "evil"}}}`, `a: two members called "command"`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "cmd": "evil"}}}`, `a: both command and cmd`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "transport": {"command": "evil"}}}}`, `a: two commands`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "x", "args": ["run", {"a": 1}]}}}`, `a: argument that is not a text`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "y"}}}`, `a, b`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, `a, a`},
		{".mcp.json", `{"mcpServers": [{"command": "x"}, {"name": "b", "command": "y"}, "z"]}`, `: has no name, b, : is a text`},
		{".mcp.json", `{"servers": {"a": {"command": "x"}}}`, `a`},
		{".vibe/config.toml", "[[mcp_servers]]\nname = \"a\"\ncommand = \"x\"\n[[mcp_servers]]\nname = \"b\"\ncommand = \"y\"\n[mcp_servers.env]\nK = \"v\"\n[[mcp_servers]]\nname = \"c\"\n", `a, b, c: neither`},
		{".vibe/config.toml", `mcp_servers = [{name = "a", command = "x"}, {name = "b", command = "y"}, {name = "c"}]`, `a, b, c: neither`},
		{".continue/config.yaml", "x: &x {name: a, command: x}\nmcpServers:\n- *x\n- {name: b, command: y}\n- *x\n", `a, a, b`},
		{"goose/config.yaml", "extensions:\n  developer: {type: builtin}\n", `developer: extension`},
		{".zed/settings.json", `{"context_servers": {"e": {"settings": {}}}}`, `e: extension`},
		{"any.json", `{"servers": {"web": {"port": 1}}, "mcp": {"servers": {"a": {"command": "x"}, "b": {}}}}`, `a`},
		{"any.json", `{"mcpServers": {"a": {}}}`, `a: neither`},
		{"hallmark.toml", "[providers.mcp.a]\nserver = \"io.example/a@1.0.0\"\n", ``},
	} {
		found, err := Inspect(At(c.name), []byte(c.text))
		var got []string
		for _, s := range found {
			got = append(got, strings.TrimSuffix(s.Name+": "+s.Problem, ": "))
		}
		ok := err == nil && len(got) == strings.Count(c.want, ", ")+min(1, len(c.want))
		for i, want := range strings.Split(c.want, ", ") {
			if name, problem, odd := strings.Cut(want, ": "); ok && want != "" {
				ok = found[i].Name == name && strings.Contains(found[i].Problem, problem) && (found[i].Problem != "") == odd && found[i].Line > 0
			}
		}
		if !ok {
			t.Errorf("%s %s\ngot  %q, %v\nwant %s", c.name, c.text, got, err, c.want)
		}
	}
}

// What readers of YAML read differently is refused, and not read in one of the ways.
func TestAmbiguousYAML(t *testing.T) {
	for _, text := range []string{
		"mcpServers: []\n---\nmcpServers: [{name: a, command: x}]\n",
		"base: &b {a: {command: x}}\nmcpServers:\n  <<: *b\n",
		"base: &b {command: x}\nmcpServers:\n  a: {<<: *b}\n",
		"<<: {mcpServers: {a: {command: x}}}\n",
		"k: &k mcpServers\n*k : {a: {command: x}}\n",
	} {
		if found, err := Inspect(At("a.yaml"), []byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, found)
		}
	}
}

// Every member that is not known to leave alone what is started is named.
func TestUnknownMembers(t *testing.T) {
	text := `{"mcpServers": {"a": {"type": "stdio", "command": "hallmark", "args": ["run", "a"], "env": {}, "timeout": 5, "disabled": false%s}}}`
	for more, want := range map[string]string{
		"":                          "",
		`, "envFile": "x"`:          "envFile",
		`, "envFile": null`:         "",
		`, "shell": true, "x": {}`:  "shell x",
		`, "sandbox": {"a": 1}`:     "sandbox",
		`, "ENV": {"A": "b"}`:       "ENV",
		`, "headers": {"A": "b"}`:   "headers",
		`, "transport": {"uid": 1}`: "uid",
		`, "envs": ["A=b", "C"]`:    "",
		`, "envs": "A=b"`:           "envs",
		`, "envs": [{"name": 1}]`:   "envs",
		`, "source": "extension"`:   "source extension",
		`, "source": "custom"`:      "",
		`, "transport": "sse"`:      "transport sse",
	} {
		found, err := Inspect(At(".mcp.json"), fmt.Appendf(nil, text, more))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if got := strings.Join(found[0].Unknown(), " "); got != want {
			t.Errorf("%s: %q, want %q", more, got, want)
		}
	}
	for text, want := range map[string]string{`"."`: ".", `null`: "", `["x"]`: "?", `{}`: "?", `3`: "?"} {
		found, _ := Inspect(At(".mcp.json"), []byte(`{"mcpServers": {"a": {"command": "x", "cwd": `+text+`}}}`))
		if got := found[0].WorkingDir(); got != want {
			t.Errorf("cwd %s: %q", text, got)
		}
	}
	if !slices.Contains(plainKeys, "cwd") {
		t.Error("cwd is judged by its value")
	}
}
