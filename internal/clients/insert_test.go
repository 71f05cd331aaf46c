package clients

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// seatedFile is a file of a client in a project that has nothing else.
func seatedFile(t *testing.T, client string) File {
	t.Helper()
	f, ok := ServerFile(client, t.TempDir(), func(string) bool { return false })
	if !ok {
		t.Fatalf("%s has no seat", client)
	}
	return f
}

// What is inserted means what was asked for, changes nothing else, and goes again without
// a trace, in whatever order; files that were not there are not there again.
func TestInsert(t *testing.T) {
	for name, c := range map[string]struct{ client, before string }{
		"object":            {"claude-code", `{"mcpServers": {"mine": {"command": "x"}}, "other": 1}`},
		"object over lines": {"cursor", "{\n  // mine\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"x\"}\n  }\n}\n"},
		"empty object":      {"claude-code", `{"mcpServers": {}}`},
		"no servers":        {"vscode", "{\r\n  \"inputs\": []\r\n}\r\n"},
		"nothing":           {"claude-code", "{}"},
		"trailing commas":   {"opencode", "{\n  \"mcp\": {\n    \"mine\": {\"type\": \"local\", \"command\": [\"x\"],},\n  },\n}"},
		"table":             {"codex", "# mine\nmodel = \"m\"\n\n[mcp_servers.mine]\ncommand = \"x\"\n"},
		"no line end":       {"codex", "model = \"m\""},
		"dotted":            {"codex", "[mcp_servers]\nmine = { command = \"x\" }\r\n"},
	} {
		f := seatedFile(t, c.client)
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			data, changes := []byte(c.before), [2][]Change{}
			for i, server := range []string{"a-1", "b-2"} {
				out, made, err := Insert(f, data, server, "hallmark", []string{"run", server})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				data, changes[i] = out, made
			}
			found, err := Parse(f, data)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, data)
			}
			var names []string
			for _, s := range found {
				names = append(names, s.Name)
				if strings.Contains(s.Name, "-") &&
					(s.Command != "hallmark" || !slices.Equal(s.Args, []string{"run", s.Name})) {
					t.Errorf("%s: %+v", name, s)
				}
			}
			if slices.Sort(names); !slices.Equal(names[:2], []string{"a-1", "b-2"}) ||
				len(names) != 2+strings.Count(c.before, "mine\": {")+strings.Count(c.before,
					"s.mine")+strings.Count(c.before, "mine = {") {
				t.Errorf("%s: %q\n%s", name, names, data)
			}
			for _, i := range order {
				entry := changes[i][len(changes[i])-1]
				if data, err = Restore(data, entry); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			for _, change := range slices.Backward(slices.Concat(changes[0], changes[1])) {
				if change.Added == AddedEntry {
					continue
				}
				if data, err = Restore(data, change); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if string(data) != c.before {
				t.Errorf("%s, %v:\n%q\nwant\n%q", name, order, data, c.before)
			}
		}
	}
	for _, row := range table {
		client := row.id
		if row.install == nil {
			continue
		}
		f := seatedFile(t, client)
		data, changes, err := Insert(f, nil, "a", "hallmark", []string{"run", "a"})
		if err != nil || len(changes) < 2 || changes[0].Added != AddedFile {
			t.Fatalf("%s: %v %v", client, changes, err)
		}
		for _, c := range slices.Backward(changes) {
			if data, err = Restore(data, c); err != nil {
				t.Fatalf("%s: %v", client, err)
			}
		}
		if data != nil {
			t.Errorf("%s: %q is left", client, data)
		}
	}
}

// What others wrote beside it stays, with the commas that it needs; what was edited is not
// taken away.
func TestInsertedBeside(t *testing.T) {
	f := seatedFile(t, "claude-code")
	data, changes, err := Insert(f, []byte(`{"mcpServers": {}}`), "a", "hallmark", []string{"run", "a"})
	if err != nil {
		t.Fatal(err)
	}
	c := changes[len(changes)-1]
	beside := strings.Replace(string(data), "]}", `]}, "mine": {"command": "x"}`, 1)
	if out, err := Restore([]byte(beside), c); err != nil || strings.Contains(string(out), "hallmark") ||
		strings.Contains(string(out), "{,") {
		t.Errorf("%q, %v", out, err)
	} else if found, err := Parse(f, out); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := Restore([]byte(strings.Replace(string(data), `"run"`, `"run", "-v"`, 1)), c); !errors.Is(err,
		ErrChanged) {
		t.Errorf("an edited entry: %v", err)
	}
	if _, err := Restore([]byte(`{"mcpServers": {}}`), c); !errors.Is(err, ErrGone) {
		t.Errorf("one that is gone: %v", err)
	}
	for _, bad := range []string{`{"mcpServers": []}`, `[]`, `{`, "\xff"} {
		if out, _, err := Insert(f, []byte(bad), "a", "hallmark", nil); err == nil {
			t.Errorf("%q became %q", bad, out)
		}
	}
	if _, _, err := Insert(seatedFile(t, "codex"), []byte("mcp_servers = 1\n"), "a", "hallmark", nil); err == nil {
		t.Error("a table was put into a number")
	}
	if _, ok := ServerFile("windsurf", filepath.FromSlash("/p"), nil); ok {
		t.Error("windsurf has a seat")
	}
}

// Arguments that are empty in any way are filled, and a second member of that name is not added.
func TestRewriteEmptyArguments(t *testing.T) {
	for _, c := range []struct{ name, was, now string }{
		{".mcp.json", `{"mcpServers": {"a": {"command": "x", "args": null}}}`,
			`{"mcpServers": {"a": {"command": "hallmark", "args": ["run", "a"]}}}`},
		{".mcp.json", `{"mcpServers": {"a": {"args": "", "command": "x", "url": ""}}}`,
			`{"mcpServers": {"a": {"args": ["run", "a"], "command": "hallmark", "url": ""}}}`},
		{".mcp.json", `{"mcpServers": {"a": {"command": "x", "args": [], "arguments": null}}}`,
			`{"mcpServers": {"a": {"command": "hallmark", "args": ["run", "a"], "arguments": null}}}`},
	} {
		servers, err := Parse(FileAt(c.name), []byte(c.was))
		if err != nil || len(servers) != 1 {
			t.Fatal(servers, err)
		}
		got, _, err := Rewrite([]byte(c.was), servers[0], "hallmark", []string{"run", "a"})
		if err != nil || string(got) != c.now {
			t.Errorf("%s becomes %s, %v", c.was, got, err)
		}
	}
}
