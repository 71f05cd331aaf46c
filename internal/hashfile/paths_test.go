package hashfile

import (
	"strings"
	"testing"
)

// TestPathForms: a file URI is a path, and what is none is said in words.
func TestPathForms(t *testing.T) {
	d := dir(t)
	path := write(t, d, "with space", "text\n")
	p := serve(t, d)
	for _, form := range []string{"file://" + path, "file://" + strings.ReplaceAll(path, " ", "%20"),
		"file://localhost" + path, "with space"} {
		p.read(form).ok()
	}
	p.call("read_text_file", arguments{"path": "file:///etc/passwd"}).refused("outside_roots")
	p.read("file://" + d + "/../../etc/passwd").refused("outside_roots")
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
