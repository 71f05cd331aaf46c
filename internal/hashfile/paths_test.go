package hashfile

import (
	"strings"
	"testing"
)

// TestPathForms: a file URI is a path.
func TestPathForms(t *testing.T) {
	d := dir(t)
	path := write(t, d, "with space", "text\n")
	p := serve(t, d)
	for form, code := range map[string]string{
		"file://" + path: "", "file://" + strings.ReplaceAll(path, " ", "%20"): "", "file://localhost" + path: "",
		"with space": "", "file:///etc/passwd": "outside_roots", "file://" + d + "/../../etc/passwd": "outside_roots",
	} {
		p.read(form).refused(code)
	}
	p.read("").refused("invalid").says("an empty text is no path")
	p.call("read_text_file", arguments{"path": path, "max_bytes": -1}).refused("invalid").
		says("max_bytes is -1; give the number of bytes wanted, or leave it out")
	for _, line := range []any{"1", 1.0, "1.0", 1} {
		p.call("read_text_file", arguments{"path": path, "start_line": line}).ok()
	}
}
