package hashfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// editText makes edits of a file with a text, through edit_file, and returns the new text and the answer.
func editText(t *testing.T, text string, edits ...string) (after string, r *mcp.CallToolResult) {
	t.Helper()
	d := dir(t)
	path := write(t, d, "f", text)
	var all []arguments
	for i := 0; i < len(edits); i += 2 {
		all = append(all, arguments{"oldText": edits[i], "newText": edits[i+1]})
	}
	r, err := compat(t, "reference", d).s.CallTool(t.Context(),
		&mcp.CallToolParams{Name: "edit_file", Arguments: arguments{"path": path, "edits": all}})
	if err != nil {
		t.Fatal(err)
	}
	return content(t, path), r
}

func TestReferenceEdit(t *testing.T) {
	for _, c := range []struct {
		text  string
		edits []string
		want  string
	}{
		{"a\nb\nc\n", []string{"b", "B"}, "a\nB\nc\n"},
		{"a\nb\nc\n", []string{"a\nb", "x", "x\nc", "y"}, "y\n"}, // each on the outcome of the one before
		{"a\nb\nc", []string{"c", "c\nd"}, "a\nb\nc\nd"},
		{"", []string{"", "first\n"}, "first\n"},
		{"p\n", []string{"p", "$& $1"}, "$& $1\n"},
		{"a\nb\n", []string{"a", "a"}, "a\nb\n"},
		// Line endings stay, and new lines take those of the lines that they replace or stand beside.
		{"a\r\nb\r\nc\r\n", []string{"b", "x\ny"}, "a\r\nx\r\ny\r\nc\r\n"},
		{"a\r\nb\r\nc\r\n", []string{"a\nb\n", "x\n"}, "x\r\nc\r\n"},
		{"a\r\nb\nc\r\n", []string{"a\r\nb\r\nc", "1\n2\n3"}, "1\r\n2\n3\r\n"},
		{"a\r\nb", []string{"b", "b\nc\n"}, "a\r\nb\r\nc\r\n"},
		{"\ufeffa\nb\n", []string{"a", "x"}, "\ufeffx\nb\n"},
		{"\ufeffa \nb\n", []string{"a\nb  ", "x\ny"}, "\ufeffx\ny\n"},
		// White space at the ends of lines does not count, and new lines are indented as those beside them.
		{"if a:\n    if b:\n        c()\n", []string{"if b:\n    c()  ", "if b:\n    d()"}, "if a:\n    if b:\n        d()\n"},
		{"\tif x {\n\t\ty()\n\t}\n", []string{"    if x {\n        y()\n    }", "    if x {\n        z()\n        w()\n    }"},
			"\tif x {\n\t\tz()\n\t\tw()\n\t}\n"},
		{"    a()\n", []string{"  a()  ", "  b()\n    c()"}, "    b()\n      c()\n"},
		{" a\nb\n", []string{"a \n", ""}, "b\n"},
		{" a\nb\n", []string{"a \n", "x\n"}, " x\nb\n"},
		{" a", []string{"a \n", "x\n"}, " x"},
		{"  a()\n  b()\n", []string{"a() \nb()", "a()\n\nc()"}, "  a()\n\n  c()\n"},
	} {
		got, r := editText(t, c.text, c.edits...)
		if got != c.want || r.IsError {
			t.Errorf("%q %q: %q (error %t), want %q", c.text, c.edits, got, r.IsError, c.want)
		}
	}
}

func TestReferenceEditRefused(t *testing.T) {
	for _, c := range []struct {
		text  string
		edits []string
		want  string
	}{
		{"a\nb\na\n", []string{"a", "c"}, "edit 1: oldText occurs several times, at lines 1, 3;"},
		{strings.Repeat("a\n", 20), []string{"a", "c"}, "10 and more;"},
		{"aaa\n", []string{"aa", "b"}, "at lines 1, 1;"},
		{" a\nb\n\ta\n", []string{"a  \n", "c\n"}, "at lines 1, 3;"},
		{"x a\ny\n  b\nx a\ny\n b\n", []string{"x  a", "z"}, "could not find"},
		{" a\nb\n a\nb\n", []string{"a \nb", "c"}, "at lines 1, 3;"},
		{"a\nb\n", []string{"a", "x", "nowhere", "y"}, "edit 2: could not find exact match"},
		{"a\nb\nc\n", []string{"a\nb\nd", "y"}, "it begins as line 1 does, but for line 3, there stands c"},
		{"a\n", []string{"", "y"}, "oldText is empty"},
		{"a\n\nb\n", []string{"  ", "y"}, "could not find"},
		{"        foo()\n", []string{"foo()  ", "bar()\n        baz()"}, "it is open how newText is to be indented"},
		{"\tfoo()\n", []string{"  foo()", "  bar()\n    baz()"}, "it is open how newText is to be indented"},
		{"a\x00b\n", []string{"a", "y"}, "binary"},
		{"a\xffb\n", []string{"a", "y"}, "binary"},
		{"ab\n", []string{"a", "y\x00"}, "would be no text"},
	} {
		got, r := editText(t, c.text, c.edits...)
		text := r.Content[0].(*mcp.TextContent).Text
		if got != c.text || !r.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%q %q: %q, %s; want %s", c.text, c.edits, got, text, c.want)
		}
		if r.StructuredContent != nil {
			t.Errorf("an error has a structure, which is not that of the schema: %v", r.StructuredContent)
		}
	}
}

func TestReferenceAnswers(t *testing.T) {
	d := dir(t)
	a := write(t, d, "a.txt", "one\r\ntwo\nthree")
	write(t, d, "sub/b.go", "b\n")
	write(t, d, "sub/.gitignore", "c\n")
	write(t, d, "sub/c", "c\n")
	picture := write(t, d, "p.PNG", "\x00")
	p := compat(t, "reference", d)
	p.says("read_file", arguments{"path": a}, "one\r\ntwo\nthree")
	p.says("read_text_file", arguments{"path": a, "head": 2}, "one\r\ntwo")
	p.says("read_text_file", arguments{"path": a, "tail": 2}, "two\nthree")
	p.says("read_text_file", arguments{"path": a, "tail": "9"}, "one\r\ntwo\nthree")
	p.says("list_directory", arguments{"path": d}, "[FILE] a.txt\n[FILE] p.PNG\n[DIR] sub")
	p.says("list_directory_with_sizes", arguments{"path": d, "sortBy": "size"}, strings.Join([]string{
		"[DIR] sub" + strings.Repeat(" ", 28), "[FILE] a.txt" + strings.Repeat(" ", 26) + "      14 B",
		"[FILE] p.PNG" + strings.Repeat(" ", 26) + "       1 B", "", "Total: 2 files, 1 directories",
		"Combined size: 15 B"}, "\n"))
	p.says("directory_tree", arguments{"path": filepath.Join(d, "sub")}, `[
  {
    "name": ".gitignore",
    "type": "file"
  },
  {
    "name": "b.go",
    "type": "file"
  }
]`)
	p.says("search_files", arguments{"path": d, "pattern": "**/*.{go,rs}"}, filepath.Join(d, "sub", "b.go"))
	p.says("search_files", arguments{"path": d, "pattern": "*.go"}, "No matches found")
	p.says("list_allowed_directories", arguments{}, "Allowed directories:\n"+d)
	p.says("create_directory", arguments{"path": filepath.Join(d, "x/y")}, "Successfully created directory "+d+"/x/y")
	p.says("create_directory", arguments{"path": filepath.Join(d, "x/y")}, "Successfully created directory "+d+"/x/y")
	p.says("write_file", arguments{"path": a, "content": "1:ab|x\n"}, "Successfully wrote to "+a)
	p.says("write_file", arguments{"path": a, "content": "1:ab|x\n"}, "Successfully wrote to "+a)
	p.says("move_file", arguments{"source": a, "destination": d + "/b"}, "Successfully moved "+a+" to "+d+"/b")
	p.says("read_multiple_files", arguments{"paths": []string{d + "/b", a}},
		d+"/b:\n1:ab|x\n\n\n---\n"+a+": Error - "+a+" does not exist")
	p.refuses("read_text_file", arguments{"path": picture}, "read_media_file gives it in base64")
	p.refuses("read_text_file", arguments{"path": d + "/b", "head": 1, "tail": 1}, "cannot be given together")
	p.refuses("read_text_file", arguments{"path": d + "/b", "start_line": 1}, "it takes path, tail, head")
	p.refuses("search_files", arguments{"path": d, "pattern": "!(a)"}, "exclude with another pattern")
	r, err := p.s.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_media_file", Arguments: arguments{"path": picture}})
	if err != nil {
		t.Fatal(err)
	}
	if image, ok := r.Content[0].(*mcp.ImageContent); !ok || image.MIMEType != "image/png" || string(image.Data) != "\x00" {
		t.Errorf("a picture is %v", r.Content[0])
	}
	if err := os.Chmod(d+"/b", 0o640); err != nil {
		t.Fatal(err)
	}
	info := p.call("get_file_info", arguments{"path": d + "/b"}).Text
	if !strings.HasPrefix(info, "size: 7\ncreated: ") || !strings.HasSuffix(info, "\nisDirectory: false\nisFile: true\n"+
		"permissions: 640") {
		t.Error(info)
	}
}

func TestReferenceDiff(t *testing.T) {
	_, r := editText(t, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15", "2\n3", "3", "15", "```\nend")
	text := r.Content[0].(*mcp.TextContent).Text
	for _, want := range []string{"````diff\nIndex: ", "\toriginal\n+++ ", "\n@@ -1,6 +1,5 @@\n 1\n-2\n 3\n",
		"\n@@ -11,5 +10,6 @@\n 11\n 12\n 13\n 14\n-15\n\\ No newline at end of file\n+```\n+end\n\\ No newline at end of file\n" +
			"````\n\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
