//go:build unix

package hashfile

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// allRefused calls each tool and demands one code, and one text, of all.
func (p *peer) allRefused(path, code string) {
	p.t.Helper()
	for tool, r := range p.tools(path) {
		if r.Error != code {
			p.t.Errorf("%s %s: %q %s, want %s", tool, path, r.Error, r.Text, code)
		}
	}
}

// outsideOf makes an allowed directory and one beside it with a secret.
func outsideOf(t *testing.T) (inside, outside string) {
	d := dir(t)
	inside, outside = filepath.Join(d, "allowed"), filepath.Join(d, "outside")
	write(t, inside, "file", "fine\n")
	write(t, outside, "secret", "SECRET\n")
	return inside, outside
}

// TestPrefixCVE202553110: a directory whose name begins like an allowed one's is outside.
func TestPrefixCVE202553110(t *testing.T) {
	inside, _ := outsideOf(t)
	write(t, inside+"_evil", "secret", "SECRET\n")
	p := serve(t, inside)
	p.allRefused(inside+"_evil/secret", "outside_roots")
	p.allRefused(inside+"/../allowed_evil/secret", "outside_roots")
	p.allRefused("../allowed_evil/secret", "outside_roots")
}

// TestLinkCVE202553109: links to files and directories outside, absolute and relative, also
// through other links, lead nowhere, and what is said does not depend on what is there.
func TestLinkCVE202553109(t *testing.T) {
	inside, outside := outsideOf(t)
	link := func(to, name string) string {
		must(t, os.Symlink(to, filepath.Join(inside, name)))
		return filepath.Join(inside, name)
	}
	p := serve(t, inside)
	for _, path := range []string{
		link(outside+"/secret", "abs"), link("../outside/secret", "rel"), link("abs", "twice"),
		link(outside, "dir") + "/secret", inside + "/dir/none", link("..", "up") + "/outside/secret",
		link("/", "slash") + "/etc/passwd", link(outside+"/none", "dangling"),
	} {
		p.allRefused(path, "outside_roots")
	}
	same := func(path string) string {
		return strings.ReplaceAll(p.read(path).Text, path, "PATH")
	}
	if a, b := same(inside+"/dir/secret"), same(inside+"/dir/none"); a != b {
		t.Errorf("%q tells from %q what exists", a, b)
	}
	if content(t, outside+"/secret") != "SECRET\n" {
		t.Error("written outside")
	}
	// Links that stay inside are followed; loops end.
	link("file", "fine")
	link(inside+"/file", "fine2")
	link("loop", "loop")
	p.read(inside + "/fine").ok()
	p.read(inside + "/fine2").ok()
	p.read(inside + "/loop").refused("not_found")
	// A link is edited through, and stays a link.
	read := p.read(inside + "/fine").ok()
	p.edit(inside+"/fine", read.hash(), replaceOp(read.anchor("fine"), "edited")).ok()
	if st, _ := os.Lstat(inside + "/fine"); st.Mode()&os.ModeSymlink == 0 || content(t, inside+"/file") != "edited\n" {
		t.Error("the link is replaced, or its target not edited")
	}
}

// race swaps name between what is allowed and a link to the outside while f runs.
func race(t *testing.T, name, linkTo string, f func()) {
	t.Helper()
	var stop atomic.Bool
	done := make(chan int)
	parked := name + ".parked"
	go func() {
		swaps := 0
		for ; !stop.Load(); swaps++ {
			os.Rename(name, parked)
			os.Symlink(linkTo, name)
			os.Remove(name)
			os.Rename(parked, name)
		}
		done <- swaps
	}()
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		f()
	}
	stop.Store(true)
	if n := <-done; n < 20 {
		t.Logf("only %d swaps", n)
	}
}

// TestParentSwapGHSA53mrw429c597: a directory that becomes a link between check and
// write does not lead the write outside.
func TestParentSwapGHSA53mrw429c597(t *testing.T) {
	inside, outside := outsideOf(t)
	write(t, inside, "dir/secret", "mine\n")
	p := serve(t, inside)
	race(t, filepath.Join(inside, "dir"), outside, func() {
		p.write(inside+"/dir/new", "x\n")
		os.Remove(inside + "/dir/new")
		read := p.read(inside + "/dir/secret")
		if strings.Contains(read.Text, "SECRET") {
			t.Fatal("read outside")
		}
		if read.Error == "" {
			p.edit(inside+"/dir/secret", read.hash(), arguments{"op": "insert_after", "anchor": read.anchor("mine"), "content": "more"})
			os.WriteFile(inside+"/dir/secret", []byte("mine\n"), 0o644)
		}
		p.mkdir(inside + "/dir/made")
	})
	os.WriteFile(outside+"/.check", nil, 0o600)
	left, _ := os.ReadDir(outside)
	for _, e := range left {
		if name := e.Name(); name != "secret" && name != ".check" {
			if name == "new" { // the race itself may have removed or made it through the link
				t.Errorf("%s was made outside", name)
			}
			if name == "made" {
				t.Errorf("%s was made outside", name)
			}
		}
	}
}

// TestReadSwapGHSAp9cv8g754xcg: the same race on reads, with the file itself.
func TestReadSwapGHSAp9cv8g754xcg(t *testing.T) {
	inside, outside := outsideOf(t)
	p := serve(t, inside)
	race(t, filepath.Join(inside, "file"), outside+"/secret", func() {
		for tool, args := range map[string]arguments{
			"read_text_file": {"path": inside + "/file"}, "read_multiple_files": {"paths": []string{inside + "/file"}},
			"search_files": {"pattern": "."},
		} {
			if r := p.call(tool, args); strings.Contains(r.Text, "SECRET") {
				t.Fatalf("%s read outside", tool)
			}
		}
	})
}

// TestSpecialFilesGHSAp9cv8g754xcg: pipes, sockets and devices are refused, and hold up
// nothing, also when they come by a race.
func TestSpecialFilesGHSAp9cv8g754xcg(t *testing.T) {
	inside, _ := outsideOf(t)
	fifo := filepath.Join(inside, "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	p := serve(t, inside)
	paths := []string{fifo}
	if err := syscall.Mknod(filepath.Join(inside, "zero"), syscall.S_IFCHR|0o600, 1<<8|5); err == nil {
		paths = append(paths, filepath.Join(inside, "zero"))
	}
	for _, path := range paths {
		for _, tool := range []string{"read_text_file", "edit_text_file", "write_text_file", "move_file"} {
			args := map[string]arguments{
				"read_text_file": {"path": path}, "write_text_file": {"path": path, "content": "x"},
				"edit_text_file": {"path": path, "file_hash": "sha256:" + strings.Repeat("0", 64),
					"operations": ops(replaceOp("1:00", "x"))},
				"move_file": {"source": path, "destination": path + "2"},
			}[tool]
			p.call(tool, args).refused("not_a_file")
		}
		if r := p.list(inside).ok(); !strings.Contains(r.Text,
			"[OTHER] "+filepath.Base(path)) {
			t.Errorf("%s", r.Text)
		}
	}
	p.search(".").ok()
	// An AGENTS.md and a .gitignore that are pipes: the first forbids, the second is nothing.
	os.Mkdir(inside+"/sub", 0o700)
	syscall.Mkfifo(inside+"/sub/.gitignore", 0o600)
	write(t, inside, "sub/f", "x\n")
	p.tree(inside).ok()
	syscall.Mkfifo(inside+"/sub/AGENTS.md", 0o600)
	p.read(inside + "/sub/f").refused("forbidden")
	// A pipe that has the name since it was looked at: opening it would wait for a writer.
	r, err := os.OpenRoot(inside)
	must(t, err)
	defer r.Close()
	regular, _ := r.Lstat("file")
	hang.Ends(t, "a call that opens a pipe", func() {
		if _, _, err := place.In(r, "fifo", regular).Open(os.O_RDONLY); rules.RefusalOf("", err).Code != rules.NotAFile {
			t.Error(err)
		}
	})
	name, spare := filepath.Join(inside, "file"), filepath.Join(inside, "spare")
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		for !stop.Load() {
			os.Rename(name, spare)
			os.Rename(fifo, name)
			os.Rename(name, fifo)
			os.Rename(spare, name)
		}
		close(done)
	}()
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		p.read(name)
	}
	stop.Store(true)
	<-done
}

// TestForbiddenSwap: a file that becomes a link to a forbidden one beside it, which the
// system would follow, is not read.
func TestForbiddenSwap(t *testing.T) {
	d := dir(t)
	writeAll(t, d, "AGENTS.md", "---\nforbidden: [id.pem]\n---\n", "id.pem", "SECRET\n", "file", "fine\n")
	p := serve(t, d)
	race(t, filepath.Join(d, "file"), "id.pem", func() {
		if r := p.read("file"); strings.Contains(r.Text, "SECRET") {
			t.Fatal("read what is forbidden")
		}
	})
}

// TestNamesAsTheyAreGHSA7rgqgccqqphx: quotes, blanks and tildes belong to a name. The path
// that is checked is the one that is used.
func TestNamesAsTheyAreGHSA7rgqgccqqphx(t *testing.T) {
	inside, outside := outsideOf(t)
	for _, odd := range []string{"link ", " link", "link\"", "'link'", "~", "link.", "link\u00a0"} {
		os.Symlink(outside, filepath.Join(inside, odd))
	}
	for _, plain := range []string{"link"} {
		os.Mkdir(filepath.Join(inside, plain), 0o700)
	}
	write(t, inside, "link/secret", "mine\n")
	p := serve(t, inside)
	for _, odd := range []string{"link ", " link", "link\"", "'link'", "~", "link.", "link\u00a0"} {
		p.allRefused(filepath.Join(inside, odd, "secret"), "outside_roots")
		p.read("\"" + filepath.Join(inside, odd) + "\"").refused("not_found")
	}
	p.read(inside + "/link/secret").ok()
	for _, bad := range []string{"", "a\x00b", strings.Repeat("x", 5000)} {
		p.read(bad).refused("invalid")
	}
}

// TestCaseVariantGHSA4gxgm5jx9j57: a link whose name is a case variant of a directory's is
// another name here, and is followed as what it is.
func TestCaseVariantGHSA4gxgm5jx9j57(t *testing.T) {
	inside, outside := outsideOf(t)
	write(t, inside, "dir/secret", "mine\n")
	if err := os.Symlink(outside, filepath.Join(inside, "DIR")); err != nil {
		t.Skip("letter case does not count on this file system")
	}
	p := serve(t, inside)
	p.allRefused(inside+"/DIR/secret", "outside_roots")
	p.allRefused(strings.ToUpper(inside)+"/file", "outside_roots")
	p.read(inside + "/dir/secret").ok()
}

// TestMoveSourceRaceGHSA7m4xrv66mxhh: a source that becomes a link while it is moved
// brings nothing in from outside.
func TestMoveSourceRaceGHSA7m4xrv66mxhh(t *testing.T) {
	inside, outside := outsideOf(t)
	second := dir(t)
	p := serve(t, inside, second)
	race(t, filepath.Join(inside, "file"), outside+"/secret", func() {
		for _, to := range []string{inside + "/moved", second + "/moved"} {
			if r := p.move(inside+"/file", to); r.Error == "" {
				if text, err := os.ReadFile(to); err == nil && strings.Contains(string(text), "SECRET") {
					t.Fatal("moved from outside")
				}
			}
			os.Remove(to)
		}
		os.WriteFile(inside+"/file.tmp", []byte("fine\n"), 0o600)
		os.Link(inside+"/file.tmp", inside+"/file")
		os.Remove(inside + "/file.tmp")
	})
	if content(t, outside+"/secret") != "SECRET\n" {
		t.Error("the outside is changed")
	}
}
