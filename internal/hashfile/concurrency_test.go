//go:build unix

package hashfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// process is a server as a process, spoken to by hand. Where it does not answer, the code is "ended".
type process struct {
	caller
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func startProcess(t *testing.T, c Config) *process {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return startAs(t, self, c, nil)
}

// startUser starts a server for d as another user, who can execute a copy of this program and has locks of his own.
func startUser(t *testing.T, d string, user syscall.Credential) *process {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	program, err := os.ReadFile(self)
	must(t, err)
	place := t.TempDir()
	copied, locks := filepath.Join(place, "server"), filepath.Join(place, "locks")
	must(t, errors.Join(os.WriteFile(copied, program, 0o755), os.Mkdir(locks, 0o700),
		os.Chown(locks, int(user.Uid), int(user.Gid)), os.Chmod(filepath.Dir(place), 0o755),
		os.Chmod(filepath.Dir(d), 0o755)))
	return startAs(t, copied, Config{Roots: []string{d}, Locks: locks}, &syscall.SysProcAttr{Credential: &user})
}

func startAs(t *testing.T, program string, c Config, attr *syscall.SysProcAttr) *process {
	t.Helper()
	config, err := json.Marshal(c)
	must(t, err)
	p := &process{t: t, cmd: exec.Command(program)}
	p.caller = p.call
	p.cmd.SysProcAttr = attr
	p.cmd.Env = append(os.Environ(), "HASHFILE_TEST_SERVER="+string(config))
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.out = bufio.NewReaderSize(out, 1<<20)
	must(t, p.cmd.Start())
	t.Cleanup(p.stop)
	_, err = p.ask("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	must(t, err)
	fmt.Fprintln(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// stop kills a server.
func (p *process) stop() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func (p *process) ask(method, params string) (m rawMessage, err error) {
	p.id++
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", p.id, method,
		params); err != nil {
		return m, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(line, &m)
}

func (p *process) call(tool string, args arguments) reply {
	m, err := p.ask("tools/call", params(tool, args))
	if err == nil && m.Error != nil {
		err = errors.New(m.Error.Message)
	}
	if err != nil {
		return reply{t: p.t, Text: err.Error(), Error: "ended"}
	}
	return outcome(p.t, m)
}

// TestThirtyTwoClients lets 32 servers, each with a client, append to one file. No edit is lost: each that was reported
// is there, once, so that of two edits of one state one is stale.
func TestThirtyTwoClients(t *testing.T) {
	const clients, edits = 32, 4
	d, locks := dir(t), private(t)
	path := write(t, d, "f", "begin\n")
	var wg sync.WaitGroup
	var refused atomic.Int64
	for c := range clients {
		p := startProcess(t, Config{Roots: []string{d}, Locks: locks})
		wg.Go(func() {
			last := p.read(path)
			for done := 0; done < edits; {
				lines := strings.Split(strings.TrimSpace(last.Text), "\n")
				anchor, _, _ := strings.Cut(lines[len(lines)-1], "|")
				hash, _ := last.All["file_hash"].(string)
				next := p.edit(path, hash, insertOp(anchor, fmt.Sprintf("client %d edit %d", c, done)))
				switch next.Error {
				case "":
					done++
				case "stale", "io":
					refused.Add(1)
					next = p.read(path)
				default:
					t.Errorf("client %d: %s: %s", c, next.Error, next.Text)
					return
				}
				last = next
			}
		})
	}
	wg.Wait()
	got := map[string]int{}
	for line := range strings.Lines(content(t, path)) {
		got[line]++
	}
	for c := range clients {
		for e := range edits {
			if line := fmt.Sprintf("client %d edit %d\n", c, e); got[line] != 1 {
				t.Errorf("%q stands %d times", line, got[line])
			}
		}
	}
	if len(got) != clients*edits+1 {
		t.Errorf("%d different lines", len(got))
	}
	t.Logf("%d edits were stale", refused.Load())
	tidy(t, d)
}

// tidy demands that no temporary file is left.
func tidy(t *testing.T, d string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(d, ".*.tmp")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// foreignWriter is somebody who knows no lock, and renames one version after the other over a file.
type foreignWriter struct {
	stop           atomic.Bool
	versions, lost atomic.Int64
}

func (w *foreignWriter) run(path string) {
	for !w.stop.Load() {
		version := fmt.Sprintf("version %d\n", w.versions.Add(1))
		temp := fmt.Sprint(path, ".new", w.versions.Load())
		os.WriteFile(temp, []byte(version+"end\n"), 0o644)
		os.Rename(temp, path)
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		// What is there now is this version, edited or not: never an older one.
		is := func() bool {
			text, err := os.ReadFile(path)
			return err == nil && strings.HasPrefix(string(text), version)
		}
		// An edit may be in the act of putting it back, which takes long where much else runs.
		for end := time.Now().Add(hang.Long); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				w.lost.Add(1)
				break
			}
		}
	}
}

// TestForeignWriter edits a file that a process which knows no lock rewrites all the time. The writer numbers its
// versions and the edits mark them: no version that the writer made after an edit holds the edit, and none that it made
// is ever lost to one.
func TestForeignWriter(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "version 0\nend\n")
	p := serve(t, d)
	w, done := new(foreignWriter), make(chan bool)
	go func() {
		w.run(path)
		close(done)
	}()
	applied, stale := 0, 0
	began := time.Now()
	for met := false; !met || time.Since(began) < 3*time.Second; met = stale > 0 && w.versions.Load() >= 100 {
		if time.Now().After(began.Add(hang.Long)) {
			t.Fatalf("the two did not meet: %d versions, %d stale", w.versions.Load(), stale)
		}
		read := p.read(path)
		if read.Error != "" {
			continue
		}
		end := read.anchor("end")
		switch r := p.edit(path, read.hash(), replaceOp(end, "edited"), insertOp(end, "end")); r.Error {
		case "":
			applied++
		case "stale":
			stale++
		default:
			t.Fatalf("%s: %s", r.Error, r.Text)
		}
	}
	w.stop.Store(true)
	<-done
	t.Logf("%d versions, %d edits, %d stale", w.versions.Load(), applied, stale)
	if w.lost.Load() > 0 {
		t.Errorf("%d versions were lost to an edit", w.lost.Load())
	}
	tidy(t, d)
}

// TestKept keeps mode, owner and attributes.
func TestKept(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "a\n")
	os.Chmod(path, 0o751)
	if os.Getuid() == 0 {
		os.Chown(path, 1234, 4321)
		os.Chmod(path, 0o6751) // after chown
	}
	attribute := setAttribute(path)
	before, _ := os.Stat(path)
	serve(t, d).replace(path, "a", "b").ok()
	after, _ := os.Stat(path)
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if was.Mode != is.Mode || was.Uid != is.Uid || was.Gid != is.Gid {
		t.Errorf("%o %d:%d became %o %d:%d", was.Mode, was.Uid, was.Gid, is.Mode, is.Uid, is.Gid)
	}
	if attribute && !hasAttribute(path) {
		t.Error("the extended attribute is lost")
	}
	tidy(t, d)
}

// TestHardLinks refuses to edit what has several names, unless it may write in place, where nothing of a longer file is
// left.
func TestHardLinks(t *testing.T) {
	d := dir(t)
	g, h := write(t, d, "g", "long line\nb\n"), filepath.Join(d, "h")
	must(t, os.Link(g, h))
	serve(t, d).replace(g, "b", "c").refused("hard_link").says("--hard-links")
	if content(t, h) != "long line\nb\n" {
		t.Error("written")
	}
	serveAs(t, Config{Roots: []string{d}, HardLinks: true}).replace(g, "long line", "s").ok()
	if content(t, h) != "s\nb\n" || content(t, g) != "s\nb\n" {
		t.Error("the names are torn apart, or something is left")
	}
	tidy(t, d)
}

// TestNotWritable edits a file that the server's user may not write, in a directory that it
// may: replacing it would be a way around the file's mode.
func TestNotWritable(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "a\n")
	must(t, os.Chmod(path, 0o444))
	p := startProcess(t, Config{Roots: []string{d}, Locks: private(t)})
	if os.Getuid() == 0 { // root may write everything
		p = startUser(t, d, syscall.Credential{Uid: 65534, Gid: 65534})
		must(t, errors.Join(os.Chmod(d, 0o777), os.Chown(path, 65534, 65534)))
	}
	p.replace(path, "a", "b").refused("io").says("denies access")
	if content(t, path) != "a\n" {
		t.Error("written")
	}
	tidy(t, d)
	must(t, os.Chmod(path, 0o644))
	p.replace(path, "a", "b").ok()
}
