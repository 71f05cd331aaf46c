package hashfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReadAndEdit follows a model through source 004's example.
func TestReadAndEdit(t *testing.T) {
	d := dir(t)
	path := write(t, d, "a.js", "function hello() {\n  return \"world\";\n}\n")
	p := serve(t, d)
	read := p.read(path).ok()
	if want := "[file_hash=sha256:ce81ccd78841 total_lines=3]\n1:d3|function hello() {\n" +
		"2:98|  return \"world\";\n3:88|}\n"; read.Text != want {
		t.Errorf("%s, want %s", read.Text, want)
	}
	edit := p.edit(path, read.hash(), replaceOp("2:98", `  return "hello";`),
		arguments{"op_type": "insert_before", "anchor": "1:d3", "content": "// greeting"}).ok()
	if got := content(t, path); got != "// greeting\nfunction hello() {\n  return \"hello\";\n}\n" {
		t.Errorf("%q", got)
	}
	// The answer suffices for the next edit, without reading.
	if edit.All["applied"] != 2.0 || edit.hash() == read.hash() {
		t.Errorf("%v", edit.All)
	}
	p.edit(path, edit.hash(), arguments{"op": "delete", "anchor": edit.anchor("// greeting")}).ok()
	if got := content(t, path); got != "function hello() {\n  return \"hello\";\n}\n" {
		t.Errorf("%q", got)
	}
}

// TestManyPaths bounds what one call reads.
func TestManyPaths(t *testing.T) {
	d := dir(t)
	write(t, d, "f", "f\n")
	p := serve(t, d)
	for n, code := range map[int]string{100: "", 100 + 1: "invalid", 0: "invalid"} {
		p.call("read_multiple_files", arguments{"paths": slices.Repeat([]string{"f"}, n)}).refused(code)
	}
}

// TestLongAnswers bounds what an edit and a dry run answer.
func TestLongAnswers(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	for name, text := range map[string]string{
		"short": strings.Repeat("short\n", 10_000), "long": strings.Repeat(strings.Repeat("long", 500)+"\n", 1000),
	} {
		write(t, d, name, text)
		read := p.read(name).ok()
		first, _, _ := strings.Cut(strings.Split(read.Text, "\n")[1], "|")
		r := p.edit(name, read.hash(), replaceOp(first, strings.ReplaceAll(text, "o", "0"))).ok()
		if lines := strings.Count(r.Text, "\n"); lines < 10 || lines > 202 || len(r.Text) > 25<<10 {
			t.Errorf("%s: %d lines of %d bytes", name, lines, len(r.Text))
		}
	}
	r := p.call("edit_text_file", arguments{"path": "short", "file_hash": p.read("short").hash(), "dry_run": true,
		"operations": ops(arguments{"op": "replace_all", "anchor": "sh0rt", "content": "long"})}).ok()
	if len(r.Text) > 25<<10 || !strings.HasSuffix(r.Text, "[the diff goes on]\n") {
		t.Errorf("a diff of %d bytes", len(r.Text))
	}
	if strings.Contains(content(t, filepath.Join(d, "short")), "long") {
		t.Error("a dry run writes")
	}
}

// TestRelocated: an anchor that moved is found, unless anchors have to be exact.
func TestRelocated(t *testing.T) {
	d := dir(t)
	write(t, d, "f", "a\nb\nc\n")
	p := serve(t, d)
	read := p.read("f").ok()
	moved := "3:" + strings.Split(read.anchor("a"), ":")[1]
	exact := serveAs(t, Config{Roots: []string{d}, ExactAnchors: true})
	exact.edit("f", read.hash(), replaceOp(moved, "A")).refused("anchor_not_found")
	p.edit("f", read.hash(), replaceOp(moved, "A")).ok().
		says("[operation 1: anchor " + moved + " did not hold and was moved to line 1,")
}

// TestReadLimits stops early and says where to go on. Which ranges there are is shown in package engine.
func TestReadLimits(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", strings.Repeat("line\n", 5000))
	long := write(t, d, "long", "short\n"+strings.Repeat("x", 300<<10)+"\nshort\n")
	p := serve(t, d)
	p.read(path).ok().says(" total_lines=5000 lines=1-2000 next_start_line=2001]\n")
	p.read(long).ok().says("lines=1-1 next_start_line=2]\n")
	read := func(path, name string, value int, more arguments) reply {
		args := arguments{"path": path, name: value}
		for k, v := range more {
			args[k] = v
		}
		return p.call("read_text_file", args)
	}
	read(path, "start_line", 10, arguments{"end_line": 11}).ok().says("lines=10-11]\n10:").not("\n12:")
	if r := read(path, "max_bytes", 1<<20, nil).ok(); strings.Count(r.Text, "\n") != 5001 || r.All["truncated"] != false {
		t.Errorf("%d lines", strings.Count(r.Text, "\n"))
	}
	read(path, "start_line", 5001, nil).refused("invalid")
	read(path, "start_line", 5, arguments{"end_line": 4}).refused("invalid")
	read(long, "start_line", 2, nil).refused("too_large")
	if r := read(long, "start_line", 2, arguments{"max_bytes": 1 << 20}).ok(); len(r.Text) < 300<<10 {
		t.Error("the long line is not whole")
	}
	small := serveAs(t, Config{Roots: []string{d}, MaxFile: 100})
	allRefused("too_large", small.read(path), small.write(filepath.Join(d, "new"), strings.Repeat("x", 101)))
	p.read(write(t, d, "latin", "caf\xe9")).refused("binary").says("offset 3")
}

// TestSparseFile: of a file that is far too large no byte is read, nor memory made for it.
func TestSparseFile(t *testing.T) {
	d := dir(t)
	sparse := write(t, d, "sparse", "")
	write(t, d, "f", "needle\n")
	must(t, os.Truncate(sparse, 1<<36))
	p, none := serve(t, d), "sha256:"+strings.Repeat("0", 64)
	for name, value := range map[string]int{"end_line": 1, "max_bytes": 1 << 30} {
		p.call("read_text_file", arguments{"path": sparse, name: value}).refused("too_large")
	}
	allRefused("too_large", p.edit(sparse, none, replaceOp("1:25", "x")), p.write(sparse, "x", none))
	p.search("needle").ok().says("==> f <==")
}

// TestLargeText gives a large file as it is, whatever is in it: the way past the SDK's encoder must be seen by nobody.
func TestLargeText(t *testing.T) {
	d := dir(t)
	var text strings.Builder
	for i := 0; text.Len() < 20<<20; i++ { // beyond what is kept as a snapshot
		fmt.Fprintf(&text, "%d \"quoted\\\" \t\x01\x7f<&>\u2028 caf\u00e9 \U0001f600 \u65e5\u672c\u8a9e %x\n", i, i*i)
	}
	path := write(t, d, "f", text.String())
	p := serve(t, d)
	_, lines, _ := strings.Cut(p.call("read_text_file", arguments{"path": path, "max_bytes": 64 << 20}).ok().Text, "\n")
	var got strings.Builder
	for line := range strings.Lines(lines) {
		_, text, _ := strings.Cut(line, "|")
		got.WriteString(text)
	}
	if got.String() != text.String() {
		t.Error("the text is not that of the file")
	}
	// Two at once keep apart.
	other := write(t, d, "g", strings.Repeat("other\n", 100_000))
	m := p.call("read_multiple_files", arguments{"paths": []string{other, path}}).ok().says("caf\u00e9")
	if strings.Count(m.Text, "|other\n") != readLines {
		t.Error("several files are mixed up")
	}
}

// TestWrite: what is refused is shown in package engine.
func TestWrite(t *testing.T) {
	d := dir(t)
	p := serve(t, d)
	made := p.write("new", "one\r\n").ok().says("line_ending=crlf")
	p.write("new", "two\n").refused("exists")
	tagged := "1:" + tagOf("one") + "|one\n"
	p.write("new", tagged, made.hash()).refused("echoed_tags")
	r := p.write("new", "two\n", made.hash()).ok().says("ended with CRLF, and now end with LF")
	p.call("write_text_file",
		arguments{"path": "new", "content": tagged, "file_hash": r.hash(), "tags_meant": true}).ok()
	if left, _ := filepath.Glob(filepath.Join(d, ".*")); len(left) > 0 || content(t, filepath.Join(d, "new")) != tagged {
		t.Errorf("%q is left", left)
	}
}

// TestDirectories makes, lists and moves them. No name forges a line of a listing.
func TestDirectories(t *testing.T) {
	d := dir(t)
	path := write(t, d, "b/x.txt", "x\n")
	write(t, d, "a.txt", "a\n")
	write(t, d, "ev\nil\x1b[2J", "")
	p := serve(t, d)
	for want, r := range map[string]reply{
		"[FILE] a.txt\n[DIR] b\n[FILE] ev\\nil\\x1b[2J\n": p.list(d), "a.txt\nb/\nb/x.txt\nev\\nil\\x1b[2J\n": p.tree(d),
		"x.txt\n": p.tree(d + "/b"), "created b/c/d\n": p.mkdir("b/c/d"), "b/c exists already\n": p.mkdir("b/c"),
		"moved a.txt to b/a.txt\n": p.move("a.txt", "b/a.txt"),
	} {
		if r.ok().Text != want {
			t.Errorf("%q, want %q", r.Text, want)
		}
	}
	p.list("ev\nil\x1b[2J").ok().says(`ev\nil\x1b[2J: file, `)
	p.mkdir("b/x.txt").refused("exists")
	p.move("none", "q").refused("not_found")
	for _, asDirectory := range []string{"new/", "new/."} { // what it would name is no file
		p.move("b/a.txt", asDirectory).refused("invalid").says("create_directory")
		p.write(asDirectory, "x", "").refused("invalid").says("create_directory")
	}
	if text := p.move("b/c", "moved/").ok().Text; text != "moved b/c to moved/\n" {
		t.Error(text)
	}
	there, err := os.Stat(path)
	must(t, err)
	_, modified, _ := strings.Cut(p.list(path).ok().says("/b/x.txt: file, 2 bytes, modified ").Text, ", modified ")
	modified, _, _ = strings.Cut(modified, ",")
	if when, err := time.Parse(time.RFC3339, modified); err != nil || !when.Equal(there.ModTime().Truncate(time.Second)) {
		t.Errorf("%s, %v", modified, err)
	}
}

// TestSearch gives hits that can be edited at once, and leaves out what is ignored.
func TestSearch(t *testing.T) {
	d := dir(t)
	for name, text := range map[string]string{"src/a.go": "package a\n\nfunc Find() {}\n", "src/b.txt": "Find\n",
		"out/c.go": "Find\n", "keep/out2.go": "Find\n", "bin": "Find\x00", ".gitignore": "/out/\n*2.go\n!keep/out2.go\n"} {
		write(t, d, name, text)
	}
	p := serve(t, d)
	r := p.search(`^func \w+`).ok().says("==> src/a.go <==\n", "[1 hit in 1 file; 4 files searched]")
	_, rest, _ := strings.Cut(r.Text, "\n")
	hash := reply{t: t, Text: rest, All: header(rest)}.hash()
	p.edit("src/a.go", hash, replaceOp(r.anchor("func Find() {}"), "func Found() {}")).ok()
	for want, args := range map[string]arguments{
		"keep/out2.go src/b.txt": {"pattern": "find", "ignore_case": true},
		"keep/out2.go src/a.go":  {"pattern": "Fo?", "glob": "*.go"},
		"src/a.go":               {"pattern": "F", "path": "src", "max_results": 1},
	} {
		if got := strings.Join(foundIn(p.call("search_files", args).ok()), " "); got != want {
			t.Errorf("%v: %s, want %s", args, got, want)
		}
	}
	p.search("(").refused("invalid")
	p.call("search_files", arguments{"pattern": "x", "path": "/etc"}).refused("outside_roots")
}

// foundIn are the files of which an answer shows lines.
func foundIn(r reply) (files []string) {
	for line := range strings.Lines(r.Text) {
		if file, ok := strings.CutSuffix(line, " <==\n"); ok {
			files = append(files, strings.TrimPrefix(file, "==> "))
		}
	}
	return files
}

// TestReadOnlyServer offers nothing that writes.
func TestReadOnlyServer(t *testing.T) {
	p := serveAs(t, Config{Roots: []string{dir(t)}, ReadOnly: true})
	var names []string
	for tool, err := range p.s.Tools(t.Context(), nil) {
		must(t, err)
		names = append(names, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is not marked as reading only", tool.Name)
		}
	}
	if want := "list_directory read_multiple_files read_text_file search_files"; strings.Join(names, " ") != want {
		t.Errorf("%q", names)
	}
}

// TestTagWidth: the tags that are shown are as wide as is wanted, and others are understood if they are wider.
func TestTagWidth(t *testing.T) {
	d := dir(t)
	write(t, d, "f", "test\n")
	p := serveAs(t, Config{Roots: []string{d}, TagWidth: 4})
	read := p.read("f").ok()
	if a := read.anchor("test"); len(a) != len("1:0000") || !strings.HasSuffix(a, "25") {
		t.Errorf("%s", a)
	}
	p.edit("f", read.hash(), replaceOp("1:25", "x")).refused("invalid")
	p.replace("f", "test", "x").ok()
	wide := p.read("f").ok()
	serve(t, d).edit("f", wide.hash(), replaceOp(wide.anchor("x"), "y")).ok()
	for what, c := range map[string]Config{"5 digits": {TagWidth: 5}, "a root without a name": {Roots: []string{""}}} {
		if s, err := New(c); err == nil {
			s.Close()
			t.Errorf("%s: a server starts", what)
		}
	}
}
