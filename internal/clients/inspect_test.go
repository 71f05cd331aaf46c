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
			`a, b, c: is a text, d: not a table, e: not a table, f: not a table`},
		{".mcp.json", `{"mcpServers": "./servers.json"}`, `mcpServers: is a text`},
		{".mcp.json", `{"mcpServers": null}`, ``},
		{".mcp.json", `{"mcpServers": {}}`, ``},
		{".mcp.json", `{"mcpServers": {"a": {"command": ""}, "b": {"url": ""}, "c": {"command": 1}, "d": {"command": "x", "args": "run y"}}}`,
			`a, b, c: neither, d: neither`},
		{".mcp.json", `{"mcpServers": {"a": {"type": "http", "url": null}, "b": {"command": "x", "url": "", "args": null, "env": null}, "c": {"url": "https://x.example.com", "headers": null, "command": []}, "d": {"cmd": "x", "command": null}}}`,
			`a, b, c, d`},
		{".mcp.json", `{"mcpServers": {"a": {"url": "https://x.example.com", "url": ""}, "b": {"url": "", "run": "x"}, "c": {"type": "other"}, "d": {"args": ["x"]}, "e": {"env": {"A": "b"}}}}`,
			`a: neither, b: neither, c: neither, d: neither, e: neither`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "args": ["run", "a"], "url": "https://x.example.com"}}}`, `a: both a command and a URL`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "command": "evil"}}}`,
			`a: two members called "command"`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "cmd": "evil"}}}`, `a: both command and cmd`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "hallmark", "transport": {"command": "evil"}}}}`,
			`a: two commands`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "x", "args": ["run", {"a": 1}]}}}`,
			`a: argument that is not a text`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "y"}}}`, `a, b`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, `a, a`},
		{".mcp.json", `{"mcpServers": [{"command": "x"}, {"name": "b", "command": "y"}, "z"]}`,
			`: has no name, b, : is a text`},
		{".mcp.json", `{"servers": {"a": {"command": "x"}}}`, `a`},
		{".vibe/config.toml", "[[mcp_servers]]\nname = \"a\"\ncommand = \"x\"\n[[mcp_servers]]\nname = \"b\"\ncommand = \"y\"\n[mcp_servers.env]\nK = \"v\"\n[[mcp_servers]]\nname = \"c\"\n", `a, b, c`},
		{".vibe/config.toml", `mcp_servers = [{name = "a", command = "x"}, {name = "b", command = "y"}, {name = "c"}]`,
			`a, b, c`},
		{".continue/config.yaml", "x: &x {name: a, command: x}\nmcpServers:\n- *x\n- {name: b, command: y}\n- *x\n",
			`a, a, b`},
		{"goose/config.yaml", "extensions:\n  a: {type: builtin}\n  b: {type: platform}\n  c: {type: frontend, tools: []}\n", `a, b, c`},
		{"goose/config.yaml", "extensions:\n  a: {type: inline_python, code: x}\n  b: {type: builtin, cmd: x}\n  c: {cmd: 1, type: stdio}\n",
			`a: neither, b, c: neither`},
		{".mcp.json", `{"mcpServers": {"a": {"type": "builtin"}}}`, `a: neither`},
		{".zed/settings.json", `{"context_servers": {"e": {"settings": {}}}}`, `e: extension`},
		{"any.json", `{"servers": {"web": {"port": 1}}, "mcp": {"servers": {"a": {"command": "x"}, "b": {}}}}`, `a`},
		{"any.json", `{"mcpServers": {"a": {}}}`, `a`},
		{"hallmark.toml", "[providers.mcp.a]\nserver = \"io.example/a@1.0.0\"\n", ``},
	} {
		found, err := Inspect(FileAt(c.name), []byte(c.text))
		var got []string
		for _, s := range found {
			got = append(got, strings.TrimSuffix(s.Name+": "+s.Problem, ": "))
		}
		ok := err == nil && len(got) == strings.Count(c.want, ", ")+min(1, len(c.want))
		for i, want := range strings.Split(c.want, ", ") {
			if name, problem, odd := strings.Cut(want, ": "); ok && want != "" {
				ok = found[i].Name == name && strings.Contains(found[i].Problem, problem) &&
					(found[i].Problem != "") == odd && found[i].Line > 0
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
		if found, err := Inspect(FileAt("a.yaml"), []byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, found)
		}
	}
}

// A secret that is written out is found by the name that it has, and its value is not kept.
func TestSecretsInFile(t *testing.T) {
	const kept = "hunter2hunter2"
	for text, want := range map[string]string{
		`"env": {"API_KEY": "hunter2hunter2", "LOG": "debug", "N": 1}`:                                "API_KEY",
		`"env": ["API_KEY=hunter2hunter2", "TOKEN", "PASSWORD=${PASSWORD}"]`:                          "API_KEY",
		`"headers": {"Authorization": "Bearer hunter2hunter2"}, "env_http_headers": {"X-Token": "T"}`: "Authorization",
		`"transport": {"env": {"DATABASE_URL": "postgres://u:hunter2hunter2@db.example.com/x"}}`:      "DATABASE_URL",
		`"env": {"API_KEY": "${input:key}", "TOKEN": ""}`:                                             "",
	} {
		found, err := Inspect(FileAt(".mcp.json"), []byte(`{"mcpServers": {"a": {"command": "x", `+text+`}}}`))
		if err != nil || len(found) != 1 || strings.Join(found[0].Secrets, " ") != want ||
			strings.Contains(fmt.Sprintf("%q", append(found[0].Secrets, found[0].Variables...)), kept) {
			t.Errorf("%s: %+v, %v", text, found, err)
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
		`, "optional": true, "startup_timeout_secs": 5`: "",
		`, "transport": "sse"`:                          "transport sse",
	} {
		found, err := Inspect(FileAt(".mcp.json"), fmt.Appendf(nil, text, more))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if got := strings.Join(found[0].Unknown(), " "); got != want {
			t.Errorf("%s: %q, want %q", more, got, want)
		}
	}
	for text, want := range map[string]string{`"."`: ".", `null`: "", `["x"]`: "?", `{}`: "?", `3`: "?"} {
		found, _ := Inspect(FileAt(".mcp.json"), []byte(`{"mcpServers": {"a": {"command": "x", "cwd": `+text+`}}}`))
		if got := found[0].WorkingDir(); got != want {
			t.Errorf("cwd %s: %q", text, got)
		}
	}
	if !slices.Contains(plainKeys, "cwd") {
		t.Error("cwd is judged by its value")
	}
}

// What one reader of a file finds and another does not is found, or the file is refused: no
// server hides from who looks behind a spelling that its client takes otherwise.
func TestOneReading(t *testing.T) {
	const evil = `"evil": {"command": "./evil"}`
	for name, texts := range map[string][]string{
		".vscode/mcp.json": {
			"{\"servers\": { // no server\r" + evil + "\n}}",
			"{\"servers\": { // no server\u2028" + evil + "\n}}",
			"{\"servers\": {'x: \"': '\", " + evil + ", \"z\": \"'}}",
			"{\"x\": {'a': '}, ', \"servers\": {" + evil + "}}}",
			"{\"x\": \"a\r\", \"servers\": {" + evil + "}, \"z\": \"\"}",
			"{\"x\": \"a\\\n\", \"servers\": {" + evil + "}, \"z\": \"\"}",
			"{x: 1, \"servers\": {" + evil + "}}",
			"{\"x\": .5, \"servers\": {" + evil + "}}",
			"{\"x\": \"\\v\", \"servers\": {" + evil + "}}",
			"{\u00a0\"servers\": {" + evil + "}}",
			"{\"__proto__\": {\"servers\": {" + evil + "}}}",
			"{\"\\u005f_proto__\": {\"servers\": {" + evil + "}}}",
			"{\"servers\": {}, \"servers\": {" + evil + "}}",
			"\xff\xfe{\x00}\x00", "{\x00\"\x00s\x00\"\x00}\x00",
			"{\"servers\": {" + evil + "}} trailing",
			"{\"servers\": {" + evil,
		},
		"crush.json": {
			"{\"MCP\": {" + evil + "}}", "{\"mC\\u0050\": {" + evil + "}}",
		},
		".continue/config.yaml": {
			"x: 1 # c\u2028mcpServers: [{name: evil, command: ./evil}]\n",
			"x: 1 # c\u0085mcpServers: [{name: evil, command: ./evil}]\n",
			"x: 1 # c\rmcpServers: [{name: evil, command: ./evil}]\n",
			"!!binary bWNwU2VydmVycw==: [{name: evil, command: ./evil}]\n",
			"mcpServers: [{name: evil, command: !!binary aGFsbG1hcms=}]\n",
			"mcpServers: !!js/function 'x'\n",
			"__proto__: {mcpServers: [{name: evil, command: ./evil}]}\n",
			"? \"mcp\\\n  Servers\"\n: [{name: evil, command: ./evil}]\n",
		},
		".claude/agents/a.md": {
			"---\f\nmcpServers: {evil: {command: ./evil}}\n---\n",
			"---\u00a0\nmcpServers: {evil: {command: ./evil}}\n---\n",
			"-----\nmcpServers: {evil: {command: ./evil}}\n-----\n",
			"---yaml\nmcpServers: {evil: {command: ./evil}}\n---\n",
			"\n---\nmcpServers: {evil: {command: ./evil}}\n---\n",
			"---\rmcpServers: {evil: {command: ./evil}}\r---\r",
			"---\n!!binary bWNwU2VydmVycw==: {evil: {command: ./evil}}\n---\n",
			"---\ndescription: use when: asked\n\"mc\\\npServers\": {evil: {command: ./evil}}\n---\n",
		},
	} {
		for _, text := range texts {
			found, err := Inspect(FileAt(name), []byte(text))
			if err == nil && !slices.ContainsFunc(found, func(s Server) bool { return s.Name == "evil" }) {
				t.Errorf("%s %q is read as %+v", name, text, found)
			}
		}
	}
	// What is honest is read.
	for name, text := range map[string]string{
		".vscode/mcp.json":      "\ufeff{\r\n\t// \u00e9, 'x'\r\n\t\"servers\": {/* a */\"evil\": {\"command\": \"./evil\", \"args\": [\"it's \\u00e9\", ], \"timeout\": -1.5e3,},},}",
		".continue/config.yaml": "# c\r\nmcpServers:\r\n- {name: evil, command: !!str ./evil, args: ['a', \"\\x41\"]}\r\n",
		".claude/agents/a.md":   "---  \r\nmcpServers: {evil: {command: ./evil}}\r\n---\r\n# mcp\r\n",
	} {
		if found, err := Inspect(FileAt(name), []byte(text)); err != nil || len(found) != 1 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	// The user's own files are read as clients that know JSON5 read them.
	mine := FileAt("settings.json")
	mine.User = true
	if found, err := Inspect(mine, []byte("{mcpServers: {'a': {command: 'x'}}}")); err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A file with more servers than are judged is refused.
func TestInspectBounded(t *testing.T) {
	text := `{"mcpServers": {` + strings.Repeat(`"a": {"command": "x"}, `, maxServers+1) + `}}`
	if _, err := Inspect(FileAt(".mcp.json"), []byte(text)); err == nil ||
		!strings.Contains(err.Error(), "more than 10000 servers") {
		t.Error(err)
	}
}
