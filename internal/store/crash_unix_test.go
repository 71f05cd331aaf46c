//go:build unix

package store

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/policy"
)

func TestMain(m *testing.M) {
	var err error
	root := os.Getenv("STORE_TEST_ROOT")
	switch os.Getenv("STORE_TEST_HELPER") {
	case "":
		memory.Leave()
		os.Exit(m.Run())
	case "put":
		err = putOnce(root, crowd())
	case "put forever":
		files := crowd()
		fmt.Println("begin")
		for err == nil {
			files["other"] = rand.Text()
			err = putOnce(root, files)
		}
	case "stage":
		var s *Store
		if s, err = Open(root, testLog); err == nil {
			var st *Staging
			if st, err = s.Stage(); err == nil {
				fmt.Println(st.Dir())
				time.Sleep(time.Minute)
			}
		}
	case "cycle":
		err = cycle(root)
	case "audit":
		err = auditOnce(root, os.Getenv("STORE_TEST_DIGEST"))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// crowd is the tree that helpers put.
func crowd() map[string]string {
	files := map[string]string{}
	for i := range 120 {
		files[fmt.Sprintf("lib/%d/f%d.js", i%7, i)] = strings.Repeat(fmt.Sprint(i), 500)
	}
	return files
}

func putOnce(root string, files map[string]string) error {
	s, err := Open(root, testLog)
	if err != nil {
		return err
	}
	st, err := s.Stage()
	if err != nil {
		return err
	}
	defer st.Discard()
	for name, content := range files {
		path := filepath.Join(st.Dir(), name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	ctx := background
	o, err := st.Measure(ctx)
	if err != nil {
		return err
	}
	v := policy.Judge(policy.Pin, policy.Settings{}, evidence.Report{evidence.Compare(
		evidence.Claim{Subject: subject, Scheme: evidence.Tree, Authority: evidence.Lock}, o)})
	slot, err := s.Put(ctx, v.Admitted(), subject, st, subject)
	if err != nil {
		return err
	}
	got, report, err := s.Audit(ctx, subject, o.SHA256())
	if err != nil && !errors.Is(err, ErrNotStored) || err == nil && got == nil {
		return fmt.Errorf("audit after put: %v %w", report, err)
	}
	fmt.Println(slot.Digest)
	return nil
}

func auditOnce(root, want string) error {
	s, err := Open(root, testLog)
	if err != nil {
		return err
	}
	d, err := digest.Parse(want)
	if err != nil {
		return err
	}
	slot, report, err := s.Audit(background, subject, d)
	if err != nil {
		return err
	}
	for _, e := range report {
		fmt.Printf("%s|%s|%s\n", e.Title(), e.Outcome, e.Cause)
	}
	fmt.Println(slot != nil, policy.Judge(policy.Launch, policy.Settings{}, report).Class())
	return nil
}

// cycle puts, damages, moves away, puts again and removes a slot.
func cycle(root string) error {
	s, err := Open(root, testLog)
	if err != nil {
		return err
	}
	if err := putOnce(root, crowd()); err != nil {
		return err
	}
	checked, err := s.Verify(background)
	if err != nil || len(checked) != 1 {
		return fmt.Errorf("verify: %d slots, %w", len(checked), err)
	}
	d := checked[0].Report[0].Observed.SHA256()
	file := filepath.Join(root, checked[0].Name, contentDir, "lib/0/f0.js")
	if err := os.WriteFile(file, nil, 0o600); !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("a file of a slot is writable: %v", err)
	}
	os.Chmod(file, 0o600)
	os.WriteFile(file, nil, 0o600)
	if path, err := s.Quarantine(background, d, "damaged"); err != nil || path == "" {
		return fmt.Errorf("quarantine: %q %w", path, err)
	}
	if err := putOnce(root, crowd()); err != nil {
		return err
	}
	gone, err := s.Prune(background, time.Now().Add(time.Hour), func(digest.Digest) bool { return false })
	if err != nil || len(gone) != 1 {
		return fmt.Errorf("prune: %d, %w", len(gone), err)
	}
	st, err := s.Stage()
	if err != nil {
		return err
	}
	os.MkdirAll(filepath.Join(st.Dir(), "read", "only"), 0o700)
	os.Chmod(filepath.Join(st.Dir(), "read"), 0o500)
	return st.Discard()
}

func helper(t testing.TB, kind, root string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "STORE_TEST_HELPER="+kind, "STORE_TEST_ROOT="+root)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// 32 processes put the same tree: all succeed and one slot is there, also if a bad one
// was there before.
func TestManyProcesses(t *testing.T) {
	quiet(t)
	for _, before := range []string{"nothing", "a good slot", "a bad slot"} {
		t.Run(before, func(t *testing.T) {
			s := newStore(t)
			if before != "nothing" {
				slot := put(t, s, crowd())
				if before == "a bad slot" {
					os.WriteFile(tamper(t, slot)+"/content/lib/0/f0.js", nil, 0)
				}
			}
			var cmds []*exec.Cmd
			var outs []*strings.Builder
			for range 32 {
				cmd := helper(t, "put", s.Path())
				out := &strings.Builder{}
				cmd.Stdout, cmd.Stderr = out, nil
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				cmds, outs = append(cmds, cmd), append(outs, out)
			}
			for i, cmd := range cmds {
				if err := cmd.Wait(); err != nil || outs[i].String() != outs[0].String() {
					t.Errorf("%v: %s", err, outs[i])
				}
			}
			checked, err := s.Verify(t.Context())
			if err != nil || len(checked) != 1 || checked[0].Report.Count(evidence.Match) != len(checked[0].Report) {
				t.Errorf("%+v %v", checked, err)
			}
			empty(t, filepath.Join(s.Path(), "staging"))
			left, _ := os.ReadDir(filepath.Join(s.Path(), "quarantine"))
			if want := map[string]int{"a bad slot": 1}[before]; len(left) != want {
				t.Errorf("%d in quarantine, want %d", len(left), want)
			}
		})
	}
}

// A process that is killed while it puts leaves no half slot, and what it staged is
// swept by the next one.
func TestKilledPut(t *testing.T) {
	s := newStore(t)
	rounds, stagings := 40, 0
	if testing.Short() {
		rounds = 8
	}
	for range rounds {
		cmd := helper(t, "put forever", s.Path())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for range 1 + mathrand.IntN(2) { // at work, or one slot put
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(mathrand.N(30 * time.Millisecond))
		cmd.Process.Kill()
		cmd.Wait()
		entries, _ := os.ReadDir(filepath.Join(s.Path(), "staging"))
		stagings += len(entries)
	}
	checked, err := s.Verify(t.Context())
	if err != nil || len(checked) == 0 {
		t.Fatal(len(checked), err)
	}
	for _, c := range checked {
		if c.Report.Count(evidence.Match) != len(c.Report) {
			t.Errorf("%s: %+v", c.Name, c.Report)
		}
	}
	slots := len(checked)
	t.Logf("after %d kills: %d slots, %d entries of stagings", rounds, slots, stagings)
	st, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	st.Discard()
	empty(t, filepath.Join(s.Path(), "staging"))
}

// Stagings of living processes are left alone, those of dead ones are removed.
func TestSweep(t *testing.T) {
	s := newStore(t)
	cmd := helper(t, "stage", s.Path())
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.TrimSpace(line)
	fill(t, theirs, sample)
	os.Chmod(filepath.Join(theirs, "lib"), 0o555)
	old := time.Now().Add(-1000 * time.Hour)
	os.Chtimes(theirs, old, old)
	ours, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(theirs, "lib", "index.js")); err != nil {
		t.Error("the staging of a living process was swept:", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	os.Mkdir(filepath.Join(s.Path(), "staging", "nobody"), 0o700)
	other, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(theirs)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the staging of a dead process is still there:", err)
	}
	if _, err := os.Stat(ours.Dir()); err != nil {
		t.Error("our own staging was swept:", err)
	}
	if entries, _ := os.ReadDir(filepath.Join(s.Path(), "staging")); len(entries) != 4 {
		t.Error(entries)
	}
	ours.Discard()
	other.Discard()
	if err := ours.Discard(); err != nil {
		t.Error("discarded twice:", err)
	}
	empty(t, filepath.Join(s.Path(), "staging"))
}

// asNobody runs a helper as a user whom permissions bind.
func asNobody(t *testing.T, s *Store, kind string, env ...string) string {
	t.Helper()
	cmd := helper(t, kind, s.Path(), env...)
	if os.Getuid() == 0 {
		dir, err := os.MkdirTemp("", "store-audit")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		data, err := os.ReadFile(cmd.Path)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path = filepath.Join(dir, "audit")
		if err := os.WriteFile(cmd.Path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		os.Chmod(dir, 0o755)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = dir
		filepath.WalkDir(filepath.Dir(filepath.Dir(filepath.Dir(s.root))),
			func(path string, _ fs.DirEntry, _ error) error {
				return os.Lchown(path, 65534, 65534)
			})
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		want []string
	}{
		"file": {"content/lib/index.js",
			[]string{subject + `: tree cannot be verified: unreadable|unverifiable|unreadable`,
				subject + ": lib/index.js: sha256 cannot be verified: unreadable|unverifiable|unreadable",
				"false operation"}},
		"directory": {"content/lib/deep",
			[]string{subject + ": tree cannot be verified: unreadable", "false operation"}},
		"sidecar": {"sidecar.json", []string{subject + ": tree cannot be verified: unreadable", "false operation"}},
		"slot":    {".", []string{subject + ": tree cannot be verified: unreadable", "false operation"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			slot := put(t, s, sample)
			path := filepath.Join(filepath.Dir(slot.Dir()), c.path)
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
			out := asNobody(t, s, "audit", "STORE_TEST_DIGEST="+slot.Digest.String())
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("got  %s\nwant %s", out, want)
				}
			}
		})
	}
}

// All of it works for a user whom permissions bind: read-only directories are moved
// and removed.
func TestAsUser(t *testing.T) {
	s := newStore(t)
	slot := put(t, s, sample)
	if out := asNobody(t, s, "audit", "STORE_TEST_DIGEST="+slot.Digest.String()); !strings.HasSuffix(out, "true ok\n") {
		t.Error(out)
	}
	fresh := newStore(t)
	os.MkdirAll(fresh.Path(), 0o700)
	asNobody(t, fresh, "cycle")
	empty(t, filepath.Join(fresh.Path(), "staging"))
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "size=256k")
	s, err := Open(filepath.Join(dir, "store"), testLog)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Stage()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, st.Dir(), map[string]string{"a": "a", "b": "b"})
	o, err := st.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ballast, _ := os.Create(filepath.Join(dir, "ballast"))
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	ballast.Close()
	if _, err := s.Put(t.Context(), admit(t, o.SHA256()), subject, st, subject); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	empty(t, filepath.Join(s.Path(), "staging"))
	os.Remove(filepath.Join(dir, "ballast"))
	put(t, s, sample)

	remountReadOnly(t, dir)
	if _, err := s.Stage(); !errors.Is(err, syscall.EROFS) {
		t.Errorf("read-only: %v", err)
	}
	slot, _, err := s.Audit(t.Context(), subject, o.SHA256())
	if slot != nil || !errors.Is(err, ErrNotStored) {
		t.Error(err)
	}
}

func TestLockedSlot(t *testing.T) {
	s := newStore(t)
	slot := put(t, s, sample)
	unlock, err := durable.TryLock(filepath.Join(s.Path(), "locks", slot.Digest.Hex()[:2]), "the test")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := withTimeout(30 * time.Millisecond)
	defer cancel()
	if _, err := s.Quarantine(ctx, slot.Digest, "x"); !errors.Is(err, durable.ErrLocked) {
		t.Error(err)
	}
}
