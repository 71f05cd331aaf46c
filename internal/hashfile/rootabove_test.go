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
			for _, now := range []string{root, filepath.Dir(root)} {
				must(t, os.Rename(now, now+".old"))
				must(t, os.Symlink(base+"/secret", now))
				read := p.read(root + "/f")
				withheld(t, read, p.list(root), p.write(root+"/new", "x\n"))
				p.search(".").not("SECRET")
				if !strings.HasPrefix(m.name, "both") {
					read.says("start the server again")
				}
				must(t, os.Remove(now))
				must(t, os.Rename(now+".old", now))
				p.read(root + "/f").ok()
			}
			// Another directory in its place is what was named.
			must(t, os.Rename(root, root+".old"))
			p.read(write(t, root, "g", "new\n")).ok()
			entries(t, base+"/secret", 2)
		})
	}
}

// TestRootLinkOfRepository: a link in a work tree is content of it, and is not followed to
// another place than when the root was named.
func TestRootLinkOfRepository(t *testing.T) {
	base := dir(t)
	writeAll(t, base, "secret/f", "SECRET\n", "vendor/f", "vendor\n", "project/.git/HEAD", "ref: refs/heads/main\n")
	vendor := link(t, base, "project/vendor", "../vendor")
	p := allowing(t, 0, vendor)
	p.read(vendor + "/f").ok()
	must(t, os.Remove(vendor))
	link(t, base, "project/vendor", "../secret")
	withheld(t, p.read(vendor+"/f"))
}

// TestRulesAboveRoot: who names a directory below an AGENTS.md does not get around it, at
// whatever depth, also if it cannot be read.
func TestRulesAboveRoot(t *testing.T) {
	base := dir(t)
	root := filepath.Join(base, "project/sub")
	write(t, base, "AGENTS.md", "---\nforbidden: [\"project/sub/secret\", \"*.pem\"]\nread_only: [project/sub/fixed]\n"+
		"ignore: [project/sub/made]\n---\n")
	writeAll(t, root, "secret/key", "text\n", "id.pem", "text\n", "fixed/f", "text\n", "made/f", "text\n",
		"free/f", "text\n")
	p := allowing(t, 0, root)
	for _, name := range []string{"secret/key", "id.pem", "secret"} {
		p.read(root + "/" + name).refused("forbidden")
	}
	allRefused("forbidden", p.write(root+"/secret/new", "x\n"), p.move(root+"/free/f", root+"/free/f.pem"))
	p.read(root + "/fixed/f").ok()
	p.write(root+"/fixed/new", "x\n").refused("read_only")
	p.write(root+"/free/new", "x\n").ok()
	if r := p.tree(root).ok(); r.Text != "fixed/\nfixed/f\nfree/\nfree/f\nfree/new\n"+
		"[not listed: forbidden by AGENTS.md]\n[not listed: ignored by AGENTS.md: made/]\n" {
		t.Error(r.Text)
	}
	p.search("text").ok().not("made/f", "secret")
	write(t, base, "project/AGENTS.md", "---\nforbidden: |\n  x\n---\n")
	p.read(root + "/free/f").refused("forbidden").says("../AGENTS.md")
	// The root itself may be what is forbidden.
	write(t, base, "project/AGENTS.md", "---\nforbidden: [sub]\n---\n")
	p.list(root).refused("forbidden")
}
