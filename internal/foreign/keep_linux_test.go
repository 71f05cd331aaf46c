package foreign

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKeeper: when this process is killed, so is all that descends from a server with a keeper,
// in whatever session or group it is.
func TestKeeper(t *testing.T) {
	for name, daemon := range daemons {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "DESCEND_TEST=kept", "DESCEND_SCRIPT="+daemon, "F="+file)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
				t.Fatalf("%q, %v", line, err)
			}
			pids := numbers(t, file, 1)
			c.Process.Kill()
			c.Wait()
			for wait := 0; ; wait++ {
				left := ""
				for _, pid := range pids {
					if alive(pid) {
						left += fmt.Sprint(" ", pid)
					}
				}
				if left == "" {
					return
				}
				if wait == 100 {
					t.Fatalf("left%s", left)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}

// kept starts a shell with a keeper, and gives what it writes.
func kept(t *testing.T, script string) (p *os.Process, f *Family, out *os.File) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Open(sh)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	t.Cleanup(func() { out.Close() })
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, f, err = StartFile(exe, []string{"a b", "-c", script},
		&os.ProcAttr{Dir: "/", Env: []string{"A=b c", "PATH=" + os.Getenv("PATH")}, Files: []*os.File{null, in, in}})
	if err != nil {
		t.Fatal(err)
	}
	return p, f, out
}

// TestKeeperIsTransparent: a server with a keeper has the same arguments, variables, directory
// and files, is sent the same signals, and ends as it would without.
func TestKeeperIsTransparent(t *testing.T) {
	const list = `set -- /proc/$$/fd/*; for f; do echo "${f##*/}"; done` // in the shell itself: a pipe's ends come and go
	own, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range own { // what who runs the tests left open would count, and a keeper has others in its place
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	var inherited []byte
	for range 5 { // some are open for a moment
		out, err := exec.Command("sh", "-c", list).Output()
		if err != nil {
			t.Fatal(err)
		}
		if inherited == nil || len(out) < len(inherited) {
			inherited = out
		}
	}
	for script, want := range map[string]string{
		`echo "$0 $A $PWD"; ` + list: "exit status 0: a b b c /\n" + string(inherited),
		`exit 7`:                     "exit status 7: ",
		`kill -TERM $$`:              "signal: terminated: ",
		`kill -SEGV $$`:              "signal: segmentation fault: ",
		`kill -QUIT $$`:              "signal: quit: ",
		`kill -KILL $$`:              "signal: killed: ",
		`trap 'echo t; exit 3' TERM; echo begun; sleep 600 & wait`: "exit status 3: begun\nt\n",
	} {
		p, f, out := kept(t, script)
		said := ""
		if strings.HasPrefix(script, "trap") {
			begun := make([]byte, len("begun\n"))
			if _, err := io.ReadFull(out, begun); err != nil {
				t.Error(err)
			}
			said = string(begun)
			f.Signal(syscall.SIGTERM)
		}
		state := ""
		err := f.Wait(func() error {
			s, err := p.Wait()
			if err == nil {
				state = strings.TrimSuffix(s.String(), " (core dumped)")
			}
			return err
		})
		rest, _ := io.ReadAll(out)
		if got := state + ": " + said + string(rest); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", script, got, err, want)
		}
	}
	p, f, out := kept(t, `echo; exec >/dev/null 2>&1; sleep 600`)
	if said, err := io.ReadAll(out); err != nil || string(said) != "\n" { // while it runs on
		t.Errorf("%q, %v", said, err)
	}
	f.Kill()
	if err := f.Wait(func() error { _, err := p.Wait(); return err }); err != nil {
		t.Error(err)
	}
	no, err := os.Open("keep_linux_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer no.Close()
	if _, _, err := StartFile(no, []string{"x"}, &os.ProcAttr{Files: []*os.File{no, no, no}}); err == nil ||
		!strings.Contains(err.Error(), "permission denied") {
		t.Errorf("started what is no program: %v", err)
	}
}
