//go:build unix

package hashfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRootBecomesLink: what was a directory when it was named, or below one, and is a link now
// is not served where that leads, whoever put it there; the way back is.
func TestRootBecomesLink(t *testing.T) {
	for mode, m := range rootModes {
		t.Run(m.name, func(t *testing.T) {
			base := dir(t)
			writeAll(t, base, "secret/docs/f", "SECRET\n", "secret/f", "SECRET\n", "project/sub/docs/f", "docs\n")
			root := filepath.Join(base, "project/sub/docs")
			p := allowing(t, mode, root)
			p.read(root + "/f").ok()
			for _, link := range []string{root, filepath.Dir(root)} {
				must(t, os.Rename(link, link+".old"))
				must(t, os.Symlink(base+"/secret", link))
				for tool, r := range map[string]reply{
					"read":   p.read(root + "/f"),
					"list":   p.list(root),
					"search": p.search("."),
					"write":  p.write(root+"/new", "x\n"),
				} {
					if r.Error == "" && tool != "search" || strings.Contains(r.Text, "SECRET") {
						t.Errorf("%s: %s", tool, r.Text)
					}
					if tool == "read" && !strings.HasPrefix(m.name, "both") &&
						!strings.Contains(r.Text, "start the server again") {
						t.Errorf("%s does not say why: %s", tool, r.Text)
					}
				}
				must(t, os.Remove(link))
				must(t, os.Rename(link+".old", link))
				p.read(root + "/f").ok()
			}
			// Another directory in its place is what was named.
			must(t, os.Rename(root, root+".old"))
			write(t, root, "g", "new\n")
			p.read(root + "/g").ok()
			if left, _ := os.ReadDir(base + "/secret"); len(left) != 2 {
				t.Errorf("%v", left)
			}
		})
	}
}

// TestRootLinkOfRepository: a link in a work tree is content of it, and is not followed to
// another place than when the root was named.
func TestRootLinkOfRepository(t *testing.T) {
	base := dir(t)
	writeAll(t, base, "secret/f", "SECRET\n", "vendor/f", "vendor\n", "project/.git/HEAD", "ref: refs/heads/main\n")
	link := filepath.Join(base, "project", "vendor")
	must(t, os.Symlink("../vendor", link))
	p := allowing(t, 0, link)
	p.read(link + "/f").ok()
	must(t, os.Remove(link))
	must(t, os.Symlink("../secret", link))
	if r := p.read(link + "/f"); r.Error == "" ||
		strings.Contains(r.Text, "SECRET") {
		t.Error(r.Text)
	}
}

// TestRulesAboveRoot: who names a directory below an AGENTS.md does not get around it, at
// whatever depth, also if it cannot be read.
func TestRulesAboveRoot(t *testing.T) {
	const rules = "---\nforbidden: [\"project/sub/secret\", \"*.pem\"]\nread_only: [project/sub/fixed]\n" +
		"ignore: [project/sub/made]\n---\n"
	base := dir(t)
	write(t, base, "AGENTS.md", rules)
	for _, name := range []string{"secret/key", "id.pem", "fixed/f", "made/f", "free/f"} {
		write(t, base, "project/sub/"+name, "text\n")
	}
	root := filepath.Join(base, "project/sub")
	p := allowing(t, 0, root)
	for _, name := range []string{"secret/key", "id.pem", "secret"} {
		p.read(root + "/" + name).refused("forbidden")
	}
	p.write(root+"/secret/new", "x\n").refused("forbidden")
	p.move(root+"/free/f", root+"/free/f.pem").refused("forbidden")
	p.read(root + "/fixed/f").ok()
	p.write(root+"/fixed/new", "x\n").refused("read_only")
	p.write(root+"/free/new", "x\n").ok()
	if r := p.tree(root).ok(); r.Text !=
		"fixed/\nfixed/f\nfree/\nfree/f\nfree/new\n[not listed: forbidden by AGENTS.md]\n"+
			"[not listed: ignored by AGENTS.md: made/]\n" {
		t.Error(r.Text)
	}
	if r := p.search("text").ok(); strings.Contains(r.Text, "made/f") ||
		strings.Contains(r.Text, "secret") {
		t.Error(r.Text)
	}
	write(t, base, "project/AGENTS.md", "---\nforbidden: |\n  x\n---\n")
	r := p.read(root + "/free/f")
	r.refused("forbidden")
	r.says("../AGENTS.md")
	// The root itself may be what is forbidden.
	write(t, base, "project/AGENTS.md", "---\nforbidden: [sub]\n---\n")
	p.list(root).refused("forbidden")
}
