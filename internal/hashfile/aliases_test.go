//go:build unix

package hashfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// TestRulesUnderOtherNames protects the file that the rules are read from, whatever it is called:
// projects keep them in a CLAUDE.md or docs/agents.md, and link AGENTS.md to it.
func TestRulesUnderOtherNames(t *testing.T) {
	for name, link := range map[string]func(d string) error{
		"a link": func(d string) error { return os.Symlink("docs/rules.md", filepath.Join(d, "AGENTS.md")) },
		"a link over a link": func(d string) error {
			os.Symlink("docs/rules.md", filepath.Join(d, "other.md"))
			return os.Symlink("other.md", filepath.Join(d, "AGENTS.md"))
		},
		"a second name": func(d string) error {
			return os.Link(filepath.Join(d, "docs/rules.md"), filepath.Join(d, "AGENTS.md"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			rules := write(t, d, "docs/rules.md", rulesText)
			write(t, d, "secrets/key", "SECRET\n")
			write(t, d, "docs/fine", "fine\n")
			must(t, link(d))
			p := serveAs(t, Config{Roots: []string{d}, HardLinks: true})
			p.read("secrets/key").refused("forbidden")
			read := p.read("docs/rules.md").ok()
			p.list("docs/rules.md").ok().says("read-only here")
			p.edit("docs/rules.md", read.hash(), arguments{"op": "delete", "anchor": read.anchor("forbidden:")}).refused("read_only")
			p.write("docs/rules.md", "", read.hash()).refused("read_only")
			p.move("docs/rules.md", "old.md").refused("read_only")
			p.move("docs", "old").refused("read_only")
			p.read("secrets/key").refused("forbidden")
			p.write("docs/new", "x").ok()
			if content(t, rules) != rulesText {
				t.Error("the rules are changed")
			}
		})
	}
}

// TestRootInRoot applies the rules of an allowed directory also to what lies in another one that
// is in it, by whichever path it is reached.
func TestRootInRoot(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "AGENTS.md", "---\nforbidden: [sub/secret]\nread_only: [sub/fixed]\n---\n",
		"sub/AGENTS.md", "---\nforbidden: [own]\n---\n", "sub/secret", "SECRET\n", "sub/own", "SECRET\n")
	fixed := write(t, d, "sub/fixed", "fixed\n")
	write(t, d, "sub/fine", "fine\n")
	other := dir(t)
	must(t, os.Symlink(filepath.Join(d, "sub"), filepath.Join(other, "link")))
	sub, link := filepath.Join(d, "sub"), filepath.Join(other, "link")
	client := func(roots ...string) *peer {
		p, _ := connect(t, Config{}, "2025-11-25", roots)
		return p
	}
	server := func(roots ...string) *peer {
		p := serveAs(t, Config{Roots: roots})
		return p
	}
	for name, p := range map[string]*peer{
		"flags": server(d, sub, link), "flags, the other way": server(sub, d), "client": client(d, sub, link),
		"client, the other way": client(sub, d),
	} {
		for _, from := range []string{sub, link} {
			if from == link && strings.Contains(name, "way") {
				continue
			}
			p.read(from + "/fine").ok()
			p.read(from + "/secret").refused("forbidden")
			p.read(from + "/own").refused("forbidden")
			p.write(from+"/fixed", "x", sum([]byte("fixed\n")).String()).refused("read_only")
			p.move(from, d+"/moved").refused("read_only")
			if r := p.call("search_files", arguments{"path": from, "pattern": "."}).ok(); strings.Contains(r.Text,
				"SECRET") || !strings.Contains(r.Text, "|fine") {
				t.Errorf("%s: %s", name, r.Text)
			}
		}
		if r := p.search(".").ok(); strings.Contains(r.Text, "SECRET") ||
			strings.Count(r.Text, "|fine") != 1 {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	if content(t, fixed) != "fixed\n" {
		t.Error("a file that is read-only is changed")
	}
}

// TestMoveAllowedDirectory refuses to move a directory in which an allowed one lies: it would be
// another one's under its path.
func TestMoveAllowedDirectory(t *testing.T) {
	d := dir(t)
	write(t, d, "a/b/c/f", "f\n")
	p := serve(t, d, filepath.Join(d, "a/b"))
	p.move(d+"/a", d+"/x").refused("read_only")
	p.move(d+"/a/b", d+"/x").refused("read_only")
	p.move(d+"/a/b/c", d+"/x").ok()
	// Those of the client, likewise.
	write(t, d, "y/f", "f\n")
	write(t, d, "z/f", "f\n")
	p = serveAs(t, Config{Roots: []string{d}}, d+"/y", d+"/z")
	p.move(d+"/y", d+"/z/y").refused("read_only")
	p.move(d+"/y/f", d+"/z/y").ok()
}

// TestRulesOfTheRoot: what forbids everything in an allowed directory leaves the directory itself,
// empty, and the reason where something in it is asked for.
func TestRulesOfTheRoot(t *testing.T) {
	for name, rules := range map[string]string{
		"everything": "---\nforbidden: \"*\"\n---\n", "not understood": "---\nforbidden: |\n---\n",
		"large": "# Prose\n" + strings.Repeat("x", rules.MaxFile),
	} {
		d := dir(t)
		write(t, d, "AGENTS.md", rules)
		write(t, d, "f", "f\n")
		p := serve(t, d)
		if r := p.list(".").ok(); r.Text != "[empty]\n" {
			t.Errorf("%s: %q", name, r.Text)
		}
		p.read("f").refused("forbidden")
		p.write("AGENTS.md", "", sum([]byte(rules)).String()).refused("forbidden")
	}
}

// TestIgnoredFromAbove honours the .gitignore files above the directory that is asked for.
func TestIgnoredFromAbove(t *testing.T) {
	d := dir(t)
	writeAll(t, d, ".gitignore", "*.log\nsrc/gen/\n", "src/.gitignore", "!keep.log\n", "src/deep/a.log", "hit\n",
		"src/deep/keep.log", "hit\n", "src/deep/f", "hit\n", "src/gen/f", "hit\n")
	p := serve(t, d)
	for path, want := range map[string]string{
		".": "src/\nsrc/deep/\nsrc/deep/f\nsrc/deep/keep.log\n", "src": "deep/\ndeep/f\ndeep/keep.log\n",
		"src/deep": "f\nkeep.log\n",
	} {
		tree := p.tree(path).ok()
		got, ignored, _ := strings.Cut(tree.Text, "[not listed: ignored by .gitignore: ")
		got = strings.ReplaceAll(strings.ReplaceAll(got, "src/.gitignore\n", ""), ".gitignore\n", "")
		if got != want || !strings.Contains(ignored, "a.log") {
			t.Errorf("%s: %q, want %q; ignored is %q", path, got, want, ignored)
		}
		if r := p.call("search_files", arguments{"path": path, "pattern": "hit"}).ok(); !strings.Contains(r.Text,
			"[2 hits in 2 files; ") {
			t.Errorf("%s: %s", path, r.Text)
		}
	}
}
