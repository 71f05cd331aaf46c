//go:build unix

package editing

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// editing is a process of hashfile-mcp that is spoken to by hand, and the directory that it may use.
type editing struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string // with the files f, "one\n", and large, 60 MB, and the directory tree
	home string
	in   *os.File
	out  *bufio.Reader
}

// editingServer is what each process of a test uses.
type editingServer struct{ program, dir, home string }

func newEditingServer(t *testing.T) *editingServer {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &editingServer{filepath.Join(base, "hashfile-mcp"), filepath.Join(base, "root"), filepath.Join(base, "home")}
	built.Into(t, s.program, "cmd/hashfile-mcp")
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(s.dir, "f"), "one\n")
	line := strings.Repeat("x", 99) + "\n"
	world.Write(t, filepath.Join(s.dir, "large"), strings.Repeat(line, 600_000))
	for i := range 20_000 {
		if i%1000 == 0 {
			if err := os.MkdirAll(fmt.Sprintf("%s/tree/%d", s.dir, i/1000), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s/tree/%d/%d", s.dir, i/1000, i), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start starts a process and greets it. Without roots of its own the server asks the client, which does not answer.
func (s *editingServer) start(t *testing.T, roots bool) *editing {
	t.Helper()
	inR, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	e := &editing{t: t, cmd: exec.Command(s.program), dir: s.dir, home: s.home, in: in, out: bufio.NewReader(out)}
	if roots {
		e.cmd.Args = append(e.cmd.Args, "--root", s.dir)
	}
	e.cmd.Env = append(os.Environ(), "HALLMARK_HOME="+s.home)
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = inR, outW, os.Stderr
	err = e.cmd.Start()
	inR.Close()
	outW.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.cmd.Process.Kill(); e.cmd.Wait(); in.Close(); out.Close() })
	if roots {
		e.send(greeting("{}"))
	} else {
		e.send(greeting(`{"roots":{}}`))
	}
	if got := e.line(); !strings.Contains(got, `"hello"`) {
		t.Fatal(got)
	}
	return e
}

// greeting begins a session of a client with capabilities.
func greeting(capabilities string) string {
	return `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`
}

func (e *editing) send(lines ...string) { fmt.Fprintln(e.in, strings.Join(lines, "\n")) }

// line returns the next answer. Requests of the server, for roots, are not answered.
func (e *editing) line() string {
	e.t.Helper()
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			e.t.Fatalf("%v after %q", err, line)
		}
		if !json.Valid([]byte(line)) {
			e.t.Fatalf("no JSON: %.200q", line)
		}
		if !strings.HasPrefix(line, `{"jsonrpc":"2.0","method":`) && !strings.Contains(line, `"roots/list"`) {
			return line
		}
	}
}

// next returns the next answer, unless the server hangs.
func (e *editing) next() string {
	e.t.Helper()
	defer time.AfterFunc(hang.Long, func() { e.cmd.Process.Kill() }).Stop()
	return e.line()
}

// ends demands that the process ends by itself with a code.
func (e *editing) ends(code int) {
	e.t.Helper()
	late := time.AfterFunc(hang.Long, func() { e.cmd.Process.Kill() })
	defer late.Stop()
	e.cmd.Wait()
	if got := e.cmd.ProcessState.ExitCode(); got != code {
		e.t.Errorf("it ended with %v, want %d", e.cmd.ProcessState, code)
	}
}

// untouched demands that nothing was written, not even in part.
func (e *editing) untouched() {
	e.t.Helper()
	if data, err := os.ReadFile(filepath.Join(e.dir, "f")); string(data) != "one\n" {
		e.t.Errorf("f holds %q, %v", data, err)
	}
	entries, err := os.ReadDir(e.dir)
	if err != nil || len(entries) != 3 {
		e.t.Errorf("%v, %v", entries, err)
	}
}

// lock holds the lock of f, as another server that writes it would, until the function that it returns.
func (e *editing) lock() func() {
	e.t.Helper()
	sum := sha256.Sum256([]byte(filepath.Join(e.dir, "f")))
	locks := filepath.Join(e.home, "state", "hashfile")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		e.t.Fatal(err)
	}
	unlock, err := durable.Lock(context.Background(), filepath.Join(locks, hex.EncodeToString(sum[:1])), "f")
	if err != nil {
		e.t.Fatal(err)
	}
	return unlock
}

func toolCall(id, tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` +
		arguments + `}}`
}

// edits is an edit of f.
func edits(id string) string {
	sum := sha256.Sum256([]byte("one\n"))
	return toolCall(id, "edit_text_file", `{"path":"f","file_hash":"sha256:`+hex.EncodeToString(sum[:])+
		`","operations":[{"op":"replace","anchor":"1:`+hashline.Tag(hashline.Hash([]byte("one")), 2)+`","content":"two"}]}`)
}

func searches(id string) string {
	return toolCall(id, "search_files", `{"pattern":"y$","path":"tree"}`)
}

func readsLarge(id string) string {
	return toolCall(id, "read_text_file", `{"path":"large","max_bytes":67108864}`)
}

// TestHashfileEnds ends the server, and calls, while they work.
func TestHashfileEnds(t *testing.T) {
	s := newEditingServer(t)
	t.Run("server", func(t *testing.T) { testServerEnds(t, s) })
	t.Run("cancelled", func(t *testing.T) { testCancelled(t, s) })
	t.Run("piped", func(t *testing.T) { testPiped(t, s) })
}

// testServerEnds closes the server's input, after which it exits with 0, or sends it a signal.
func testServerEnds(t *testing.T, s *editingServer) {
	for name, begin := range map[string]func(t *testing.T) *editing{
		"idle": func(t *testing.T) *editing { return s.start(t, true) },
		"an answer that is not read": func(t *testing.T) *editing {
			e := s.start(t, true)
			e.send(readsLarge("1"), readsLarge("2"))
			return e
		},
		"searches": func(t *testing.T) *editing {
			e := s.start(t, true)
			for i := range 20 {
				e.send(searches(fmt.Sprint(i)))
			}
			return e
		},
		"an edit that waits": func(t *testing.T) *editing {
			e := s.start(t, true)
			t.Cleanup(e.lock())
			e.send(edits("1"))
			return e
		},
		"roots that are not told": func(t *testing.T) *editing {
			e := s.start(t, false)
			e.send(edits("1"), searches("2"))
			return e
		},
	} {
		for how, end := range map[string]func(e *editing){
			"closed":  func(e *editing) { e.in.Close(); e.ends(0) },
			"SIGTERM": func(e *editing) { e.cmd.Process.Signal(syscall.SIGTERM); e.ends(130) },
			"SIGINT":  func(e *editing) { e.cmd.Process.Signal(syscall.SIGINT); e.ends(130) },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				e := begin(t)
				time.Sleep(200 * time.Millisecond) // for it to be at work
				end(e)
				e.untouched()
			})
		}
	}
}

// testPiped sends everything and closes the input, as a shell does: all is answered. A server on a machine that has no
// time for it gives up after a second, as it should, and is started again.
func testPiped(t *testing.T, s *editingServer) {
	var out []byte
	for end := time.Now().Add(hang.Long); time.Now().Before(end); {
		world.Write(t, filepath.Join(s.dir, "f"), "one\n")
		cmd := exec.Command(s.program, "--root", s.dir)
		cmd.Env = append(os.Environ(), "HALLMARK_HOME="+s.home)
		cmd.Stdin = strings.NewReader(greeting("{}") + "\n" + edits("1") + "\n" +
			toolCall("2", "read_text_file", `{"path":"f"}`) + "\ngarbage\n" +
			toolCall("3", "read_text_file", `{"path":"f"}`)) // without a line end
		cmd.Stderr = os.Stderr
		var err error
		if out, err = cmd.Output(); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(out, []byte("\n")) == 5 {
			break
		}
	}
	var got []string
	for line := range bytes.Lines(out) {
		var m struct {
			ID    any
			Error any
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%v %v", m.ID, m.Error != nil))
		if m.ID == 2.0 && !bytes.Contains(line, []byte("|two")) {
			t.Errorf("the read did not see the edit before it: %s", line)
		}
	}
	for _, want := range []string{"hello false", "1 false", "2 false", "3 false", "<nil> true"} {
		if !strings.Contains(strings.Join(got, "\n")+"\n", want+"\n") {
			t.Errorf("no answer %s in %q", want, got)
		}
	}
}

// testCancelled cancels calls at work. They are not answered, they end, so that others get their places, and
// an edit that waited writes nothing.
func testCancelled(t *testing.T, s *editingServer) {
	e := s.start(t, true)
	cancel := func(id int) {
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	unlock := e.lock()
	e.send(edits("0"))
	const places = 16 // of calls
	for i := 1; i < places; i++ {
		e.send(searches(fmt.Sprint(i)))
	}
	time.Sleep(200 * time.Millisecond)
	for i := range places {
		cancel(i)
	}
	// Another call gets a place. It would not be taken up before the edit has ended, nor before a search has.
	e.send(toolCall(`"after"`, "read_text_file", `{"path":"f"}`))
	for got := e.next(); !strings.Contains(got, `"after"`); got = e.next() {
		if !strings.Contains(got, "hits in") { // of a search that was faster
			t.Fatal(got)
		}
	}
	unlock()
	time.Sleep(200 * time.Millisecond)
	e.untouched()

	// A large answer comes whole or not at all.
	e.send(readsLarge("100"))
	time.Sleep(50 * time.Millisecond)
	cancel(100)
	e.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	for got := e.next(); !strings.Contains(got, `"ping"`); got = e.next() {
	}

	e.send(edits("0")) // the id is free again
	if got := e.next(); strings.Contains(got, "isError") || !strings.Contains(got, `"id":0,`) {
		t.Error(got)
	}
	e.in.Close()
	e.ends(0)
	if data, _ := os.ReadFile(filepath.Join(e.dir, "f")); string(data) != "two\n" {
		t.Errorf("f holds %q", data)
	}
}
