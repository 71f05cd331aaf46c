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
			if err := link(d); err != nil {
				t.Fatal(err)
			}
			p, _ := connect(t, Config{Roots: []string{d}, HardLinks: true}, "2025-11-25", nil)
			p.call("read_text_file", arguments{"path": "secrets/key"}).refused("forbidden")
			read := p.call("read_text_file", arguments{"path": "docs/rules.md"}).ok()
			if info := p.call("list_directory", arguments{"path": "docs/rules.md"}).ok(); !strings.Contains(info.Text, "read-only here") {
				t.Error(info.Text)
			}
			p.call("edit_text_file", arguments{"path": "docs/rules.md", "file_hash": read.hash(),
				"operations": ops(arguments{"op": "delete", "anchor": read.anchor("forbidden:")})}).refused("read_only")
			p.call("write_text_file",
				arguments{"path": "docs/rules.md", "content": "", "file_hash": read.hash()}).refused("read_only")
			p.call("move_file", arguments{"source": "docs/rules.md", "destination": "old.md"}).refused("read_only")
			p.call("move_file", arguments{"source": "docs", "destination": "old"}).refused("read_only")
			p.call("read_text_file", arguments{"path": "secrets/key"}).refused("forbidden")
			p.call("write_text_file", arguments{"path": "docs/new", "content": "x"}).ok()
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
	write(t, d, "AGENTS.md", "---\nforbidden: [sub/secret]\nread_only: [sub/fixed]\n---\n")
	write(t, d, "sub/AGENTS.md", "---\nforbidden: [own]\n---\n")
	write(t, d, "sub/secret", "SECRET\n")
	write(t, d, "sub/own", "SECRET\n")
	fixed := write(t, d, "sub/fixed", "fixed\n")
	write(t, d, "sub/fine", "fine\n")
	other := dir(t)
	if err := os.Symlink(filepath.Join(d, "sub"), filepath.Join(other, "link")); err != nil {
		t.Fatal(err)
	}
	sub, link := filepath.Join(d, "sub"), filepath.Join(other, "link")
	client := func(roots ...string) *peer {
		p, _ := connect(t, Config{}, "2025-11-25", roots)
		return p
	}
	server := func(roots ...string) *peer {
		p, _ := connect(t, Config{Roots: roots}, "2025-11-25", nil)
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
			p.call("read_text_file", arguments{"path": from + "/fine"}).ok()
			p.call("read_text_file", arguments{"path": from + "/secret"}).refused("forbidden")
			p.call("read_text_file", arguments{"path": from + "/own"}).refused("forbidden")
			p.call("write_text_file",
				arguments{"path": from + "/fixed", "content": "x",
					"file_hash": sum([]byte("fixed\n")).String()}).refused("read_only")
			p.call("move_file", arguments{"source": from, "destination": d + "/moved"}).refused("read_only")
			if r := p.call("search_files", arguments{"path": from, "pattern": "."}).ok(); strings.Contains(r.Text,
				"SECRET") || !strings.Contains(r.Text, "|fine") {
				t.Errorf("%s: %s", name, r.Text)
			}
		}
		if r := p.call("search_files", arguments{"pattern": "."}).ok(); strings.Contains(r.Text, "SECRET") ||
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
	p, _ := connect(t, Config{Roots: []string{d, filepath.Join(d, "a/b")}}, "2025-11-25", nil)
	p.call("move_file", arguments{"source": d + "/a", "destination": d + "/x"}).refused("read_only")
	p.call("move_file", arguments{"source": d + "/a/b", "destination": d + "/x"}).refused("read_only")
	p.call("move_file", arguments{"source": d + "/a/b/c", "destination": d + "/x"}).ok()
	// Those of the client, likewise.
	write(t, d, "y/f", "f\n")
	write(t, d, "z/f", "f\n")
	p, _ = connect(t, Config{Roots: []string{d}}, "2025-11-25", []string{d + "/y", d + "/z"})
	p.call("move_file", arguments{"source": d + "/y", "destination": d + "/z/y"}).refused("read_only")
	p.call("move_file", arguments{"source": d + "/y/f", "destination": d + "/z/y"}).ok()
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
		if r := p.call("list_directory", arguments{"path": "."}).ok(); r.Text != "[empty]\n" {
			t.Errorf("%s: %q", name, r.Text)
		}
		p.call("read_text_file", arguments{"path": "f"}).refused("forbidden")
		p.call("write_text_file",
			arguments{"path": "AGENTS.md", "content": "", "file_hash": sum([]byte(rules)).String()}).refused(
			"forbidden")
	}
}

// TestIgnoredFromAbove honours the .gitignore files above the directory that is asked for.
func TestIgnoredFromAbove(t *testing.T) {
	d := dir(t)
	write(t, d, ".gitignore", "*.log\nsrc/gen/\n")
	write(t, d, "src/.gitignore", "!keep.log\n")
	write(t, d, "src/deep/a.log", "hit\n")
	write(t, d, "src/deep/keep.log", "hit\n")
	write(t, d, "src/deep/f", "hit\n")
	write(t, d, "src/gen/f", "hit\n")
	p := serve(t, d)
	for path, want := range map[string]string{
		".": "src/\nsrc/deep/\nsrc/deep/f\nsrc/deep/keep.log\n", "src": "deep/\ndeep/f\ndeep/keep.log\n",
		"src/deep": "f\nkeep.log\n",
	} {
		tree := p.call("list_directory", arguments{"path": path, "recursive": true}).ok()
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
