package clients

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// reencode writes JSON as a program does that read it into maps: keys sorted, and its own indentation.
func reencode(t *testing.T, data []byte, indent string) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", indent)
	if err != nil {
		t.Fatal(err)
	}
	if indent == "" {
		out, _ = json.Marshal(v)
	}
	return out
}

// What was inserted goes also after the client wrote its file anew, whatever the client makes of order and
// layout, and nothing else goes; the object and the file that were made for it go if nothing is in them.
func TestRestoreRewrittenFile(t *testing.T) {
	for _, row := range table {
		if row.install == nil || row.id == "codex" {
			continue
		}
		key := row.install.key
		for _, before := range []string{
			`{"a": 1, "` + key + `": {"b": {"command": "x"}, "z": {"command": "y"}}, "z": [2]}`,
			`{"` + key + `": {"b": {"command": "x"}}}`, `{"` + key + `": {}}`, `{"a": 1}`, `{}`,
		} {
			for _, indent := range []string{"", " ", "    ", "\t"} {
				f := seatedFile(t, row.id)
				data, changes, err := Insert(f, []byte(before), "say", "hallmark", []string{"run", "say"})
				if err != nil {
					t.Fatal(err)
				}
				data = reencode(t, data, indent)
				for _, c := range slices.Backward(changes) {
					if data, err = Restore(data, c); err != nil {
						t.Fatalf("%s, %s with %q: %v", row.id, before, indent, err)
					}
				}
				if got, want := reencode(t, data, ""), reencode(t, []byte(before), ""); string(got) != string(want) {
					t.Errorf("%s, %s with %q becomes %s", row.id, before, indent, data)
				}
			}
		}
		f := seatedFile(t, row.id)
		data, changes, err := Insert(f, nil, "say", "hallmark", []string{"run", "say"})
		if err != nil {
			t.Fatal(err)
		}
		data = reencode(t, data, "\t")
		for _, c := range slices.Backward(changes) {
			if data, err = Restore(data, c); err != nil {
				t.Fatalf("%s: %v", row.id, err)
			}
		}
		if data != nil {
			t.Errorf("%s: %q is left", row.id, data)
		}
	}
}

func TestRestoreRewrittenText(t *testing.T) {
	for name, c := range map[string]struct{ client, before, now, want string }{
		"comments": {"vscode", `{}`,
			"{\n  \"servers\": {\n    // mine\n    \"b\": {\"command\": \"x\"}, // and more\n    // theirs\n" +
				"    \"say\": {\"args\": [\"run\", \"say\"], \"command\": \"hallmark\", \"type\": \"stdio\"}, // last\n  },\n}\n",
			"{\n  \"servers\": {\n    // mine\n    \"b\": {\"command\": \"x\"}, // and more\n    // theirs // last\n  },\n}\n"},
		"table": {"codex", "",
			"a = 1\n\n[mcp_servers.b]\ncommand = 'x'\n\n[mcp_servers.say] # s\nargs = [\n  'run',\n  'say',\n]\n" +
				"command = 'hallmark'\n\n[mcp_servers.z]\ncommand = 'y'\n",
			"a = 1\n\n[mcp_servers.b]\ncommand = 'x'\n\n[mcp_servers.z]\ncommand = 'y'\n"},
		"table at the end": {"codex", "", "a = 1\n[mcp_servers.say]\nargs = ['run', 'say']\ncommand = 'hallmark'", "a = 1\n"},
		"table over lines": {"codex", "", "[mcp_servers]\nb = {command = 'x'}\nsay = {args = ['run', 'say'], command = 'hallmark'}\n",
			"[mcp_servers]\nb = {command = 'x'}\n"},
		"one line": {"codex", "", "mcp_servers = {b = {command = 'x'}, say = {args = ['run', 'say'], command = 'hallmark'}}\n",
			"mcp_servers = {b = {command = 'x'}}\n"},
		"dotted":               {"codex", "", "mcp_servers.say.args = ['run', 'say']\r\nmcp_servers.say.command = 'hallmark'\r\na = 1\r\n", "a = 1\r\n"},
		"edited":               {"codex", "", "[mcp_servers.say]\nargs = ['run', 'say', '-v']\ncommand = 'hallmark'\n", ""},
		"more":                 {"codex", "", "[mcp_servers.say]\nargs = ['run', 'say']\ncommand = 'hallmark'\n[mcp_servers.say.env]\nA = 'b'\n", ""},
		"more behind the text": {"codex", "", "\n[mcp_servers.\"say\"]\ncommand = \"hallmark\"\nargs = [\"run\", \"say\"]\nenabled = false\n", ""},
		"more members":         {"cursor", `{}`, `{"mcpServers":{"say":{"args":["run","say"],"command":"hallmark","env":{"A":"b"}}}}`, ""},
		"other order":          {"cursor", `{}`, `{"mcpServers":{"say":{"args":["say","run"],"command":"hallmark"}}}`, ""},
		"number for a text":    {"cursor", `{}`, `{"mcpServers":{"say":{"args":["run",1],"command":"hallmark"}}}`, ""},
	} {
		f := seatedFile(t, c.client)
		_, changes, err := Insert(f, []byte(c.before), "say", "hallmark", []string{"run", "say"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Restore([]byte(c.now), changes[len(changes)-1])
		if c.want == "" && !errors.Is(err, ErrChanged) || c.want != "" && err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v\nwant %q", name, got, err, c.want)
		}
	}
}

// A comment of the user's in what was made for a server keeps it.
func TestRestoreKeepsComments(t *testing.T) {
	f := seatedFile(t, "vscode")
	_, changes, err := Insert(f, nil, "say", "hallmark", []string{"run", "say"})
	if err != nil || len(changes) != 3 {
		t.Fatal(changes, err)
	}
	for at, data := range []string{"{\n\t// mine\n}\n", "{\"servers\": { /* mine */ } }"} {
		if out, err := Restore([]byte(data), changes[at]); !errors.Is(err, ErrChanged) {
			t.Errorf("%q becomes %q, %v", data, out, err)
		}
	}
}

// A comma at the end of a comment above what was inserted is no comma of the file.
func TestRestoreKeepsCommentsWithCommas(t *testing.T) {
	const added = `"x": {"command": "h", "args": ["run", "x"]}`
	const other = `"x": {"args": ["run", "x"], "command": "h"}` // as its client wrote it anew
	for _, c := range []struct{ kind, text, want string }{
		{AddedHolder, "{\"k\": 1 // one,\n, \"mcpServers\": {}}", "{\"k\": 1 // one,\n}"},
		{AddedEntry, "{\"mcpServers\": {\"a\": {\"command\": \"a\"}, // one,\n" + other + " // two\n}}",
			"{\"mcpServers\": {\"a\": {\"command\": \"a\"}, // one, // two\n}}"},
		{AddedEntry, "{\"mcpServers\": {\"a\": {\"command\": \"a\"} // one,\n, " + other + "}}",
			"{\"mcpServers\": {\"a\": {\"command\": \"a\"} // one,\n}}"},
	} {
		change := Change{Client: "cursor", File: "/p/.cursor/mcp.json", Name: "x", Now: added, Added: c.kind}
		if out, err := Restore([]byte(c.text), change); err != nil || string(out) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.text, err, out, c.want)
		}
	}
}

// A rewritten entry gets its command and arguments back also after its client wrote the file anew. What else
// the client or the user changed in it stays.
func TestRestoreRewrittenEntry(t *testing.T) {
	for name, c := range map[string]struct{ file, was, now, want string }{
		"json": {".mcp.json", `{"mcpServers": {"a": {"command": "x", "env": {"K": "v"}, "args": ["1", "2"]}}}`,
			"{\n \"mcpServers\": {\n  \"a\": {\n   \"args\": [\n    \"run\",\n    \"a\"\n   ],\n   \"command\": \"hallmark\",\n   \"env\": {}\n  }\n }\n}",
			"{\n \"mcpServers\": {\n  \"a\": {\n   \"args\": [\"1\", \"2\"],\n   \"command\": \"x\",\n   \"env\": {}\n  }\n }\n}"},
		"arguments first": {".mcp.json", `{"mcpServers": {"a": {"args": ["1"], "command": "x"}}}`,
			`{"mcpServers":{"a":{"command":"hallmark","args":["run","a"]}}}`, `{"mcpServers":{"a":{"command":"x","args":["1"]}}}`},
		"no arguments": {".mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`,
			`{"mcpServers":{"a":{"args":["run","a"],"command":"hallmark"}}}`, `{"mcpServers":{"a":{"args":[],"command":"x"}}}`},
		"a list": {"opencode.json", `{"mcp": {"a": {"command": ["x", "1"], "type": "local"}}}`,
			`{"mcp":{"a":{"type":"local","command":["hallmark","run","a"]}}}`, `{"mcp":{"a":{"type":"local","command":["x", "1"]}}}`},
		"edited": {".mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`,
			`{"mcpServers":{"a":{"args":["run","a","-v"],"command":"hallmark"}}}`, ""},
		"table": {".codex/config.toml", "[mcp_servers.a]\ncommand = \"x\" # the program\nargs = [\n  \"1\", # one\n]\n",
			"[mcp_servers]\n[mcp_servers.a]\nargs = ['run', 'a']\ncommand = 'hallmark'\n",
			"[mcp_servers]\n[mcp_servers.a]\nargs = [\"1\"]\ncommand = \"x\"\n"},
		"inline table": {".codex/config.toml", "[mcp_servers]\na = {command = \"x\", args = [\"1\"]}\n",
			"[mcp_servers.a]\nargs = ['run', 'a']\ncommand = 'hallmark'\n", "[mcp_servers.a]\nargs = [\"1\"]\ncommand = \"x\"\n"},
		"block": {".goose/recipes/r.yaml", "extensions:\n  a:\n    args:\n    - one # 1\n    - two\n    bundled: null\n    cmd: x # 2\n    type: stdio\n",
			"extensions:\n    a:\n        type: stdio\n        cmd: hallmark\n        args:\n            - run\n            - a\n",
			"extensions:\n    a:\n        type: stdio\n        cmd: \"x\"\n        args:\n            - \"one\"\n            - \"two\"\n"},
		"block, command first": {".goose/recipes/r.yaml", "extensions:\n  a:\n    cmd: x # 2\n    args:\n      - 'one'\n    type: stdio\n",
			"extensions:\n  a:\n    args: [run, a]\n    cmd: hallmark\n", "extensions:\n  a:\n    args: [\"one\"]\n    cmd: \"x\"\n"},
		"flow": {".goose/recipes/r.yaml", "extensions: {a: {cmd: x, args: [one]}}\n",
			"extensions:\n  a:\n    args: [run, a]\n    cmd: hallmark\n", "extensions:\n  a:\n    args: [\"one\"]\n    cmd: \"x\"\n"},
	} {
		f := FileAt(c.file)
		servers, err := Parse(f, []byte(c.was))
		if err != nil || len(servers) != 1 {
			t.Fatalf("%s: %v, %v", name, servers, err)
		}
		_, change, err := Rewrite([]byte(c.was), servers[0], "hallmark", []string{"run", "a"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Restore([]byte(c.now), change)
		if c.want == "" && !errors.Is(err, ErrChanged) || c.want != "" && err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v\nwant %q", name, got, err, c.want)
		}
	}
}

// What came with a project beside a file of another format is an error, and no more.
func TestRestoreOtherFormat(t *testing.T) {
	for _, file := range []string{".goose/recipes/r.yaml", ".codex/config.toml", ".mcp.json", "x.md", "other.json"} {
		for _, data := range []string{"mcpServers: {}\n", "mcpServers:\n  a:\n    command: x\n    args: &x\n      - |\n        a\n",
			"mcp_servers = [{name = 'a', command = 'x'}]", "---\nmcpServers:\n  a: {command: x}\n---\n", `{"mcpServers": {}}`} {
			for _, added := range []string{"", AddedFile, AddedHolder, AddedEntry} {
				for _, client := range []string{"", "claude-code", "codex", "goose"} {
					for _, text := range []string{"", "x", "\n", "mcpServers: {a: {command: x}}", `"a": {"command": "x"}`} {
						c := Change{Client: client, File: file, Name: "a", Was: text, Now: text, Added: added}
						if out, err := Restore([]byte(data), c); err == nil && strings.Contains(string(out), "hallmark") {
							t.Errorf("%q became %q", data, out)
						}
					}
				}
			}
		}
	}
}
