//go:build unix

package hashfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// TestRulesUnderOtherNames protects the file that the rules are read from, whatever it is called:
// projects keep them in a CLAUDE.md or docs/agents.md, and link AGENTS.md to it.
func TestRulesUnderOtherNames(t *testing.T) {
	const real = "docs/rules.md"
	for name, alias := range map[string]func(d string){
		"a link":             func(d string) { link(t, d, "AGENTS.md", real) },
		"a link over a link": func(d string) { link(t, d, "AGENTS.md", filepath.Base(link(t, d, "other.md", real))) },
		"a second name":      func(d string) { must(t, os.Link(d+"/"+real, d+"/AGENTS.md")) },
	} {
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			writeAll(t, d, real, rulesText, "secrets/key", "SECRET\n", "docs/fine", "fine\n")
			alias(d)
			p := serveAs(t, Config{Roots: []string{d}, HardLinks: true})
			p.read("secrets/key").refused("forbidden")
			read := p.read(real).ok()
			p.list(real).ok().says("read-only here")
			allRefused("read_only", p.edit(real, read.hash(), arguments{"op": "delete", "anchor": read.anchor("forbidden:")}),
				p.write(real, "", read.hash()), p.move(real, "old.md"), p.move("docs", "old"))
			p.read("secrets/key").refused("forbidden")
			p.write("docs/new", "x").ok()
		})
	}
}

// TestRootInRoot applies the rules of an allowed directory also to what lies in another one that
// is in it, by whichever path it is reached.
func TestRootInRoot(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "AGENTS.md", "---\nforbidden: [sub/secret]\nread_only: [sub/fixed]\n---\n",
		"sub/AGENTS.md", "---\nforbidden: [own]\n---\n", "sub/secret", "SECRET\n", "sub/own", "SECRET\n",
		"sub/fixed", "fixed\n", "sub/fine", "fine\n")
	sub := filepath.Join(d, "sub")
	other := link(t, dir(t), "link", sub)
	for name, c := range map[string]struct {
		p    *peer
		from []string
	}{
		"flags":                 {serve(t, d, sub, other), []string{sub, other}},
		"flags, the other way":  {serve(t, sub, d), []string{sub}},
		"client":                {serveAs(t, Config{}, d, sub, other), []string{sub, other}},
		"client, the other way": {serveAs(t, Config{}, sub, d), []string{sub}},
	} {
		p := c.p
		for _, from := range c.from {
			p.read(from + "/fine").ok()
			allRefused("forbidden", p.read(from+"/secret"), p.read(from+"/own"))
			p.write(from+"/fixed", "x", sum([]byte("fixed\n")).String()).refused("read_only")
			p.move(from, d+"/moved").refused("read_only")
			p.call("search_files", arguments{"path": from, "pattern": "."}).ok().says("|fine").not("SECRET")
		}
		if r := p.search(".").ok().not("SECRET"); strings.Count(r.Text, "|fine") != 1 {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
}

// TestMoveAllowedDirectory refuses to move a directory in which an allowed one lies: it would be
// another one's under its path.
func TestMoveAllowedDirectory(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "a/b/c/f", "f\n", "y/f", "f\n", "z/f", "f\n")
	p := serve(t, d, filepath.Join(d, "a/b"))
	allRefused("read_only", p.move(d+"/a", d+"/x"), p.move(d+"/a/b", d+"/x"))
	p.move(d+"/a/b/c", d+"/x").ok()
	// Those of the client, likewise.
	p = serveAs(t, Config{Roots: []string{d}}, d+"/y", d+"/z")
	p.move(d+"/y", d+"/z/y").refused("read_only")
	p.move(d+"/y/f", d+"/z/y").ok()
}

// TestRulesOfTheRoot: what forbids everything in an allowed directory leaves the directory itself,
// empty, and the reason where something in it is asked for.
func TestRulesOfTheRoot(t *testing.T) {
	for name, rules := range map[string]string{
		"everything": "---\nforbidden: \"*\"\n---\n", "not understood": "---\nforbidden: |\n---\n",
		"large": "# Prose\n" + strings.Repeat("x", place.MaxRules),
	} {
		d := dir(t)
		write(t, d, "AGENTS.md", rules)
		write(t, d, "f", "f\n")
		p := serve(t, d)
		if r := p.list(".").ok(); r.Text != "[empty]\n" {
			t.Errorf("%s: %q", name, r.Text)
		}
		allRefused("forbidden", p.read("f"), p.write("AGENTS.md", "", sum([]byte(rules)).String()))
	}
}
