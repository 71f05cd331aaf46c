package hashfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
)

// TestReadAndEdit follows a model through source 004's example.
func TestReadAndEdit(t *testing.T) {
	d := dir(t)
	path := write(t, d, "a.js", "function hello() {\n  return \"world\";\n}\n")
	p := serve(t, d)
	read := p.call("read_text_file", arguments{"path": path}).ok()
	want := "[file_hash=" + read.hash() + " total_lines=3]\n1:d3|function hello() {\n2:98|  return \"world\";\n3:88|}\n"
	if read.Text != want {
		t.Errorf("%s, want %s", read.Text, want)
	}
	if read.hash() != "sha256:ce81ccd78841" {
		t.Errorf("file_hash %s is not the beginning of the sha256 of the bytes", read.hash())
	}
	edit := p.call("edit_text_file", arguments{"path": path, "file_hash": read.hash(), "operations": ops(
		replaceOp("2:98", `  return "hello";`),
		arguments{"op_type": "insert_before", "anchor": "1:d3", "content": "// greeting"})}).ok()
	if got := content(t, path); got != "// greeting\nfunction hello() {\n  return \"hello\";\n}\n" {
		t.Errorf("%q", got)
	}
	// The answer suffices for the next edit, without reading.
	if edit.All["applied"] != 2.0 || edit.hash() == read.hash() {
		t.Errorf("%v", edit.All)
	}
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": edit.hash(),
			"operations": ops(arguments{"op": "delete", "anchor": edit.anchor("// greeting")})}).ok()
	if got := content(t, path); got != "function hello() {\n  return \"hello\";\n}\n" {
		t.Errorf("%q", got)
	}
}

// TestStale shows that an edit of what has changed is refused with what is needed to make
// it again, and that the file is untouched.
func TestStale(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "a\nb\nc\nd\ne\n")
	p := serve(t, d)
	read := p.call("read_text_file", arguments{"path": path}).ok()
	write(t, d, "f", "A\na\nb\nc\nd\ne\n")
	edit := arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(read.anchor("d"), "D"))}
	r := p.call("edit_text_file", edit).refused("stale")
	if content(t, path) != "A\na\nb\nc\nd\ne\n" {
		t.Error("the file is changed")
	}
	if !strings.Contains(r.Text, "\n5:"+strings.Split(read.anchor("d"), ":")[1]+"|d") ||
		!strings.Contains(r.Text, "[file_hash="+r.hash()+" total_lines=6]") {
		t.Errorf("no fresh lines: %s", r.Text)
	}
	edit["on_stale"] = "rebase"
	if r := p.call("edit_text_file", edit).ok(); !strings.Contains(r.Text, "[rebased onto") || content(t, path) != "A\na\nb\nc\nD\ne\n" {
		t.Errorf("%v, %q", r.All, content(t, path))
	}
	// Another change of the same line is not merged.
	write(t, d, "f", "a\nb\nc\nother\ne\n")
	p.call("edit_text_file", edit).refused("stale")
	// A hash that was never read here cannot be rebased.
	edit["file_hash"] = "sha256:" + strings.Repeat("0", 64)
	p.call("edit_text_file", edit).refused("stale")
	edit["file_hash"] = "f00"
	p.call("edit_text_file", edit).refused("invalid")
	if content(t, path) != "a\nb\nc\nother\ne\n" {
		t.Error("the file is changed")
	}
}

// TestRefusedEdits leaves the file byte for byte as it was, by each code.
func TestRefusedEdits(t *testing.T) {
	d := dir(t)
	const text = "a\r\nb\nb\nlast"
	path := write(t, d, "f", text)
	before, _ := os.Stat(path)
	p := serve(t, d)
	read := p.call("read_text_file", arguments{"path": path}).ok()
	a, b := read.anchor("a"), read.anchor("b")
	for code, operations := range map[string][]arguments{
		"anchor_not_found": ops(replaceOp("1:00", "x")),
		"anchor_ambiguous": ops(replaceOp("1:"+strings.Split(b, ":")[1], "x")),
		"overlap":          ops(replaceOp(a, "x"), replaceOp(a, "y")),
		"no_change":        ops(replaceOp(a, "a")),
		"echoed_tags":      ops(replaceOp(a, a+"|x")),
		"invalid":          ops(replaceOp("first", "x")),
		"binary":           ops(replaceOp(a, "x\x00")),
	} {
		p.call("edit_text_file",
			arguments{"path": path, "file_hash": read.hash(), "operations": operations}).refused(code)
	}
	p.call("edit_text_file", arguments{"path": path, "file_hash": read.hash(), "operations": ops()}).refused("invalid")
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(a, "x")),
			"on_stale": "force"}).refused("invalid")
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(a, "x")),
			"old_text": "a"}).refused("invalid")
	dry := p.call("edit_text_file",
		arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(a, "x")), "dry_run": true}).ok()
	if !strings.Contains(dry.Text, "-a\r\n+x\r\n") {
		t.Errorf("%q", dry.Text)
	}
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": "sha512:" + strings.Repeat("0", 128),
			"operations": ops(replaceOp(a, "x"))}).refused("invalid")
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": read.hash(),
			"operations": ops(arguments{"op": "replace", "op_type": "delete", "anchor": a, "content": "x"})}).refused(
		"invalid")
	small, _ := connect(t, Config{Roots: []string{d}, MaxFile: int64(len(text))}, "2025-11-25", nil)
	small.call("edit_text_file",
		arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(a, "xx"))}).refused("too_large")
	after, _ := os.Stat(path)
	if content(t, path) != text || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("the file is changed")
	}
}

// TestEmptyLastLine makes the last line empty, of a file that does not end it: then it is
// no line any more.
func TestEmptyLastLine(t *testing.T) {
	d := dir(t)
	for i, x := range []struct{ before, op, anchor, content, after string }{
		{"a\nb", "replace", "b", "", "a\n"},
		{"a\nb", "insert_after", "b", "", "a\nb\n"},
		{"b", "replace", "b", "", ""},
		{"a\r\nb", "replace", "b", "x\n\n", "a\r\nx\r\n"},
		{"\ufeffb", "replace", "\ufeffb", "", "\ufeff"},
	} {
		path := write(t, d, "f"+strconv.Itoa(i), x.before)
		p := serve(t, d)
		read := p.call("read_text_file", arguments{"path": path}).ok()
		edit := arguments{"path": path, "file_hash": read.hash(),
			"operations": ops(arguments{"op": x.op, "anchor": read.anchor(x.anchor), "content": x.content})}
		edited := p.call("edit_text_file", edit).ok()
		if got := content(t, path); got != x.after || edited.hash() != engine.Abbreviate(sum([]byte(got))) {
			t.Errorf("%q becomes %q, want %q", x.before, got, x.after)
		}
		if again := p.call("read_text_file", arguments{"path": path}).ok(); again.All["total_lines"] !=
			edited.All["total_lines"] {
			t.Errorf("%q: %v", x.before, edited.All)
		}
	}
}

// TestManyPaths bounds what one call reads.
func TestManyPaths(t *testing.T) {
	d := dir(t)
	write(t, d, "f", "f\n")
	p := serve(t, d)
	p.call("read_multiple_files", arguments{"paths": slices.Repeat([]string{"f"}, 100)}).ok()
	p.call("read_multiple_files", arguments{"paths": slices.Repeat([]string{"f"}, 100+1)}).refused("invalid")
	p.call("read_multiple_files", arguments{"paths": []string{}}).refused("invalid")
}

// TestLongAnswers bounds what an edit and a refusal answer.
func TestLongAnswers(t *testing.T) {
	d := dir(t)
	short := strings.Repeat("short\n", 10_000)
	long := strings.Repeat(strings.Repeat("long", 500)+"\n", 1000)
	p := serve(t, d)
	for name, text := range map[string]string{"short": short, "long": long} {
		write(t, d, name, text)
		read := p.call("read_text_file", arguments{"path": name}).ok()
		first := strings.Split(strings.Split(read.Text, "\n")[1], "|")[0]
		edit := arguments{"path": name, "file_hash": read.hash(),
			"operations": ops(replaceOp(first, strings.Replace(text, "o", "0", -1)))}
		r := p.call("edit_text_file", edit).ok()
		if lines := strings.Count(r.Text, "\n"); lines < 10 || lines > 202 || len(r.Text) > 25<<10 {
			t.Errorf("%s: %d lines of %d bytes", name, lines, len(r.Text))
		}
		edit["file_hash"], edit["dry_run"] = r.hash(), true
		edit["operations"] = ops(arguments{"op": "replace_all", "anchor": "0", "content": "o"})
		if name == "short" {
			edit["operations"] = ops(arguments{"op": "replace_all", "anchor": "sh0rt", "content": "long"})
		}
		r = p.call("edit_text_file", edit)
		if name == "short" && (len(r.ok().Text) > 25<<10 || !strings.HasSuffix(r.Text, "[the diff goes on]\n")) {
			t.Errorf("%s: a diff of %d bytes", name, len(r.Text))
		}
	}
}

func TestRelocated(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "a\nb\nc\n")
	p := serve(t, d)
	read := p.call("read_text_file", arguments{"path": path}).ok()
	moved := "3:" + strings.Split(read.anchor("a"), ":")[1]
	edit := arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(moved, "A"))}
	exact, _ := connect(t, Config{Roots: []string{d}, ExactAnchors: true}, "2025-11-25", nil)
	exact.call("edit_text_file", edit).refused("anchor_not_found")
	r := p.call("edit_text_file", edit).ok()
	if !strings.Contains(r.Text, "[operation 1: anchor "+moved+" did not hold and was moved to line 1,") {
		t.Error(r.Text)
	}
}

// TestReadLimits gives ranges and stops early, and says where to go on.
func TestReadLimits(t *testing.T) {
	d := dir(t)
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	path := write(t, d, "f", text.String())
	p := serve(t, d)
	r := p.call("read_text_file", arguments{"path": path}).ok()
	if r.All["truncated"] != true || r.All["next_start_line"] != 2001.0 ||
		!strings.Contains(strings.Split(r.Text, "\n")[0], " total_lines=5000 lines=1-2000 next_start_line=2001]") {
		t.Errorf("%v", r.All)
	}
	r = p.call("read_text_file", arguments{"path": path, "start_line": 4999}).ok()
	if lines := strings.Split(r.Text, "\n"); len(lines) != 4 || !strings.HasSuffix(lines[1], "|line 4999") ||
		r.All["truncated"] != false {
		t.Errorf("%s", r.Text)
	}
	r = p.call("read_text_file", arguments{"path": path, "start_line": 10, "end_line": 11}).ok()
	if lines := strings.Split(r.Text, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], "10:") {
		t.Errorf("%s", r.Text)
	}
	r = p.call("read_text_file", arguments{"path": path, "max_bytes": 1 << 20}).ok()
	if strings.Count(r.Text, "\n") != 5001 || r.All["truncated"] != false {
		t.Errorf("%d lines", strings.Count(r.Text, "\n"))
	}
	p.call("read_text_file", arguments{"path": path, "start_line": 5001}).refused("invalid")
	p.call("read_text_file", arguments{"path": path, "start_line": 5, "end_line": 4}).refused("invalid")
	long := write(t, d, "long", "short\n"+strings.Repeat("x", 300<<10)+"\nshort\n")
	if r := p.call("read_text_file", arguments{"path": long}).ok(); r.All["next_start_line"] != 2.0 {
		t.Errorf("%v", r.All)
	}
	p.call("read_text_file", arguments{"path": long, "start_line": 2}).refused("too_large")
	r = p.call("read_text_file", arguments{"path": long, "start_line": 2, "max_bytes": 1 << 20}).ok()
	if !strings.Contains(r.Text, strings.Repeat("x", 300<<10)+"\n3:") {
		t.Error("the long line is not whole")
	}
	small, _ := connect(t, Config{Roots: []string{d}, MaxFile: 100}, "2025-11-25", nil)
	small.call("read_text_file", arguments{"path": path}).refused("too_large")
	small.call("write_text_file",
		arguments{"path": filepath.Join(d, "new"), "content": strings.Repeat("x", 101)}).refused("too_large")
	sparse := write(t, d, "sparse", "")
	if err := os.Truncate(sparse, 1<<42); err == nil { // no byte of it is read, nor memory made for it
		none := "sha256:" + strings.Repeat("0", 64)
		p.call("read_text_file", arguments{"path": sparse, "end_line": 1}).refused("too_large")
		p.call("read_text_file", arguments{"path": sparse, "max_bytes": 1 << 30}).refused("too_large")
		p.call("edit_text_file",
			arguments{"path": sparse, "file_hash": none, "operations": ops(replaceOp("1:25", "x"))}).refused(
			"too_large")
		p.call("write_text_file", arguments{"path": sparse, "file_hash": none, "content": "x"}).refused("too_large")
		p.call("search_files", arguments{"pattern": "line 4999"}).ok()
		os.Remove(sparse)
	}
	p.call("read_text_file", arguments{"path": write(t, d, "bin", "ab\x00c")}).refused("binary")
	if r := p.call("read_text_file",
		arguments{"path": write(t, d, "latin", "caf\xe9")}).refused("binary"); !strings.Contains(r.Text, "offset 3") {
		t.Error(r.Text)
	}
	if r := p.call("read_text_file", arguments{"path": write(t, d, "empty", "")}).ok(); r.All["total_lines"] != 0.0 {
		t.Errorf("%v", r.All)
	}
}

// TestLargeText gives a large file as it is, whatever is in it: the way past the SDK's
// encoder must be seen by nobody.
func TestLargeText(t *testing.T) {
	d := dir(t)
	var text strings.Builder
	for i := 0; text.Len() < 20<<20; i++ { // beyond what is kept as a snapshot
		fmt.Fprintf(&text, "%d \"quoted\\\" \t\x01\x7f<&>\u2028 caf\u00e9 \U0001f600 \u65e5\u672c\u8a9e %x\n", i, i*i)
	}
	path := write(t, d, "f", text.String())
	p := serve(t, d)
	r := p.call("read_text_file", arguments{"path": path, "max_bytes": 64 << 20}).ok()
	var got strings.Builder
	for i, line := range strings.SplitAfter(r.Text, "\n")[1:] {
		if line == "" {
			break
		}
		number, rest, _ := strings.Cut(line, ":")
		if number != fmt.Sprint(i+1) {
			t.Fatalf("line %d is %q", i+1, line)
		}
		got.WriteString(rest[3:])
	}
	if got.String() != text.String() {
		t.Error("the text is not that of the file")
	}
	// Two at once keep apart.
	other := write(t, d, "g", strings.Repeat("other\n", 100_000))
	m := p.call("read_multiple_files", arguments{"paths": []string{other, path}}).ok()
	if strings.Count(m.Text, "|other\n") != readLines || !strings.Contains(m.Text, "caf\u00e9") {
		t.Error("several files are mixed up")
	}
}

// TestBytesStay edits files of every kind of bytes.
func TestBytesStay(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	for i, text := range []string{"a\r\nb\r\n", "a\nb", "\ufeffa\nb\n", "a  \n\nb\n\n", "b", "a\r\nb\nc\r\nd"} {
		path := write(t, d, fmt.Sprint("f", i), text)
		read := p.call("read_text_file", arguments{"path": path}).ok()
		p.call("edit_text_file",
			arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(read.anchor("b"), "x"))}).ok()
		if got, want := content(t, path), strings.Replace(text, "b", "x", 1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	empty := write(t, d, "empty", "")
	read := p.call("read_text_file", arguments{"path": empty}).ok()
	p.call("edit_text_file",
		arguments{"path": empty, "file_hash": read.hash(),
			"operations": ops(arguments{"op": "insert_after", "anchor": "0:", "content": "first"})}).ok()
	if content(t, empty) != "first\n" {
		t.Errorf("%q", content(t, empty))
	}
}

func TestWrite(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	path := filepath.Join(d, "new")
	made := p.call("write_text_file", arguments{"path": path, "content": "one\r\n"}).ok()
	if content(t, path) != "one\r\n" || made.All["line_ending"] != "crlf" {
		t.Errorf("%q, %v", content(t, path), made.All)
	}
	p.call("write_text_file", arguments{"path": path, "content": "two\n"}).refused("exists")
	p.call("write_text_file",
		arguments{"path": path, "content": "two\n", "file_hash": "sha256:" + strings.Repeat("0", 64)}).refused("stale")
	p.call("write_text_file",
		arguments{"path": path, "content": "one\r\n", "file_hash": made.hash()}).refused("no_change")
	p.call("write_text_file",
		arguments{"path": path, "content": "1:" + tagOf("one") + "|one\n2:cd|two\n", "file_hash": made.hash()}).refused("echoed_tags")
	p.call("write_text_file",
		arguments{"path": path + "2", "content": "x", "file_hash": made.hash()}).refused("not_found")
	p.call("write_text_file", arguments{"path": filepath.Join(d, "no", "new"), "content": "x"}).refused("not_found")
	p.call("write_text_file", arguments{"path": d, "content": "x"}).refused("read_only")
	r := p.call("write_text_file", arguments{"path": path, "content": "two\n", "file_hash": made.hash()}).ok()
	if content(t, path) != "two\n" || !strings.Contains(r.Text, "ended with CRLF, and now end with LF") {
		t.Errorf("%q, %s", content(t, path), r.Text)
	}
	p.call("write_text_file", arguments{"path": path, "content": "1:" + tagOf("two") + "|2\n", "file_hash": r.hash(),
		"tags_meant": true}).ok()
	if left, _ := filepath.Glob(filepath.Join(d, ".*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func TestDirectories(t *testing.T) {
	d := dir(t)
	write(t, d, "b/x.txt", "x\n")
	write(t, d, "a.txt", "a\n")
	write(t, d, "ev\nil\x1b[2J", "")
	p := serve(t, d)
	list := p.call("list_directory", arguments{"path": d}).ok()
	if list.Text != "[FILE] a.txt\n[DIR] b\n[FILE] ev\\nil\\x1b[2J\n" &&
		!strings.HasPrefix(list.Text, "[FILE] a.txt\n[DIR] b\n[FILE] ev\\") {
		t.Errorf("%q", list.Text)
	}
	if strings.Count(list.Text, "\n") != 3 || strings.ContainsRune(list.Text, 0x1b) {
		t.Errorf("a name forges a line: %q", list.Text)
	}
	if tree := p.call("list_directory", arguments{"path": d, "recursive": true}).ok(); !strings.HasPrefix(tree.Text,
		"a.txt\nb/\nb/x.txt\nev") {
		t.Errorf("%q", tree.Text)
	}
	if sub := p.call("list_directory", arguments{"path": filepath.Join(d, "b"), "recursive": true}).ok(); sub.Text != "x.txt\n" {
		t.Errorf("%q", sub.Text)
	}
	p.call("create_directory", arguments{"path": filepath.Join(d, "b/c/d")}).ok()
	p.call("create_directory", arguments{"path": filepath.Join(d, "b/c")}).ok()
	p.call("create_directory", arguments{"path": filepath.Join(d, "a.txt")}).refused("exists")
	p.call("move_file", arguments{"source": filepath.Join(d, "a.txt"), "destination": filepath.Join(d, "b/c/d/z")}).ok()
	p.call("move_file",
		arguments{"source": filepath.Join(d, "b"), "destination": filepath.Join(d, "b/c/b")}).refused("invalid")
	p.call("move_file",
		arguments{"source": filepath.Join(d, "b/x.txt"), "destination": filepath.Join(d, "b/c/d/z")}).refused("exists")
	p.call("move_file",
		arguments{"source": filepath.Join(d, "none"), "destination": filepath.Join(d, "q")}).refused("not_found")
	p.call("move_file", arguments{"source": filepath.Join(d, "b"), "destination": filepath.Join(d, "e")}).ok()
	if content(t, filepath.Join(d, "e/c/d/z")) != "a\n" {
		t.Error("not moved")
	}
	info := p.call("list_directory", arguments{"path": filepath.Join(d, "e/x.txt")}).ok()
	if !strings.Contains(info.Text, "/e/x.txt: file, 2 bytes, modified ") {
		t.Error(info.Text)
	}
	_, modified, _ := strings.Cut(info.Text, ", modified ")
	modified, _, _ = strings.Cut(modified, ",")
	there, err := os.Stat(filepath.Join(d, "e/x.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if when, err := time.Parse(time.RFC3339, modified); err != nil || !when.Equal(there.ModTime().Truncate(time.Second)) {
		t.Error(info.Text)
	}
}

// TestMoveBetweenRoots copies, verifies and deletes.
func TestMoveBetweenRoots(t *testing.T) {
	a, b := dir(t), dir(t)
	path := write(t, a, "f", "text\n")
	os.Chmod(path, 0o640)
	p, _ := connect(t, Config{Roots: []string{a, b}}, "2025-11-25", nil)
	p.call("read_text_file", arguments{"path": "f"}).ok()                  // it is in one of the two
	p.call("write_text_file", arguments{"path": "new"}).refused("invalid") // relative to which?
	p.call("move_file", arguments{"source": path, "destination": filepath.Join(b, "g")}).ok()
	if st, err := os.Stat(filepath.Join(b, "g")); err != nil || st.Mode().Perm() != 0o640 ||
		content(t, filepath.Join(b, "g")) != "text\n" {
		t.Errorf("%v, %v", st, err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the source is still there")
	}
	os.Mkdir(filepath.Join(a, "d"), 0o700)
	p.call("move_file",
		arguments{"source": filepath.Join(a, "d"), "destination": filepath.Join(b, "d")}).refused("invalid")
}

// TestSearch gives hits that can be edited at once, and leaves out what is ignored.
func TestSearch(t *testing.T) {
	d := dir(t)
	write(t, d, "src/a.go", "package a\n\nfunc Find() {}\n")
	write(t, d, "src/b.txt", "Find\n")
	write(t, d, "out/c.go", "Find\n")
	write(t, d, "keep/out2.go", "Find\n")
	write(t, d, "bin", "Find\x00")
	write(t, d, ".gitignore", "/out/\n*2.go\n!keep/out2.go\n")
	p := serve(t, d)
	r := p.call("search_files", arguments{"pattern": `^func \w+`}).ok()
	if !strings.HasPrefix(r.Text, "==> src/a.go <==\n") || !strings.Contains(r.Text, "|func Find() {}") ||
		!strings.Contains(r.Text, "[1 hit in 1 file; 4 files searched]") {
		t.Errorf("%s", r.Text)
	}
	path, hash, _ := strings.Cut(strings.TrimPrefix(r.Text, "==> "), " <==\n[file_hash=")
	hash, _, _ = strings.Cut(hash, "]")
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": hash,
			"operations": ops(replaceOp(r.anchor("func Find() {}"), "func Found() {}"))}).ok()
	names := func(args arguments) (found []string) {
		for line := range strings.Lines(p.call("search_files", args).ok().Text) {
			if path, ok := strings.CutSuffix(strings.TrimPrefix(line, "==> "), " <==\n"); ok {
				found = append(found, strings.TrimPrefix(path, d+"/"))
			}
		}
		return found
	}
	if got := names(arguments{"pattern": "find", "ignore_case": true}); !slices.Equal(got,
		[]string{"keep/out2.go", "src/b.txt"}) {
		t.Errorf("%q", got)
	}
	if got := names(arguments{"pattern": "Fo?", "glob": "*.go"}); !slices.Equal(got,
		[]string{"keep/out2.go", "src/a.go"}) {
		t.Errorf("%q", got)
	}
	if got := names(arguments{"pattern": "F", "path": filepath.Join(d, "src"), "max_results": 1}); !slices.Equal(got,
		[]string{"src/a.go"}) {
		t.Errorf("%q", got)
	}
	p.call("search_files", arguments{"pattern": "("}).refused("invalid")
	p.call("search_files", arguments{"pattern": "x", "path": "/etc"}).refused("outside_roots")
}

// TestReadOnlyServer offers nothing that writes.
func TestReadOnlyServer(t *testing.T) {
	d := dir(t)
	p, _ := connect(t, Config{Roots: []string{d}, ReadOnly: true}, "2025-11-25", nil)
	var names []string
	for tool, err := range p.s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is not marked as reading only", tool.Name)
		}
	}
	if want := []string{"list_directory", "read_multiple_files", "read_text_file", "search_files"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestTagWidth(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "test\n")
	p, _ := connect(t, Config{Roots: []string{d}, TagWidth: 4}, "2025-11-25", nil)
	read := p.call("read_text_file", arguments{"path": path}).ok()
	if a := read.anchor("test"); len(a) != len("1:0000") || !strings.HasSuffix(a, "25") {
		t.Errorf("%s", a)
	}
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp("1:25", "x"))}).refused("invalid")
	p.call("edit_text_file",
		arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(read.anchor("test"), "x"))}).ok()
	// A server with narrower tags takes the wider ones.
	wide := p.call("read_text_file", arguments{"path": path}).ok()
	serve(t, d).call("edit_text_file",
		arguments{"path": path, "file_hash": wide.hash(), "operations": ops(replaceOp(wide.anchor("x"), "y"))}).ok()
	if s, err := New(Config{Roots: []string{""}}); err == nil {
		s.Close()
		t.Error("a root without a name is the current directory")
	}
	if _, err := New(Config{TagWidth: 5}); err == nil {
		t.Error("5 digits are accepted")
	}
}

// TestSameSize sees each change of a file whose size stays, and of one that grows and
// shrinks, however well its last state is known.
func TestSameSize(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	body := strings.Repeat("a line that stays as it is\n", 20_000)
	for _, text := range []string{"one\n" + body, "two\n" + body, body + "one\n", body + "two\n", body, body + "x", "",
		"x"} {
		path := write(t, d, "f", text)
		if got := p.call("read_text_file", arguments{"path": path, "max_bytes": 1 << 20}).ok(); got.hash() !=
			engine.Abbreviate(sum([]byte(text))) {
			t.Errorf("the hash of %.10q... is %s", text, got.hash())
		}
	}
}
