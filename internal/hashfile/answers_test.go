//go:build unix

package hashfile

import (
	"fmt"
	"strings"
	"testing"
)

// TestSearchFileWithGlob: a glob is about a file that is named, too.
func TestSearchFileWithGlob(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "a.go", "main\n")
	p := serve(t, d)
	p.call("search_files", arguments{"pattern": "main", "path": "a.go", "glob": "*.go"}).ok().says("[1 hit in 1 file")
	p.call("search_files", arguments{"pattern": "main", "path": "a.go", "glob": "*.md"}).refused("invalid").
		says("path a.go is a file, and the glob does not match it; leave the glob out")
}

// TestLoneReturns: carriage returns that end no line are counted.
func TestLoneReturns(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "mac", "one\rtwo\rthree\r", "unix", "one\r\ntwo\n")
	p := serve(t, d)
	p.read("mac").ok().says("total_lines=1 ", " carriage_returns_within_lines=3]")
	p.read("unix").ok().not("carriage_returns")
}

// TestRenameAnswer: the answer to a rename with thousands of hits shows the first.
func TestRenameAnswer(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "a", strings.Repeat("x = old + 1\n", 5000))
	p := serve(t, d)
	r := p.edit("a", p.read("a").hash(), arguments{"op": "replace_all", "anchor": "old", "content": "new"}).ok()
	if r.says("replaced 5000 times", "[there are more; read from line 21]"); len(r.Text) > 2000 {
		t.Errorf("%d bytes", len(r.Text))
	}
}

// TestStaleAppend: what an append is about are the last lines, whatever is known of the file that it was made for.
func TestStaleAppend(t *testing.T) {
	d := dir(t)
	text := ""
	for i := range 100 {
		text += fmt.Sprintf("line %d\n", i+1)
	}
	write(t, d, "a", text)
	p := serve(t, d)
	hash := p.read("a").hash()
	write(t, d, "a", text+"line 101\n")
	add := arguments{"op": "append", "content": "more"}
	for _, hash := range []string{hash, "sha256:000000000000"} {
		p.edit("a", hash, add).refused("stale").says("|line 101", "|line 96").not("|line 1\n")
	}
}

// TestAnchorWithoutTag: a line's number alone is refused once, with the anchor of that line.
func TestAnchorWithoutTag(t *testing.T) {
	d := dir(t)
	write(t, d, "a", "one\ntwo\n")
	p := serve(t, d)
	p.edit("a", p.read("a").hash(), arguments{"op": "replace", "anchor": 2, "content": "x"}).refused("invalid").
		says("is not NUMBER:TAG", "line 2 is 2:")
}
