package foreign

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
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

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// The test binary is the program that starts others, where what happens depends on what
// it was given or how it ends.
func TestMain(m *testing.M) {
	EnableKeepers()
	switch os.Getenv("DESCEND_TEST") {
	case "given": // has a child with a session of its own before the first family
		other := exec.Command("sleep", "60")
		other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := other.Start(); err != nil {
			panic(err)
		}
		err := runFamily(context.Background(), exec.Command("sh", "-c", "setsid sleep 601 & exit 0"))
		EndAll()
		fmt.Println(other.Process.Pid, err, alive(other.Process.Pid))
		other.Process.Kill()
		os.Exit(0)
	case "killed": // starts one, says its number and waits to be killed
		c := exec.Command("sleep", "60")
		if _, err := Start(c); err != nil {
			panic(err)
		}
		fmt.Println(c.Process.Pid)
		time.Sleep(time.Minute)
	case "kept": // starts one with a keeper, says that it has begun, and waits to be killed
		sh, err := exec.LookPath("sh")
		if err != nil {
			panic(err)
		}
		exe, err := os.Open(sh)
		if err != nil {
			panic(err)
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		argv := []string{"sh", "-c", os.Getenv("DESCEND_SCRIPT") + "\nsleep 600; sleep 600"}
		if _, _, err := StartFile(exe, argv,
			&os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, null, null}}); err != nil {
			panic(err)
		}
		fmt.Println("begun")
		time.Sleep(time.Minute)
	case "exits": // starts daemons, says their numbers and ends
		c := exec.Command("sh", "-c", os.Getenv("DESCEND_SCRIPT"))
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if _, err := Start(c); err != nil {
			panic(err)
		}
		for text := []byte(nil); !bytes.HasSuffix(text, []byte("\n")); time.Sleep(time.Millisecond) {
			text, _ = os.ReadFile(os.Getenv("F"))
		}
		EndAll()
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// alive reports whether a process runs.
func alive(pid int) bool {
	p, ok := readProcess(pid)
	return ok && !p.zombie
}

// numbers waits until n processes have written their numbers into the file.
func numbers(t *testing.T, file string, n int) (pids []int) {
	t.Helper()
	for end := time.Now().Add(hang.Long); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		data, _ := os.ReadFile(file)
		if pids = nil; strings.HasSuffix(string(data), "\n") {
			for _, word := range strings.Fields(string(data)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
		}
		if len(pids) >= n {
			return pids
		}
	}
	t.Fatalf("%d of %d processes began", len(pids), n)
	return nil
}

// daemons are shell commands that leave one process each, which writes its number to $F.
var daemons = map[string]string{
	"a child":                 `sh -c 'echo $$ >>$F; exec sleep 600' &`,
	"a child deaf to signals": `sh -c 'trap "" TERM HUP INT; echo $$ >>$F; sleep 600; sleep 600' &`,
	"a group":                 `sh -m -c 'sh -c "echo \$\$ >>$F; exec sleep 600" &'`,
	"a session":               `setsid sh -c 'echo $$ >>$F; exec sleep 600' &`,
	"a daemon": `setsid sh -c ` +
		`'setsid sh -c "trap \"\" TERM HUP; echo \$\$ >>$F; sleep 600; sleep 600" & exit 0'`,
	"a daemon with children": `setsid sh -c 'setsid sh -c "echo \$\$ >>$F; setsid sleep 602; setsid sleep 603" & exit 0'`,
}

// TestNothingIsLeft: whatever way a program leaves something behind, it has ended when
// Wait returns, and no child is left to be reaped.
func TestNothingIsLeft(t *testing.T) {
	for name, script := range daemons {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pids")
			c := exec.Command("sh", "-c", script+"\nwhile ! test -s $F; do sleep 0.01; done; exit 7")
			c.Env = append(os.Environ(), "F="+file)
			began := time.Now()
			err := runFamily(t.Context(), c)
			var code *exec.ExitError
			if !errors.As(err, &code) || code.ExitCode() != 7 {
				t.Errorf("%v", err)
			}
			for _, pid := range numbers(t, file, 1) {
				if alive(pid) {
					t.Errorf("process %d is left after %v", pid, time.Since(began))
				}
			}
			if !hasNoChildren() {
				t.Error("this process has children")
			}
		})
	}
}

// TestEnds: End ends all, also what runs.
func TestEnds(t *testing.T) {
	for name, script := range daemons {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "DESCEND_TEST=exits", "F="+file,
				"DESCEND_SCRIPT="+script+"\ntrap '' TERM INT HUP; while true; do sleep 1; done")
			if err := c.Run(); err == nil || c.ProcessState.ExitCode() != 3 {
				t.Fatal(err)
			}
			for _, pid := range numbers(t, file, 1) {
				if alive(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// TestKill: a family that is killed gets no time.
func TestKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	var script string
	for _, s := range daemons {
		script += s + "\n"
	}
	c := exec.Command("sh", "-c", script+"trap 'echo >$F.told' TERM\nwhile true; do sleep 0.1; done")
	c.Env = append(os.Environ(), "F="+file)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no more")
	done := make(chan error)
	go func() { done <- runFamily(ctx, c) }()
	pids := numbers(t, file, len(daemons))
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(file + ".told"); err == nil {
		t.Error("it was asked to end, and had time to")
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// TestOthers: what another family runs, or this process itself, is not touched, and
// what cannot be told to a family ends with the last.
func TestOthers(t *testing.T) {
	mine := exec.Command("sleep", "60") // in this session
	if err := mine.Start(); err != nil {
		t.Fatal(err)
	}
	defer mine.Wait()
	defer mine.Process.Kill()
	file := filepath.Join(t.TempDir(), "pids")
	long := exec.Command("sh", "-c", daemons["a daemon"]+"\n"+daemons["a session"]+"\nread end")
	long.Env = append(os.Environ(), "F="+file)
	input, err := long.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Start(long)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- f.Wait(long.Wait) }()
	pids := numbers(t, file, 2)
	for range 3 {
		if err := runFamily(t.Context(), exec.Command("sh", "-c", "setsid sleep 0.3 & sleep 0.01")); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("process %d of a family that runs was ended", pid)
		}
	}
	input.Close()
	<-done
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if !alive(mine.Process.Pid) {
		t.Error("a child that is no family was ended")
	}
}

// TestGiven: what was there before the first family is not touched.
func TestGiven(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "DESCEND_TEST=given")
	out, err := c.Output()
	if err != nil || !strings.HasSuffix(string(out), " <nil> true\n") {
		t.Errorf("%q, %v", out, err)
	}
}

// TestKilled: when this process is killed, the first process of a family is.
func TestKilled(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "DESCEND_TEST=killed")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	c.Process.Kill()
	c.Wait()
	hang.Until(t, "what is left ends", func() bool { return !alive(pid) })
}

// TestStatuses: exit statuses are not taken from those who wait for them, and what was
// adopted is reaped while a family runs.
func TestStatuses(t *testing.T) {
	long := exec.Command("sh", "-c",
		`for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'setsid sleep 0.05 & exit 0'; done; read end`)
	input, err := long.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Start(long)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 10 {
				c := exec.Command("sh", "-c", fmt.Sprintf("exit %d", i+n))
				run := func() error { return runFamily(context.Background(), c) }
				if n%2 == 0 {
					run = c.Run
				}
				if err := run(); c.ProcessState == nil || c.ProcessState.ExitCode() != i+n {
					t.Errorf("want code %d: %v, %v", i+n, err, c.ProcessState)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	group.Wait()
	hang.Until(t, "no children are left to be reaped", func() bool {
		left := 0
		for _, tree := range descendants(os.Getpid(), listProcesses()) {
			if tree[0].pid != long.Process.Pid {
				left++
			}
		}
		return left == 0
	})
	input.Close()
	f.Wait(long.Wait)
}

// TestNoTerminal: a family has a session of its own, and no terminal in it.
func TestNoTerminal(t *testing.T) {
	out := &strings.Builder{}
	c := exec.Command("sh", "-c", "(: </dev/tty) 2>&1; ps -o sid= -p $$ 2>/dev/null || awk '{print $6}' /proc/$$/stat")
	c.Stdout = out
	if err := runFamily(t.Context(), c); err != nil {
		t.Fatal(err, out)
	}
	own, _ := unix.Getsid(0)
	words := strings.Fields(out.String())
	if !strings.Contains(out.String(), "/dev/tty") || words[len(words)-1] != strconv.Itoa(c.Process.Pid) ||
		own == c.Process.Pid {
		t.Errorf("%q; this session is %d", out, own)
	}
}

// TestReused: a process is not taken for one that had its number before.
func TestReused(t *testing.T) {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	p, ok := readProcess(c.Process.Pid)
	if !ok {
		t.Fatal("not there")
	}
	p.parent, p.start = 1, p.start-1
	p.signal(syscall.SIGKILL)
	time.Sleep(50 * time.Millisecond)
	if !alive(c.Process.Pid) {
		t.Error("a younger process was ended")
	}
	p.start++
	p.signal(syscall.SIGKILL)
	time.Sleep(50 * time.Millisecond)
	if alive(c.Process.Pid) {
		t.Error("the process was not ended")
	}
}

// TestSignalAfterEnd: the number of a process that was waited for may be another's.
func TestSignalAfterEnd(t *testing.T) {
	c := exec.Command("true")
	f, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Wait(c.Wait); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "60") // a group: what a signal to f would hit
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	f.pid = other.Process.Pid
	f.Signal(syscall.SIGTERM)
	f.Kill()
	time.Sleep(50 * time.Millisecond)
	if !alive(other.Process.Pid) {
		t.Error("another process was killed")
	}
}
