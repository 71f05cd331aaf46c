package guard

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// TestClientLeaves: whatever the server does, the relay is over after its client has left, and no process of the
// server runs on.
func TestClientLeaves(t *testing.T) {
	deafShell := `trap '' TERM HUP INT; sh -c 'trap "" TERM HUP INT; sleep 600;` +
		` sleep 600' & setsid sh -c 'trap "" TERM; echo $$ >$PIDS; sleep 601; sleep 601' & while true; do sleep 1; done`
	flood := strings.Repeat(`{"jsonrpc":"2.0","method":"x"}`+"\n", 10000) // more than pipes hold
	session := hello + "\n" + initialized + "\n" + callTool("1", "add") + "\n"
	listingHangs := base(addTool).Set("tools/list", []string{"!sleep 600"})
	for name, x := range map[string]struct {
		start func(t *testing.T) *process.Process
		send  string
		leave func(in, out *os.File)
	}{
		"listing unanswered": {func(t *testing.T) *process.Process {
			p,
				_ := startPeer(t, listingHangs, nil)
			return p
		},
			session, func(in, out *os.File) { in.Close() }},
		"takes nothing": {func(t *testing.T) *process.Process { p, _ := startPeer(t, listingHangs, nil); return p },
			session,
			func(in, out *os.File) {
				out.Close()
			}},
		"dies": {func(t *testing.T) *process.Process { p, _ := startPeer(t, listingHangs, nil); return p }, session,
			func(in, out *os.File) {
				in.Close()
				out.Close()
			}},
		"server is deaf": {func(t *testing.T) *process.Process { return startSelf(t, "deaf") }, flood,
			func(in, out *os.File) { in.Close() }},
		"server is deaf, output closed": {func(t *testing.T) *process.Process { return startSelf(t, "deaf") }, flood,
			func(in, out *os.File) { out.Close() }},
		"server talks and nobody reads": {func(t *testing.T) *process.Process {
			return startShell(t, "trap '' TERM; yes '{\"jsonrpc\":\"2.0\",\"method\":\"x\"}'")
		}, "", func(in, out *os.File) { in.Close() }},
		"server and what it left are deaf": {func(t *testing.T) *process.Process { return startShell(t, deafShell) },
			session, func(in, out *os.File) { in.Close() }},
		"server that goes leaves a daemon": {func(t *testing.T) *process.Process {
			return startShell(t, "setsid sh -c 'trap \"\" TERM; echo $$ >$PIDS; sleep 601; sleep 601' & cat >/dev/null")
		}, session, func(in, out *os.File) { in.Close() }},
		"remote server gives no answer yet": {func(t *testing.T) *process.Process { return silentRemote(t) }, session,
			func(in, out *os.File) { in.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PIDS", filepath.Join(t.TempDir(), "pids"))
			p := x.start(t)
			inR, inW, _ := os.Pipe()
			outR, outW, _ := os.Pipe()
			t.Cleanup(func() {
				for _, f := range []*os.File{inR, inW, outR, outW} {
					f.Close()
				}
			})
			done := make(chan struct{})
			go func() {
				Relay(t.Context(), inR, outW, p, Options{Approved: approve(t, "tool", addTool),
					answers: 200 * time.Millisecond, grace: 200 * time.Millisecond, term: 200 * time.Millisecond})
				close(done)
			}()
			go io.WriteString(inW, x.send)
			time.Sleep(300 * time.Millisecond)
			x.leave(inW, outR)
			hang.Ends(t, "the relay", func() { <-done })
			if data, err := os.ReadFile(os.Getenv("PIDS")); err == nil {
				pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
				if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// TestSignalled: a server that ignores the signal that ends the guard is killed after its time.
func TestSignalled(t *testing.T) {
	p := startShell(t, `trap '' TERM HUP INT QUIT; while true; do sleep 1; done`)
	c := relayTo(t, p, Options{})
	time.Sleep(200 * time.Millisecond)
	signalSelf(t)
	c.wait()
}

// startShell starts a shell as a server.
func startShell(t *testing.T, script string) *process.Process {
	t.Helper()
	sh := image(t, "/bin/sh")
	adm, subjects := admit(t, sh)
	p, err := process.Exec(t.Context(), adm, subjects,
		process.Command{Exe: sh, Args: []string{"sh", "-c", script}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.Exited():
		default:
			p.Kill()
		}
	})
	return p
}

// signalSelf sends SIGTERM to the test.
func signalSelf(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// silentRemote takes requests and answers none.
func silentRemote(t *testing.T) *process.Process {
	t.Helper()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hang }))
	t.Cleanup(func() {
		close(hang)
		server.CloseClientConnections()
		server.Close()
	})
	return dial(t, server.URL, nil)
}
