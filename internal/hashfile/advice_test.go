//go:build unix

package hashfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSearchAdvice: a pattern that finds nothing is told why, as far as that shows, and the pattern of the advice works.
func TestSearchAdvice(t *testing.T) {
	d := dir(t)
	write(t, d, "a.js", "foo(bar)\r\nView or Router\r\n")
	write(t, d, "b.txt", `a\1`+"\n")
	p := serve(t, d)
	for pattern, want := range map[string]string{
		"foo(bar)": `to find that give foo\(bar\)]`, `View\|Router`: "give | for one or the other", `\<View\>`: `give | for one`,
		`\r$`: "without it]", "/foo/i": "leave them out, and give ignore_case", "nothing": "2 files searched]\n",
	} {
		if text := p.search(pattern).ok().Text; !strings.Contains(text, want) || strings.Count(text, "[") > 2 {
			t.Errorf("%s: %s", pattern, text)
		}
	}
	p.search(`foo\(bar\)`).ok().says("[1 hit in 1 file")
	p.search(`a\1`).refused("invalid").says(`to find this text as it is, give a\\1;`)
	p.search(`a\\1`).ok().says("[1 hit in 1 file")
	p.call("search_files", arguments{"glob": "*.js|*.txt"}).ok().says("several globs have commas between them")
}

// TestPathAdvice: what was meant is named where a path begins with the name of an allowed directory, or leads out.
func TestPathAdvice(t *testing.T) {
	base := dir(t)
	one, two := filepath.Join(base, "one"), filepath.Join(base, "two")
	must(t, os.Mkdir(one, 0o700))
	must(t, os.Mkdir(two, 0o700))
	write(t, two, "a.txt", "x\n")
	must(t, os.Symlink(filepath.Join(base, "else"), filepath.Join(two, "out")))
	p := serve(t, one, two)
	p.read("two/a.txt").refused("invalid").says("is it " + filepath.Join(two, "a.txt") + "?")
	p.write("new.txt", "x").refused("invalid").says("give an absolute path in " + one + " or " + two)
	p = serve(t, two)
	p.read("two/a.txt").refused("not_found").says("so that it may be a.txt")
	p.read("out").refused("outside_roots").says("out is a link, or lies behind one, that leads outside")
	serveAs(t, Config{Roots: []string{two}, ReadOnly: true}).list().ok()
	if _, err := New(Config{Roots: []string{"~/none"}}); err == nil || !strings.Contains(err.Error(), "give the path itself") {
		t.Error(err)
	}
}

// TestEndAdvice: a file whose last line has no line feed is said to have none, and how to add one.
func TestEndAdvice(t *testing.T) {
	d := dir(t)
	write(t, d, "a.txt", "one\ntwo")
	p := serve(t, d)
	r := p.read("a.txt").ok()
	p.edit("a.txt", r.hash(), replaceOp(r.anchor("two"), "two\n")).refused("no_change").says(`to append "" adds one`)
	r = p.edit("a.txt", r.hash(), arguments{"op": "append", "content": "three\n"}).ok().says("has no line feed, as before")
	p.edit("a.txt", r.hash(), arguments{"op": "append", "content": ""}).ok().not("no line feed")
	if got := content(t, filepath.Join(d, "a.txt")); got != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}
}

// TestLongDiff: a dry run shows what differs in long lines, on either side.
func TestLongDiff(t *testing.T) {
	d := dir(t)
	long := strings.Repeat("x", 30_000)
	write(t, d, "a.js", "first\n"+long+"OLD"+long+"\nlast\n")
	p := serve(t, d)
	r := p.read("a.js").ok()
	line, _, _ := strings.Cut(r.Text[strings.Index(r.Text, "\n2:")+1:], "|")
	p.call("edit_text_file", arguments{"path": "a.js", "file_hash": r.hash(), "dry_run": true,
		"operations": ops(replaceOp(line, long+"NEW"+long), replaceOp(r.anchor("last"), "end"))}).ok().
		says("xOLDx", "xNEWx", "-last\n", "+end\n", "bytes cut]").not("goes on")
}
