package servers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// terminal is a pseudo-terminal whose other end keeps what was written.
type terminal struct {
	master, slave *os.File

	mu   sync.Mutex
	seen bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{master: os.NewFile(uintptr(fd), "ptmx")}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if x.slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := x.master.Read(part)
			x.mu.Lock()
			x.seen.Write(part[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		x.slave.Close()
		x.master.Close()
	})
	return x
}

func (x *terminal) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// owners are the processes that run and have text in their command line.
func owners(text string) (found []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, filepath.Base(filepath.Dir(name))+" "+strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return found
}

// TestProcesses ends pin, check --surface and run at random moments (18, or HALLMARK_PROCESSES),
// a third of them by SIGKILL, with a server that ignores signals, writes to its terminal, and
// leaves children, sessions and daemons: a second later nothing of it runs, and the terminal
// shows nothing of its but under its name.
func TestProcesses(t *testing.T) {
	moments := 18
	if n, err := strconv.Atoi(os.Getenv("HALLMARK_PROCESSES")); err == nil {
		moments = n
	}
	bin, dir := t.TempDir(), t.TempDir()
	for _, from := range []string{"cmd/hallmark", "e2e/puppet"} {
		built.Into(t, filepath.Join(bin, filepath.Base(from)), from)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(dir, "server")
	nap := filepath.Join(server, "nap") // sleep, under a name that tells whose it is
	if err := os.Mkdir(server, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sleep, nap); err != nil {
		t.Fatal(err)
	}
	start := strings.ReplaceAll(`
NAP 601 &
sh -c 'trap "" TERM INT HUP QUIT; NAP 602; NAP 602' &
setsid sh -c 'setsid sh -c "trap \"\" TERM HUP; NAP 603; NAP 603" & exit 0'
setsid NAP 604 &
sh -m -c 'NAP 605 &'
printf '\033[2Jraw to the terminal' >/dev/tty
printf '\033[2Jraw to stderr\nhallmark: all is verified\n' >&2
`, "NAP", nap)
	surface, err := json.Marshal(map[string]any{
		"tools/list": map[string]any{
			"tools": []any{map[string]any{"name": "hello", "inputSchema": map[string]any{"type": "object"}}}},
		"$start": start, "$deaf": filepath.Join(server, "hang"),
	})
	if err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(server, "surface"), string(surface))
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	world.Write(t, filepath.Join(project, "hallmark.toml"),
		fmt.Sprintf("manifest_version = 1\n[providers.mcp.deaf]\ncommand = %q\narguments = [%q]\n",
			filepath.Join(bin, "puppet"), filepath.Join(server, "surface")))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "hallmark"), args...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "HALLMARK_HOME="+filepath.Join(dir, "home"), "HOME="+dir)
		return cmd
	}
	pinned := time.Now()
	if out, err := command("pin", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("pinned in %v", time.Since(pinned).Round(time.Millisecond))
	if left := owners(server); len(left) > 0 {
		t.Fatalf("pin left %q", left)
	}
	world.Write(t, filepath.Join(server, "hang"), "")

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for i := range moments {
		args := [][]string{{"run", "deaf"}, {"pin", "--yes"}, {"check", "--surface"}}[i%3]
		moment := time.Duration(random.IntN(900)) * time.Millisecond
		screen := newTerminal(t)
		cmd := command(args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		var toServer, fromServer, in, out *os.File
		cmd.Stdin, cmd.Stdout, cmd.Stderr = screen.slave, screen.slave, screen.slave
		if args[0] == "run" {
			in, toServer, _ = os.Pipe()
			fromServer, out, _ = os.Pipe()
			// Its standard error passes through: what is seen is what goes to the terminal itself.
			note, err := os.Create(filepath.Join(dir, "stderr"))
			if err != nil {
				t.Fatal(err)
			}
			defer note.Close()
			cmd.ExtraFiles = []*os.File{screen.slave}
			cmd.SysProcAttr.Ctty = 3
			cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, note
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if args[0] == "run" {
			in.Close()
			out.Close()
			io.WriteString(toServer,
				`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
					`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n"+
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		}
		time.Sleep(moment)
		how := ""
		switch k := random.IntN(5); {
		case i/3%3 == 2: // nothing that the program does itself
			how = "kill -9"
			cmd.Process.Kill()
		case args[0] == "run" && k == 3:
			how = "input closed"
			toServer.Close()
		case args[0] == "run" && k == 4:
			how = "client killed"
			toServer.Close()
			fromServer.Close()
		default:
			s := signals[k%3]
			how = s.String()
			cmd.Process.Signal(s)
		}
		began := time.Now()
		// Its goroutines are printed when it is aborted, and say what it waits for.
		late := time.AfterFunc(hang.Long, func() { cmd.Process.Signal(syscall.SIGABRT) })
		last := time.AfterFunc(2*hang.Long, func() { cmd.Process.Kill() })
		cmd.Wait()
		last.Stop()
		if !late.Stop() {
			said, _ := os.ReadFile(filepath.Join(dir, "stderr"))
			t.Fatalf("%q, %s after %v: it does not end\n%s\n%s", args, how, moment, said, screen.String())
		}
		for _, end := range []*os.File{toServer, fromServer} {
			if end != nil {
				end.Close()
			}
		}
		t.Logf("%s, %s after %v: ended in %v", args[0], how, moment, time.Since(began).Round(time.Millisecond))
		hang.Until(t, fmt.Sprintf("%q, %s after %v: nothing is left", args, how, moment), func() bool {
			return len(owners(server)) == 0
		})
		for line := range strings.Lines(screen.String()) {
			if strings.Contains(line, "\x1b[2J") ||
				strings.Contains(line, "raw to") && !strings.HasPrefix(line, "  deaf says: ") ||
				strings.Contains(line, "hallmark: all is verified") && !strings.HasPrefix(line, "  deaf says: ") {
				t.Errorf("%q, %s after %v: the terminal shows %q", args, how, moment, line)
			}
		}
	}
}
