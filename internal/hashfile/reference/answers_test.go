//go:build unix

package reference

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/hashfiletest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

// editText makes edits of a file with a text, through edit_file, and returns the new text, the answer, and the refusal
// if it is one.
func editText(t *testing.T, text string, edits ...string) (after, said string, refused *mcp.CallToolResult) {
	t.Helper()
	p := serve(t)
	path := p.Write("f", text)
	var all []arguments
	for i := 0; i < len(edits); i += 2 {
		all = append(all, arguments{"oldText": edits[i], "newText": edits[i+1]})
	}
	a, refused := p.Call("edit_file", arguments{"path": path, "edits": all})
	return p.Content(path), a.Text, refused
}

type arguments = hashfiletest.Arguments

type peer struct {
	*hashfiletest.Peer
	t *testing.T
}

func serve(t *testing.T) peer {
	t.Helper()
	return peer{hashfiletest.Serve(t, Tools), t}
}

// says makes a call and demands its text, which clients that read only structures get too.
func (p peer) says(tool string, args arguments, want string) {
	p.t.Helper()
	if a := p.Says(tool, args, want); !a.Repeat {
		p.t.Errorf("%s %v gives no structured content", tool, args)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
		if got, said, refused := editText(t, c.text, c.edits...); got != c.want || refused != nil {
			t.Errorf("%q %q: %q, %s; want %q", c.text, c.edits, got, said, c.want)
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
		got, text, refused := editText(t, c.text, c.edits...)
		if got != c.text || refused == nil || !refused.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%q %q: %q, %s; want %s", c.text, c.edits, got, text, c.want)
		} else if refused.StructuredContent != nil {
			t.Errorf("an error has a structure, which is not that of the schema: %v", refused.StructuredContent)
		}
	}
}

func TestReferenceAnswers(t *testing.T) {
	p := serve(t)
	d := p.Dir
	a := p.Write("a.txt", "one\r\ntwo\nthree")
	p.Write("sub/b.go", "b\n")
	p.Write("sub/.gitignore", "c\n")
	p.Write("sub/c", "c\n")
	picture := p.Write("p.PNG", "\x00")
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
	p.Refuses("read_text_file", arguments{"path": picture}, "read_media_file gives it in base64")
	p.Refuses("read_text_file", arguments{"path": d + "/b", "head": 1, "tail": 1}, "cannot be given together")
	p.Refuses("read_text_file", arguments{"path": d + "/b", "start_line": 1}, "it takes path, tail, head")
	p.Refuses("search_files", arguments{"path": d, "pattern": "!(a)"}, "exclude with another pattern")
	media, _ := p.Call("read_media_file", arguments{"path": picture})
	image, ok := media.Content[0].(*mcp.ImageContent)
	if !ok || image.MIMEType != "image/png" || string(image.Data) != "\x00" {
		t.Errorf("a picture is %v", media.Content[0])
	}
}

// TestFileInfo: the size, kind and permissions of a file, in the order of the reference server.
func TestFileInfo(t *testing.T) {
	p := serve(t)
	path := p.Write("b", "1:ab|x\n")
	must(t, os.Chmod(path, 0o640))
	info, _ := p.Call("get_file_info", arguments{"path": path})
	if !strings.HasPrefix(info.Text, "size: 7\ncreated: ") ||
		!strings.HasSuffix(info.Text, "\nisDirectory: false\nisFile: true\npermissions: 640") {
		t.Error(info.Text)
	}
}

func TestReferenceDiff(t *testing.T) {
	_, text, _ := editText(t, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15", "2\n3", "3", "15", "```\nend")
	for _, want := range []string{"````diff\nIndex: ", "\toriginal\n+++ ", "\n@@ -1,6 +1,5 @@\n 1\n-2\n 3\n",
		"\n@@ -11,5 +10,6 @@\n 11\n 12\n 13\n 14\n-15\n\\ No newline at end of file\n+```\n+end\n\\ No newline at end of file\n" +
			"````\n\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// TestSchemas: the schemas are of the old draft that clients of the reference server know, and their defaults hold.
func TestSchemas(t *testing.T) {
	p := serve(t)
	for name, tool := range p.Tools {
		in, ok := tool.InputSchema.(*jsonschema.Schema)
		if !ok || in.Schema != draft || tool.OutputSchema.(*jsonschema.Schema).Schema != draft {
			t.Errorf("%s takes %v and gives %v", name, tool.InputSchema, tool.OutputSchema)
			continue
		}
		reads := tool.Annotations != nil && tool.Annotations.ReadOnlyHint
		if reads == tool.Writes || *tool.Annotations.OpenWorldHint {
			t.Errorf("%s writes: %v, and its hints are %+v", name, tool.Writes, tool.Annotations)
		}
	}
	// A dry run is not the default, and changes nothing.
	path := p.Write("f", "a\n")
	edit := arguments{"path": path, "edits": []arguments{{"oldText": "a", "newText": "b"}}, "dryRun": true}
	tried, _ := p.Call("edit_file", edit)
	if p.Content(path) != "a\n" {
		t.Error("a dry run changes the file")
	}
	delete(edit, "dryRun")
	if done, _ := p.Call("edit_file", edit); done.Text != tried.Text || p.Content(path) != "b\n" {
		t.Errorf("%q and then %q", tried.Text, done.Text)
	}
}

// TestManyFiles: files that cannot be given are said each in its place, and the bounds of a call hold.
func TestManyFiles(t *testing.T) {
	p := serve(t)
	half := p.Write("half", strings.Repeat("0123456\n", hashfiletest.MaxFile/8/2+1))
	small, none := p.Write("small", "s\n"), filepath.Join(p.Dir, "none\n")
	bin := p.Write("bin", "\x00")
	a, refused := p.Call("read_multiple_files", arguments{"paths": []string{half, none, half, bin, small}})
	parts := strings.Split(a.Text, "\n---\n")
	if refused != nil || len(parts) != 5 || len(parts[0]) < hashfiletest.MaxFile/2 || parts[4] != small+":\ns\n\n" {
		t.Fatalf("%.200q", a.Text)
	}
	for i, want := range map[int]string{1: `none\n: Error - `, 2: "half: Error - the files together are too large",
		3: "read_media_file gives it in base64"} {
		if !strings.Contains(parts[i], want) {
			t.Errorf("%.200q, want %s", parts[i], want)
		}
	}
	p.Refuses("read_multiple_files", arguments{"paths": []string{}}, "give 1 to 1000")
	p.Refuses("read_multiple_files", arguments{"paths": make([]string, maxPaths+1)}, "give 1 to 1000")
	p.Refuses("edit_file", arguments{"path": small, "edits": slices.Repeat([]arguments{{"oldText": "s", "newText": "s"}},
		maxEdits+1)}, "give at most 1000")
	p.Refuses("directory_tree", arguments{"path": p.Dir, "excludePatterns": slices.Repeat([]string{"a"}, maxPatterns+1)},
		"more than 100 patterns")
	p.Refuses("read_text_file", arguments{"path": small, "head": -1}, "give a number of lines")
}

// TestSizes: names are sorted as people do, sizes are those of what may be seen, and a name forges no line.
func TestSizes(t *testing.T) {
	p := serve(t)
	for name, size := range map[string]int{"b2": 1024, "a": 1536, "B1": 0, "_x": 1023, "7": 1 << 20, "ev\nil": 1} {
		p.Write(name, strings.Repeat("x", size))
	}
	must(t, errors.Join(os.Symlink("a", p.Dir+"/in"), os.Symlink("/etc/passwd", p.Dir+"/out")))
	a, _ := p.Call("list_directory_with_sizes", arguments{"path": p.Dir})
	var got []string
	for _, line := range strings.Split(strings.Split(a.Text, "\n\n")[0], "\n") {
		got = append(got, strings.Join(strings.Fields(line)[1:], " "))
	}
	want := []string{"_x 1023 B", "7 1.00 MB", "a 1.50 KB", "B1 0 B", "b2 1.00 KB", `ev\nil 1 B`, "in 1.50 KB", "out 0 B"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMedia: a file of any kind comes whole, with the kind that its name says.
func TestMedia(t *testing.T) {
	p := serve(t)
	for name, want := range map[string]string{"a.jpeg": "image/jpeg", "b.SVG": "image/svg+xml", "c.ogg": "audio/ogg",
		"d e.bin": "application/octet-stream", "png": "application/octet-stream", "empty": "application/octet-stream"} {
		data := strings.TrimPrefix("\x00\xff"+name, "\x00\xffempty")
		path := p.Write(name, data)
		a, _ := p.Call("read_media_file", arguments{"path": path})
		kind, got := "", []byte(nil)
		switch item := a.Content[0].(type) {
		case *mcp.ImageContent:
			kind, got = item.MIMEType, item.Data
		case *mcp.AudioContent:
			kind, got = item.MIMEType, item.Data
		case *mcp.EmbeddedResource:
			kind, got = item.Resource.MIMEType, item.Resource.Blob
			if local, ok := roots.ParseFileURI(item.Resource.URI); local != path || !ok || got == nil {
				t.Errorf("%s is %s", path, item.Resource.URI)
			}
		}
		if kind != want || string(got) != data {
			t.Errorf("%s: %s, %q", name, kind, got)
		}
	}
	p.Refuses("read_media_file", arguments{"path": p.Dir}, "is a directory")
	p.Refuses("read_media_file", arguments{"path": "../x"}, "outside the allowed")
}
