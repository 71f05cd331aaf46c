package hashfile

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRelativePaths: with several allowed directories a relative path is that of the only file that it can mean.
func TestRelativePaths(t *testing.T) {
	a, b := dir(t), dir(t)
	write(t, a, "one", "one\n")
	write(t, b, "two", "two\n")
	write(t, a, "both", "a\n")
	write(t, b, "both", "b\n")
	write(t, a, "AGENTS.md", "---\nforbidden: [secret]\n---\n")
	write(t, a, "secret", "no\n")
	p, _ := connect(t, Config{Roots: []string{a, b}}, "2025-11-25", nil)
	for path, want := range map[string]string{"one": "|one\n", "two": "|two\n", "./two": "|two\n"} {
		if r := p.call("read_text_file", arguments{"path": path}).ok(); !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s", path, r.Text)
		}
	}
	r := p.call("read_text_file", arguments{"path": "both"}).refused("invalid")
	for _, full := range []string{filepath.Join(a, "both"), filepath.Join(b, "both")} {
		if !strings.Contains(r.Text, full) {
			t.Errorf("%s does not name %s", r.Text, full)
		}
	}
	p.call("read_text_file", arguments{"path": "none"}).refused("invalid")
	p.call("read_text_file", arguments{"path": "secret"}).refused("forbidden")
	p.call("read_text_file", arguments{"path": "../" + filepath.Base(a) + "/one"}).ok()
	p.call("read_text_file", arguments{"path": "../../etc/passwd"}).refused("outside_roots")
}

// TestPathForms: a file URI is a path, and what is none is said in words.
func TestPathForms(t *testing.T) {
	d := dir(t)
	path := write(t, d, "with space", "text\n")
	p := serve(t, d)
	for _, form := range []string{"file://" + path, "file://" + strings.ReplaceAll(path, " ", "%20"),
		"file://localhost" + path, "with space"} {
		p.call("read_text_file", arguments{"path": form}).ok()
	}
	p.call("read_text_file", arguments{"path": "file:///etc/passwd"}).refused("outside_roots")
	p.call("read_text_file", arguments{"path": "file://" + d + "/../../etc/passwd"}).refused("outside_roots")
	for want, args := range map[string]arguments{
		"path is missing; it takes path, start_line, end_line, max_bytes":   nil,
		"an empty text is no path":                                          {"path": ""},
		`there is no argument "file"; it takes path`:                        {"file": path},
		`start_line is the text "two"; give a whole number`:                 {"path": path, "start_line": "two"},
		"start_line is the number 1.5; give a whole number":                 {"path": path, "start_line": 1.5},
		"path is an array; give a string":                                   {"path": []string{path, path}},
		"lines 3 to 2 are no range":                                         {"path": path, "start_line": 3, "end_line": 2},
		"max_bytes is -1; give the number of bytes wanted, or leave it out": {"path": path, "max_bytes": -1},
	} {
		r := p.call("read_text_file", args).refused("invalid")
		if !strings.Contains(r.Text, want) {
			t.Errorf("%v: %s", args, r.Text)
		}
	}
	for _, line := range []any{"1", 1.0, "1.0", 1} {
		p.call("read_text_file", arguments{"path": path, "start_line": line}).ok()
	}
}
