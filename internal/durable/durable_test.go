package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// names lists dir.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hallmark.lock")
	for i, perm := range []fs.FileMode{0o644, 0o600, 0o777, 0o400, 0o644} {
		want := strings.Repeat("x", i*1000)
		if err := WriteFile(path, []byte(want), perm); err != nil {
			t.Fatal(err)
		}
		info, _ := os.Stat(path)
		if content(t, path) != want || info.Mode() != perm {
			t.Errorf("%d: mode %v, want %v", i, info.Mode(), perm)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Error(got)
	}
	long := filepath.Join(dir, strings.Repeat("n", 250))
	if err := WriteFile(long, []byte("x"), 0o644); err != nil {
		t.Error(err)
	}
}

func TestWriteFileReplacesLink(t *testing.T) {
	dir := t.TempDir()
	victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, "link")
	os.WriteFile(victim, []byte("old"), 0o600)
	if err := os.Symlink(victim, link); err != nil {
		t.Skip(err)
	}
	if err := WriteFile(link, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Lstat(link)
	if content(t, victim) != "old" || content(t, link) != "new" || !info.Mode().IsRegular() {
		t.Error("the link was followed")
	}
}

func TestWriteFileErrors(t *testing.T) {
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "full", "x"), 0o700)
	for _, path := range []string{"full", "none/file"} {
		path = filepath.Join(dir, path)
		err := WriteFile(path, []byte("x"), 0o644)
		if err == nil || !strings.Contains(err.Error(), "write "+path) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"full"}) {
		t.Error("left behind:", got)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path, "the project")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path, "the project"); !errors.Is(err, ErrLocked) ||
		!strings.Contains(err.Error(), "lock of the project: "+path) ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("second: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path, "the project"); !errors.Is(err, ErrLocked) ||
		!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), path) {
		t.Errorf("timeout: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		u, err := Lock(t.Context(), path, "the project")
		if err == nil {
			defer u()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatal("locked twice:", err)
	case <-time.After(30 * time.Millisecond):
	}
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := Lock(t.Context(), filepath.Join(path, "below"), "x"); err == nil || errors.Is(err, ErrLocked) {
		t.Error(err)
	}
}

// A process that takes a lock which it had before writes nothing, and the note of another process, longer or shorter,
// gives way to its own.
func TestLockWritesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for _, before := range []string{"", "1\n", "12345678901234567\n", "not a note that anybody would write"} {
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			old := time.Unix(1_000_000_000, 0)
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			unlock, err := Lock(t.Context(), path, "x")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := TryLock(path, "x"); LockHolder(err) != os.Getpid() {
				t.Errorf("%q: %v", before, err)
			}
			if got := content(t, path); got != fmt.Sprintln(os.Getpid()) {
				t.Errorf("%q became %q", before, got)
			}
			unlock()
			if st, err := os.Stat(path); err != nil || round == 1 && !st.ModTime().Equal(old) {
				t.Errorf("%q: written again (%v)", before, err)
			}
		}
	}
}

// A lock file that is removed while somebody waits must not give two holders.
func TestLockFileRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	os.Remove(path)
	if sameFile(f, path) {
		t.Error("a removed file counts as the lock")
	}
	os.WriteFile(path, nil, 0o600)
	if sameFile(f, path) {
		t.Error("another file of the same name counts as the lock")
	}
}

func TestReplace(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	journal := filepath.Join(state, "journal")
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	kept := filepath.Join(dir, "kept")
	os.WriteFile(a, []byte("old a"), 0o644)
	os.WriteFile(c, []byte("old c"), 0o644)
	os.WriteFile(kept, []byte("old"), 0o600)
	files := []File{{Path: a, Data: []byte("new a"), Perm: 0o600}, {Path: b, Data: []byte("\x00\xff")},
		{Path: kept, Data: []byte("new")},
		{Path: c, Remove: true}, {Path: filepath.Join(dir, "never"), Remove: true}}
	if err := Replace(journal, files); err != nil {
		t.Fatal(err)
	}
	if content(t, a) != "new a" || content(t, b) != "\x00\xff" || content(t, c) != "(none)" {
		t.Error(content(t, a), content(t, b), content(t, c))
	}
	if info, _ := os.Stat(a); info.Mode() != 0o600 {
		t.Error(info.Mode())
	}
	if info, _ := os.Stat(b); info.Mode() != 0o644 {
		t.Error(info.Mode())
	}
	if info, _ := os.Stat(kept); info.Mode() != 0o600 || content(t, kept) != "new" {
		t.Error(info.Mode(), content(t, kept))
	}
	if left := append(names(t, state), names(t, dir)...); !slices.Equal(left, []string{"a", "b", "kept"}) {
		t.Error(left)
	}
	if done, err := Recover(journal); done || err != nil {
		t.Error(done, err)
	}
}

// A link that is replaced gives the mode of what it leads to, never its own, which is that of everybody.
func TestReplaceLink(t *testing.T) {
	dir := t.TempDir()
	link, real := filepath.Join(dir, "link"), filepath.Join(dir, "real")
	err := errors.Join(os.WriteFile(real, []byte("old"), 0o600), os.Symlink("real", link))
	if err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(t.TempDir(), "journal"), []File{{Path: link, Data: []byte("new")}}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode() != 0o600 || content(t, real) != "old" {
		t.Error(info, err, content(t, real))
	}
}

func TestReplaceRefuses(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "x")
	for name, files := range map[string][]File{
		"relative":          {{Path: "x"}},
		"not clean":         {{Path: p + "/../y"}},
		"twice":             {{Path: p}, {Path: p, Remove: true}},
		"removed and given": {{Path: p, Data: []byte("x"), Remove: true}},
		"more than perm":    {{Path: p, Perm: fs.ModeSetuid | 0o755}},
	} {
		if err := Replace(filepath.Join(dir, "journal"), files); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if left := names(t, dir); len(left) != 0 {
		t.Error(left)
	}
}

// A failure before the first rename leaves every file as it was.
func TestReplaceFailsWhole(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "journal")
	a := filepath.Join(dir, "a")
	os.WriteFile(a, []byte("old"), 0o644)
	os.Mkdir(filepath.Join(dir, "d"), 0o700)
	for _, second := range []File{
		{Path: filepath.Join(dir, "none", "b"), Data: []byte("b")}, // no such directory
		{Path: filepath.Join(dir, "d"), Data: []byte("b")},         // a directory is in the way
		{Path: filepath.Join(dir, "d"), Remove: true},
		{Path: filepath.Join(a, "b"), Data: []byte("b")}, // a file is no directory
	} {
		err := Replace(journal, []File{{Path: a, Data: []byte("new")}, second})
		if err == nil || errors.Is(err, ErrUnfinished) || !strings.Contains(err.Error(), second.Path) {
			t.Errorf("%s: %v", second.Path, err)
		}
		if left := names(t, dir); content(t, a) != "old" || !slices.Equal(left, []string{"a", "d"}) {
			t.Errorf("%s: %q, left %v", second.Path, content(t, a), left)
		}
	}
}

// interrupted returns what a Replace leaves that was killed after the renames of
// the first applied files.
func interrupted(t *testing.T, journal string, files []File, staged, applied int) {
	t.Helper()
	for i, f := range files {
		files[i].Was, _ = digestFile(f.Path)
	}
	data, id, err := encodeJournal(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		switch {
		case i < applied && f.Remove:
			os.Remove(f.Path)
		case i < applied:
			os.WriteFile(f.Path, f.Data, f.perm())
		case i < staged && !f.Remove:
			os.WriteFile(tempName(f.Path, id), f.Data[:len(f.Data)/2], 0o600)
		}
	}
}

func TestRecover(t *testing.T) {
	for applied := range 4 {
		for staged := range 4 {
			dir := t.TempDir()
			journal := filepath.Join(dir, "journal")
			a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
			for _, p := range []string{a, b, c} {
				os.WriteFile(p, []byte("old"), 0o644)
			}
			interrupted(t, journal,
				[]File{{Path: a, Data: []byte("new a")}, {Path: b, Data: []byte("new b"), Perm: 0o755},
					{Path: c, Remove: true}}, staged, applied)
			if err := Replace(journal, []File{{Path: a, Data: []byte("third")}}); !errors.Is(err, ErrUnfinished) {
				t.Fatal("a journal that waits was ignored:", err)
			}
			done, err := Recover(journal)
			if !done || err != nil {
				t.Fatal(done, err)
			}
			if content(t, a) != "new a" || content(t, b) != "new b" || content(t, c) != "(none)" {
				t.Error(applied, staged, content(t, a), content(t, b), content(t, c))
			}
			if left := names(t, dir); !slices.Equal(left, []string{"a", "b"}) {
				t.Error(applied, staged, left)
			}
		}
	}
}

// Finishing must not undo what somebody wrote since.
func TestRecoverChanged(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "journal")
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "gone", "b")
	for name, edit := range map[string]func(){
		"edited":  func() { os.WriteFile(a, []byte("mine"), 0o644) },
		"removed": func() { os.Remove(a) },
	} {
		os.WriteFile(a, []byte("old"), 0o644)
		interrupted(t, journal, []File{{Path: a, Data: []byte("new")}}, 0, 0)
		edit()
		want := content(t, a)
		if done, err := Recover(journal); done || !errors.Is(err, ErrChanged) || content(t, a) != want {
			t.Errorf("%s: %v, %v, %q", name, done, err, content(t, a))
		}
		if done, err := Recover(journal); done || err != nil {
			t.Errorf("%s: it is said once: %v, %v", name, done, err)
		}
	}
	// A directory that vanished is made again.
	interrupted(t, journal, []File{{Path: b, Data: []byte("new")}}, 0, 0)
	if done, err := Recover(journal); !done || err != nil || content(t, b) != "new" {
		t.Error(done, err, content(t, b))
	}
}

func TestRecoverTorn(t *testing.T) {
	dir := t.TempDir()
	journal, a := filepath.Join(dir, "journal"), filepath.Join(dir, "a")
	os.WriteFile(a, []byte("old"), 0o644)
	whole, _, err := encodeJournal([]File{{Path: a, Data: []byte("new")}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole { // every prefix
		os.WriteFile(journal, whole[:n], 0o600)
		if done, err := Recover(journal); done || err != nil {
			t.Fatalf("%d of %d bytes: %v, %v", n, len(whole), done, err)
		}
		if left := names(t, dir); content(t, a) != "old" || len(left) != 1 {
			t.Fatalf("%d of %d bytes: %q, %v", n, len(whole), content(t, a), left)
		}
	}
	for i := range whole { // every byte
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		os.WriteFile(journal, changed, 0o600)
		done, err := Recover(journal)
		if done || content(t, a) != "old" {
			t.Fatalf("byte %d changed: %v, %v, %q", i, done, err, content(t, a))
		}
		os.Remove(journal)
	}
}

func TestRecoverRefuses(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "journal")
	whole, _, err := encodeJournal([]File{{Path: filepath.Join(dir, "a"), Data: []byte("new")}})
	if err != nil {
		t.Fatal(err)
	}
	relative, _, _ := encodeJournal([]File{{Path: "../a", Data: []byte("new")}})
	for name, data := range map[string][]byte{
		"newer version": bytes.Replace(whole, []byte("-v1 "), []byte("-v2 "), 1),
		"relative path": relative,
	} {
		os.WriteFile(journal, data, 0o600)
		if done, err := Recover(journal); done || err == nil || !strings.Contains(err.Error(), journal) {
			t.Errorf("%s: %v, %v", name, done, err)
		}
		if left := names(t, dir); !slices.Equal(left, []string{"journal"}) {
			t.Errorf("%s: the journal must stay: %v", name, left)
		}
	}
	// What recovery cannot do now it says, and does later.
	os.WriteFile(journal, whole, 0o600)
	os.Mkdir(filepath.Join(dir, "a"), 0o700)
	if done, err := Recover(journal); done || !errors.Is(err, ErrUnfinished) {
		t.Fatal(done, err)
	}
	os.Remove(filepath.Join(dir, "a"))
	if done, err := Recover(journal); !done || err != nil || content(t, filepath.Join(dir, "a")) != "new" {
		t.Fatal(done, err)
	}
}

func FuzzDecode(f *testing.F) {
	whole, _, _ := encodeJournal([]File{{Path: "/a", Data: []byte("new")}, {Path: "/b", Remove: true}})
	f.Add(whole)
	f.Add([]byte("hallmark-journal-v1 sha256:\n[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, _, err := decodeJournal(data)
		if err != nil {
			return
		}
		if again, _, err := encodeJournal(files); err != nil || len(again) == 0 {
			t.Fatal(err)
		}
	})
}

// What is in the place of a lock and is none is neither followed, nor opened, nor waited for.
func TestLockIsAFile(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func(path string) error{
		"a dangling link":       func(path string) error { return os.Symlink(outside, path) },
		"a link to a file":      func(path string) error { return os.Symlink(kept, path) },
		"a link to a directory": func(path string) error { return os.Symlink(dir, path) },
		"a link to itself":      func(path string) error { return os.Symlink(path, path) },
		"a directory":           func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":                pipe,
	} {
		path := filepath.Join(t.TempDir(), "lock")
		if err := put(path); err != nil {
			t.Logf("%s: %v", what, err)
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
		if _, err := Lock(ctx, path, "x"); !errors.Is(err, ErrNoLock) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a file was made outside")
	}
	if content(t, kept) != "kept" {
		t.Error("what a link leads to was written")
	}
}
