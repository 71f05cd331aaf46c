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

// blankTexts are files that have nothing in them.
var blankTexts = []string{"", "\n", "\r\n", "  \n\n", "\ufeff", "\ufeff\n", " "}

// restoreAll takes away what changes added, the last first.
func restoreAll(data []byte, changes []Change) (out []byte, err error) {
	for _, c := range slices.Backward(changes) {
		if data, err = Restore(data, c); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// A file with nothing in it, or comments alone, gets the entry, and is what it was once that is taken away: it
// is not removed.
func TestInsertBlank(t *testing.T) {
	for _, row := range table {
		if row.install == nil {
			continue
		}
		f := seatedFile(t, row.id)
		comment := "// mine"
		if f.format == TOML {
			comment = "# mine"
		}
		for _, before := range append(blankTexts, comment, comment+"\r\n") {
			now, changes, err := Insert(f, []byte(before), "a", "hallmark", []string{"run", "a"})
			if err != nil {
				t.Errorf("%s, %q: %v", row.id, before, err)
				continue
			}
			if !strings.HasPrefix(string(now), before) {
				t.Errorf("%s: %q became %q", row.id, before, now)
			}
			now, more, err := Insert(f, now, "b", "hallmark", []string{"run", "b"})
			if err != nil {
				t.Fatalf("%s, %q: %v", row.id, before, err)
			}
			if found, err := Parse(f, now); err != nil || len(found) != 2 {
				t.Errorf("%s, %q: %v, %v", row.id, before, found, err)
			}
			after, err := restoreAll(now, append(changes, more...))
			if err != nil || after == nil || string(after) != before {
				t.Errorf("%s: %q is %q afterwards, %v", row.id, before, after, err)
			}
		}
	}
}

// A client that lays its file out anew leaves no trace of an object that was added to an empty one. What the
// user wrote there since stays.
func TestInsertBlankRewritten(t *testing.T) {
	f := seatedFile(t, "claude-code")
	_, changes, err := Insert(f, []byte("\n"), "a", "hallmark", []string{"run", "a"})
	if err != nil {
		t.Fatal(err)
	}
	const ours = `"mcpServers":{"a":{"args":["run","a"],"command":"hallmark"}}`
	if out, err := restoreAll([]byte("{"+ours+"}"), changes); err != nil || string(out) != "\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := restoreAll([]byte(`{"mine":1,`+ours+"}"), changes); !errors.Is(err, ErrChanged) {
		t.Errorf("%q, %v", out, err)
	}
}

// A file with nothing in it is read by all that reads files of clients, and holds nothing.
func TestReadBlank(t *testing.T) {
	for _, row := range table {
		for _, l := range row.locations() {
			for _, text := range blankTexts {
				f := l.newFile(row.id, l.path)
				servers, err := Parse(f, []byte(text))
				inspected, other := Inspect(f, []byte(text))
				commands, another := Commands(f, []byte(text))
				if err := errors.Join(err, other, another); err != nil || len(servers)+len(inspected)+len(commands) > 0 {
					t.Errorf("%s, %q: %v %v %v, %v", l.path, text, servers, inspected, commands, err)
				}
				if _, err := Restore([]byte(text), Change{Client: row.id, File: l.path, Name: "a", Was: "x",
					Now: "y"}); !errors.Is(err, ErrGone) {
					t.Errorf("%s, %q: %v", l.path, text, err)
				}
			}
		}
	}
}

// What is inserted into any text is an error, or goes again without a trace.
func FuzzInsert(f *testing.F) {
	for _, text := range append(blankTexts, "{}", "// c", `{"mcpServers": {"b": {"command": "x"}}}`, "[]", "a = 1",
		"[mcp_servers.b]\ncommand = \"x\"\n", "{\"a\":1,}\r\n") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, client := range []string{"claude-code", "codex", "opencode"} {
			file, _ := ServerFile(client, "project", func(string) bool { return false })
			now, changes, err := Insert(file, []byte(text), "a", "hallmark", []string{"run", "a"})
			if err != nil {
				continue
			}
			if after, err := restoreAll(now, changes); err != nil || after == nil || string(after) != text {
				t.Errorf("%s: %q became %q, and is %q afterwards, %v", client, text, now, after, err)
			}
		}
	})
}

// A link may lead to a file whose name does not tell its format.
func TestInsertOtherName(t *testing.T) {
	f := seatedFile(t, "codex")
	f.Path = filepath.Join(t.TempDir(), "config-of-codex")
	now, changes, err := Insert(f, []byte("a = 1\n"), "a", "hallmark", []string{"run", "a"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := restoreAll(now, changes); err != nil || string(out) != "a = 1\n" {
		t.Errorf("%q, %v", out, err)
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
