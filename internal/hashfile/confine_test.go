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
)

// refusesAll calls each tool and demands one code, and one text, of all.
func (p *peer) refusesAll(path, code string) {
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
	for _, path := range []string{inside + "_evil", inside + "/../allowed_evil", "../allowed_evil"} {
		p.refusesAll(path+"/secret", "outside_roots")
	}
}

// TestLinkCVE202553109: links to files and directories outside, absolute and relative, also
// through other links, lead nowhere. Those that stay inside are followed, as package place shows.
func TestLinkCVE202553109(t *testing.T) {
	inside, outside := outsideOf(t)
	p := serve(t, inside)
	for _, path := range []string{
		link(t, inside, "abs", outside+"/secret"), link(t, inside, "rel", "../outside/secret"),
		link(t, inside, "twice", "abs"), link(t, inside, "dir", outside) + "/secret", inside + "/dir/none",
		link(t, inside, "up", "..") + "/outside/secret", link(t, inside, "slash", "/") + "/etc/passwd",
		link(t, inside, "dangling", outside+"/none"),
	} {
		p.refusesAll(path, "outside_roots")
	}
	if content(t, outside+"/secret") != "SECRET\n" {
		t.Error("written outside")
	}
	// A link is edited through, and stays a link.
	fine := link(t, inside, "fine", "file")
	p.replace(fine, "fine", "edited").ok()
	if leads(t, fine, "file"); content(t, inside+"/file") != "edited\n" {
		t.Error("its target is not edited")
	}
}

// race swaps name between what is allowed and a link to the outside while f runs.
func race(t *testing.T, name, linkTo string, f func()) {
	t.Helper()
	parked := name + ".parked"
	if n := whileItRuns(1500*time.Millisecond, f, func() {
		os.Rename(name, parked)
		os.Symlink(linkTo, name)
		os.Remove(name)
		os.Rename(parked, name)
	}); n < 20 {
		t.Logf("only %d swaps", n)
	}
}

// whileItRuns calls f again and again for so long, and beside it swap, and returns how often that was.
func whileItRuns(long time.Duration, f, swap func()) (swaps int) {
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		for ; !stop.Load(); swaps++ {
			swap()
		}
		close(done)
	}()
	for end := time.Now().Add(long); time.Now().Before(end); {
		f()
	}
	stop.Store(true)
	<-done
	return swaps
}

// TestParentSwapGHSA53mrw429c597: a directory that becomes a link between check and
// write does not lead the write outside.
func TestParentSwapGHSA53mrw429c597(t *testing.T) {
	inside, outside := outsideOf(t)
	secret := write(t, inside, "dir/secret", "mine\n")
	p := serve(t, inside)
	race(t, filepath.Join(inside, "dir"), outside, func() {
		p.write(inside+"/dir/new", "x\n")
		os.Remove(inside + "/dir/new")
		read := p.read(secret)
		if strings.Contains(read.Text, "SECRET") {
			t.Fatal("read outside")
		}
		if read.Error == "" {
			p.edit(secret, read.hash(), insertOp(read.anchor("mine"), "more"))
			os.WriteFile(secret, []byte("mine\n"), 0o644) // also through the link
		}
		p.mkdir(inside + "/dir/made")
	})
	for _, made := range []string{"new", "made"} {
		if _, err := os.Lstat(filepath.Join(outside, made)); err == nil {
			t.Errorf("%s was made outside", made)
		}
	}
}

// TestReadSwapGHSAp9cv8g754xcg: the same race on reads, with the file itself.
func TestReadSwapGHSAp9cv8g754xcg(t *testing.T) {
	inside, outside := outsideOf(t)
	p, file := serve(t, inside), filepath.Join(inside, "file")
	race(t, file, outside+"/secret", func() {
		for _, r := range []reply{p.read(file), p.search("."),
			p.call("read_multiple_files", arguments{"paths": []string{file}})} {
			if strings.Contains(r.Text, "SECRET") {
				t.Fatal("read outside")
			}
		}
	})
}

// TestSpecialFilesGHSAp9cv8g754xcg: pipes, sockets and devices are refused, and hold up
// nothing.
func TestSpecialFilesGHSAp9cv8g754xcg(t *testing.T) {
	inside, _ := outsideOf(t)
	fifo, zero := filepath.Join(inside, "fifo"), filepath.Join(inside, "zero")
	must(t, syscall.Mkfifo(fifo, 0o600))
	p := serve(t, inside)
	paths := []string{fifo}
	if err := syscall.Mknod(zero, syscall.S_IFCHR|0o600, 1<<8|5); err == nil {
		paths = append(paths, zero)
	}
	for _, path := range paths {
		for _, r := range []reply{p.read(path), p.write(path, "x"), p.move(path, path+"2"),
			p.edit(path, "sha256:"+strings.Repeat("0", 64), replaceOp("1:00", "x"))} {
			r.refused("not_a_file")
		}
		p.list(inside).ok().says("[OTHER] " + filepath.Base(path))
	}
	p.search(".").ok()
	// An AGENTS.md and a .gitignore that are pipes: the first forbids, the second is nothing.
	write(t, inside, "sub/f", "x\n")
	must(t, syscall.Mkfifo(inside+"/sub/.gitignore", 0o600))
	p.tree(inside).ok()
	must(t, syscall.Mkfifo(inside+"/sub/AGENTS.md", 0o600))
	p.read(inside + "/sub/f").refused("forbidden")
}

// TestPipeSwapGHSAp9cv8g754xcg: a pipe that has the name of a file since that was looked at is not opened, which would
// wait for a writer.
func TestPipeSwapGHSAp9cv8g754xcg(t *testing.T) {
	inside, _ := outsideOf(t)
	name, fifo, spare := filepath.Join(inside, "file"), filepath.Join(inside, "fifo"), filepath.Join(inside, "spare")
	must(t, syscall.Mkfifo(fifo, 0o600))
	r, err := os.OpenRoot(inside)
	must(t, err)
	defer r.Close()
	regular, _ := r.Lstat("file")
	hang.Ends(t, "a call that opens a pipe", func() {
		if _, _, err := place.In(r, "fifo", regular).Open(os.O_RDONLY); place.RefusalOf("", err).Code != place.NotAFile {
			t.Error(err)
		}
	})
	p := serve(t, inside)
	whileItRuns(time.Second, func() { p.read(name) }, func() {
		os.Rename(name, spare)
		os.Rename(fifo, name)
		os.Rename(name, fifo)
		os.Rename(spare, name)
	})
}

// TestNamesAsTheyAreGHSA7rgqgccqqphx: quotes, blanks and tildes belong to a name. The path
// that is checked is the one that is used.
func TestNamesAsTheyAreGHSA7rgqgccqqphx(t *testing.T) {
	inside, outside := outsideOf(t)
	write(t, inside, "link/secret", "mine\n")
	p := serve(t, inside)
	for _, odd := range []string{"link ", " link", "link\"", "'link'", "~", "link.", "link\u00a0"} {
		path := link(t, inside, odd, outside)
		p.refusesAll(path+"/secret", "outside_roots")
		p.read("\"" + path + "\"").refused("not_found")
	}
	p.read(inside + "/link/secret").ok()
}

// TestCaseVariantGHSA4gxgm5jx9j57: a link whose name is a case variant of a directory's is
// another name here, and is followed as what it is.
func TestCaseVariantGHSA4gxgm5jx9j57(t *testing.T) {
	inside, outside := outsideOf(t)
	mine := write(t, inside, "dir/secret", "mine\n")
	if err := os.Symlink(outside, filepath.Join(inside, "DIR")); err != nil {
		t.Skip("letter case does not count on this file system")
	}
	p := serve(t, inside)
	p.refusesAll(inside+"/DIR/secret", "outside_roots")
	p.refusesAll(strings.ToUpper(inside)+"/file", "outside_roots")
	p.read(mine).ok()
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
