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
	"github.com/hallmark-mcp/hallmark/hashline"
)

// process is a server as a process, spoken to by hand.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func startProcess(t testing.TB, c Config) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startAs(t, self, c, nil)
}

func startAs(t testing.TB, program string, c Config, attr *syscall.SysProcAttr) *process {
	t.Helper()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(program)}
	p.cmd.SysProcAttr = attr
	p.cmd.Env = append(os.Environ(), "HASHFILE_TEST_SERVER="+string(config))
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	if _, err := p.ask("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

type processReply struct {
	Result struct {
		IsError           bool
		StructuredContent map[string]any
		Content           []struct{ Text string }
	}
	Error *struct{ Message string }
}

func (p *process) ask(method, params string) (r processReply, err error) {
	p.id++
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", p.id, method,
		params); err != nil {
		return r, err
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(line, &r)
}

func (p *process) call(tool string, args any) (processReply, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return processReply{}, err
	}
	return p.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, text))
}

// TestThirtyTwoClients lets 32 servers, each with a client, append to one file. No edit is
// lost: each that was reported is there, once.
func TestThirtyTwoClients(t *testing.T) {
	const clients, edits = 32, 4
	d, locks := dir(t), private(t)
	path := write(t, d, "f", "begin\n")
	var wg sync.WaitGroup
	var refused atomic.Int64
	for c := range clients {
		p := startProcess(t, Config{Roots: []string{d}, Locks: locks})
		wg.Go(func() {
			hash, last := "sha256:"+strings.Repeat("0", 64), "1:00"
			for done := 0; done < edits; {
				r, err := p.call("edit_text_file", arguments{"path": path, "file_hash": hash, "operations": ops(
					arguments{"op": "insert_after", "anchor": last,
						"content": fmt.Sprintf("client %d edit %d", c, done)})})
				if err != nil || r.Error != nil {
					t.Errorf("client %d: %v, %v", c, err, r.Error)
					return
				}
				if r.Result.IsError {
					refused.Add(1)
					if code := r.Result.StructuredContent["code"]; code != "stale" && code != "io" {
						t.Errorf("client %d: %v", c, r.Result.StructuredContent)
						return
					}
					read, err := p.call("read_text_file", arguments{"path": path})
					if err != nil {
						t.Error(err)
						return
					}
					hash = header(read.Result.Content[0].Text)["file_hash"].(string)
					lines := strings.Split(strings.TrimSpace(read.Result.Content[0].Text), "\n")
					last, _, _ = strings.Cut(lines[len(lines)-1], "|")
					continue
				}
				done++
				hash = header(r.Result.Content[0].Text)["file_hash"].(string)
				lines := strings.Split(strings.TrimSpace(r.Result.Content[0].Text), "\n")
				last, _, _ = strings.Cut(lines[len(lines)-1], "|")
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

// TestForeignWriter edits a file that a process which knows no lock rewrites all the time,
// by renaming or in place of a line at a time. The writer numbers its versions and the
// edits mark them: no version that the writer made after an edit holds the edit, and none
// that it made is ever lost to one.
func TestForeignWriter(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "version 0\nend\n")
	p := serve(t, d)
	var stop atomic.Bool
	var lost atomic.Int64
	var versions atomic.Int64
	done := make(chan bool)
	go func() {
		defer close(done)
		for !stop.Load() {
			version := versions.Add(1)
			temp := filepath.Join(d, fmt.Sprint("new", version))
			os.WriteFile(temp, fmt.Appendf(nil, "version %d\nend\n", version), 0o644)
			os.Rename(temp, path)
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			// What is there now is this version, edited or not: never an older one.
			is := func() bool {
				text, err := os.ReadFile(path)
				return err == nil && strings.HasPrefix(string(text), fmt.Sprintf("version %d\n", version))
			}
			// An edit may be in the act of putting it back, which takes long where much else runs.
			for end := time.Now().Add(hang.Long); !is(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					lost.Add(1)
					break
				}
			}
		}
	}()
	applied, stale := 0, 0
	began := time.Now()
	for met := false; !met || time.Since(began) < 3*time.Second; met = stale > 0 && versions.Load() >= 100 {
		if time.Now().After(began.Add(hang.Long)) {
			t.Fatalf("the two did not meet: %d versions, %d stale", versions.Load(), stale)
		}
		read := p.call("read_text_file", arguments{"path": path})
		if read.Error != "" {
			continue
		}
		r := p.call("edit_text_file",
			arguments{"path": path, "file_hash": read.hash(),
				"operations": ops(replaceOp(read.anchor("end"), "edited"),
					arguments{"op": "insert_after", "anchor": read.anchor("end"), "content": "end"})})
		switch r.Error {
		case "":
			applied++
		case "stale":
			stale++
		default:
			t.Fatalf("%s: %s", r.Error, r.Text)
		}
	}
	stop.Store(true)
	<-done
	t.Logf("%d versions, %d edits, %d stale", versions.Load(), applied, stale)
	if lost.Load() > 0 {
		t.Errorf("%d versions were lost to an edit", lost.Load())
	}
	tidy(t, d)
}

// TestKept keeps mode, owner and attributes, and refuses what has several names.
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
	p := serve(t, d)
	read := p.call("read_text_file", arguments{"path": path}).ok()
	edit := arguments{"path": path, "file_hash": read.hash(), "operations": ops(replaceOp(read.anchor("a"), "b"))}
	p.call("edit_text_file", edit).ok()
	after, _ := os.Stat(path)
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if was.Mode != is.Mode || was.Uid != is.Uid || was.Gid != is.Gid {
		t.Errorf("%o %d:%d became %o %d:%d", was.Mode, was.Uid, was.Gid, is.Mode, is.Uid, is.Gid)
	}
	if attribute && !hasAttribute(path) {
		t.Error("the extended attribute is lost")
	}
	// Hard links.
	write(t, d, "g", "a\n")
	if err := os.Link(filepath.Join(d, "g"), filepath.Join(d, "h")); err != nil {
		t.Skip(err)
	}
	edit["path"] = filepath.Join(d, "g")
	if r := p.call("edit_text_file", edit).refused("hard_link"); !strings.Contains(r.Text, "--hard-links") {
		t.Error(r.Text)
	}
	if content(t, filepath.Join(d, "h")) != "a\n" {
		t.Error("written")
	}
	linked, _ := connect(t, Config{Roots: []string{d}, HardLinks: true}, "2025-11-25", nil)
	linked.call("edit_text_file", edit).ok()
	if content(t, filepath.Join(d, "h")) != "b\n" || content(t, filepath.Join(d, "g")) != "b\n" {
		t.Error("the names are torn apart")
	}
	// A shorter file leaves nothing of the longer one.
	long := write(t, d, "g", "long line\nb\n")
	read = linked.call("read_text_file", arguments{"path": long}).ok()
	linked.call("edit_text_file",
		arguments{"path": long, "file_hash": read.hash(),
			"operations": ops(replaceOp(read.anchor("long line"), "s"))}).ok()
	if got := content(t, filepath.Join(d, "h")); got != "s\nb\n" {
		t.Errorf("%q", got)
	}
	tidy(t, d)
}

// TestNotWritable edits a file that the server's user may not write, in a directory that it
// may: replacing it would be a way around the file's mode.
func TestNotWritable(t *testing.T) {
	d := dir(t)
	path := write(t, d, "f", "a\n")
	os.Chmod(path, 0o444)
	p := startProcess(t, Config{Roots: []string{d}, Locks: private(t)})
	if os.Getuid() == 0 { // root may write everything
		p = startNobody(t, d)
		os.Chown(path, 65534, 65534)
	}
	args := arguments{"path": path, "file_hash": sum([]byte("a\n")).String(), "operations": ops(replaceOp("1:8c", "b"))}
	r, err := p.call("edit_text_file", args)
	if err != nil || !r.Result.IsError || r.Result.StructuredContent["code"] != "io" ||
		!strings.Contains(r.Result.Content[0].Text, "denies access") {
		t.Errorf("%v, %v", r, err)
	}
	if content(t, path) != "a\n" {
		t.Error("written")
	}
	tidy(t, d)
	os.Chmod(path, 0o644)
	if r, err := p.call("edit_text_file", args); err != nil || r.Result.IsError {
		t.Errorf("%v, %v", r, err)
	}
}

// startNobody starts a server for dir as a user without rights of its own.
func startNobody(t *testing.T, dir string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	place := t.TempDir()
	copied, locks := filepath.Join(place, "server"), filepath.Join(place, "locks")
	if err := errors.Join(os.WriteFile(copied, program, 0o755), os.Mkdir(locks, 0o700), os.Chown(locks, 65534, 65534),
		os.Chmod(dir, 0o777),
		os.Chmod(filepath.Dir(place), 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return startAs(t, copied, Config{Roots: []string{dir}, Locks: locks},
		&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
}

// TestTwoEdits makes two edits of one state at once: one is stale.
func TestTwoEdits(t *testing.T) {
	d, locks := dir(t), private(t)
	path := write(t, d, "f", "a\n")
	a := startProcess(t, Config{Roots: []string{d}, Locks: locks})
	b := startProcess(t, Config{Roots: []string{d}, Locks: locks})
	hash := sum([]byte("a\n")).String()
	anchor := "1:" + hashline.Tag(hashline.Hash([]byte("a")), 2)
	results := make(chan processReply, 2)
	for i, p := range []*process{a, b} { // of two edits of one state, one is stale
		go func() {
			r, err := p.call("edit_text_file",
				arguments{"path": path, "file_hash": hash,
					"operations": ops(replaceOp(anchor, fmt.Sprint("edit ", i)))})
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	one, two := <-results, <-results
	if one.Result.IsError == two.Result.IsError {
		t.Errorf("%v and %v", one.Result, two.Result)
	}
}
