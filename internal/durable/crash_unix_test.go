//go:build unix

package durable

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
)

func TestMain(m *testing.M) {
	switch os.Getenv("DURABLE_TEST_HELPER") {
	case "replace":
		replaceForever(os.Getenv("DURABLE_TEST_DIR"))
	case "limit":
		replaceLimited(os.Getenv("DURABLE_TEST_DIR"))
	case "lock":
		holdLock(os.Getenv("DURABLE_TEST_DIR"))
	default:
		memory.Leave()
		os.Exit(m.Run())
	}
}

func helper(t *testing.T, kind, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "DURABLE_TEST_HELPER="+kind, "DURABLE_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

const setSize = 5

// set is generation n of the files: each holds n many times over, and one of them
// exists in even generations only.
func set(dir string, n int) []File {
	var out []File
	for i := range setSize {
		f := File{Path: filepath.Join(dir, fmt.Sprintf("d%d", i%2), fmt.Sprintf("f%d", i))}
		if i == setSize-1 && n%2 == 1 {
			f.Remove = true
		} else {
			f.Data = []byte(strings.Repeat(fmt.Sprintf("%d\n", n), 1000*(i+1)))
		}
		out = append(out, f)
	}
	return out
}

func replaceForever(dir string) {
	journal := filepath.Join(dir, "journal")
	if _, err := Recover(journal); err != nil {
		fmt.Println("recover:", err)
		os.Exit(1)
	}
	n := 0
	data, _ := os.ReadFile(filepath.Join(dir, "d0", "f0"))
	fmt.Sscanf(string(data), "%d", &n)
	for {
		n++
		if err := Replace(journal, set(dir, n)); err != nil {
			fmt.Println("replace:", err)
			os.Exit(1)
		}
		fmt.Println(n) // acknowledged
	}
}

// A process that is killed at any moment leaves the set of one generation, never an
// older one than it had acknowledged, and nothing else.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"d0", "d1"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	rounds, recovered := 60, 0
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		cmd := helper(t, "replace", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		acknowledged := 0
		timer := time.AfterFunc(hang.Long, func() { cmd.Process.Kill() })
		for lines.Scan() { // one line at least, so that it is at work
			if _, err := fmt.Sscanf(lines.Text(), "%d", &acknowledged); err != nil {
				t.Fatal(lines.Text())
			}
			if timer.Stop() {
				time.AfterFunc(rand.N(8*time.Millisecond), func() { cmd.Process.Kill() })
			}
		}
		cmd.Wait()
		done, err := Recover(filepath.Join(dir, "journal"))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if done {
			recovered++
		}
		var n int
		fmt.Sscanf(content(t, filepath.Join(dir, "d0", "f0")), "%d", &n)
		if n < acknowledged || n > acknowledged+1 {
			t.Fatalf("round %d: generation %d, and %d was acknowledged", round, n, acknowledged)
		}
		for _, f := range set(dir, n) {
			want := string(f.Data)
			if f.Remove {
				want = "(none)"
			}
			if got := content(t, f.Path); got != want {
				t.Fatalf("round %d: %s is not of generation %d: %d bytes, %.12q…", round, f.Path, n, len(got), got)
			}
		}
		for _, d := range []string{"", "d0", "d1"} {
			for _, name := range names(t, filepath.Join(dir, d)) {
				if strings.Contains(name, ".tmp") || name == "journal" {
					t.Fatalf("round %d: left behind: %s", round, name)
				}
			}
		}
	}
	t.Logf("%d of %d kills left a journal to finish", recovered, rounds)
}

// replaceLimited meets the end of the disk: files may have 100,000 bytes.
func replaceLimited(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 100_000, Max: 100_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(WriteFile(filepath.Join(dir, "a"), make([]byte, 100_001), 0o644))
	fmt.Println(Replace(filepath.Join(dir, "journal"),
		[]File{{Path: filepath.Join(dir, "a"), Data: make([]byte, 90_000)}}))
	os.Exit(0)
}

func TestFileTooLarge(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o644)
	out, err := helper(t, "limit", dir).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0], "write "+dir) ||
		!strings.Contains(lines[1], "journal "+dir) {
		t.Fatalf("%s %v", out, err)
	}
	if left := names(t, dir); content(t, filepath.Join(dir, "a")) != "old" || len(left) != 1 {
		t.Error(left)
	}
}

// TestDiskFull needs root, for a file system of 64 KiB.
func TestDiskFull(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	mount(t, dir, "size=64k")
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := WriteFile(a, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(a, make([]byte, 200_000), 0o644); !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), a) {
		t.Error(err)
	}
	files := []File{{Path: a, Data: []byte("new")}, {Path: b, Data: make([]byte, 200_000)}}
	for _, journal := range []string{filepath.Join(dir, "journal"), filepath.Join(state, "journal")} {
		if err := Replace(journal, files); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrUnfinished) {
			t.Error(err)
		}
		if left := append(names(t, dir), names(t, state)...); content(t, a) != "old" || len(left) != 1 {
			t.Errorf("%q %v", content(t, a), left)
		}
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	a := filepath.Join(dir, "a")
	os.WriteFile(a, []byte("old"), 0o644)
	if os.Getuid() == 0 { // permissions do not bind root; a read-only file system does
		mount(t, dir, "size=64k")
		os.WriteFile(a, []byte("old"), 0o644)
		remountReadOnly(t, dir)
	} else {
		os.Chmod(dir, 0o500)
		defer os.Chmod(dir, 0o700)
	}
	if err := WriteFile(a, []byte("new"), 0o644); err == nil || !strings.Contains(err.Error(), "write "+a) {
		t.Error(err)
	}
	if err := Replace(filepath.Join(state, "journal"), []File{{Path: a, Data: []byte("new")}}); err == nil ||
		errors.Is(err, ErrUnfinished) {
		t.Error(err)
	}
	if left := append(names(t, dir), names(t, state)...); content(t, a) != "old" || len(left) != 1 {
		t.Errorf("%q %v", content(t, a), left)
	}
}

func holdLock(dir string) {
	if _, err := TryLock(filepath.Join(dir, "lock"), "the test"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	time.Sleep(time.Minute)
}

// A lock ends with its process, however that ends.
func TestLockOfDeadProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := helper(t, "lock", dir)
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	path := filepath.Join(dir, "lock")
	if _, err := TryLock(path, "the test"); !errors.Is(err, ErrLocked) ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d", cmd.Process.Pid)) {
		t.Error(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	unlock, err := Lock(t.Context(), path, "the test")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
