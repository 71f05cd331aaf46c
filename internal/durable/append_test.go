package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What a checkout put where a log is to be written is not written to: a link, what lies
// behind one, and what is no regular file.
func TestOpenAppend(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "project"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "logs"), filepath.Join(dir, "d.jsonl"), outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	theirs := filepath.Join(outside, "theirs")
	if err := os.WriteFile(theirs, []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"link.jsonl": theirs, "new.jsonl": filepath.Join(outside, "new"), "near.jsonl": "there.jsonl", "away": outside,
		"round.jsonl": "round.jsonl",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err) // Windows without the right to
		}
	}
	for name, want := range map[string]error{
		"link.jsonl": ErrLink, "new.jsonl": ErrLink, "near.jsonl": ErrLink, "round.jsonl": ErrLink,
		"away/x.jsonl": ErrLink, "away/../away/x.jsonl": ErrLink,
		"d.jsonl": ErrIrregular, "logs/../link.jsonl": ErrLink,
	} {
		f, err := OpenAppend(filepath.Join(dir, name), dir)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if f != nil {
			f.Close()
		}
	}
	for _, name := range []string{filepath.Join(dir, "own.jsonl"), filepath.Join(dir, "logs", "own.jsonl"), theirs} {
		for range 2 {
			f, err := OpenAppend(name, dir)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteString("line\n")
			f.Close()
		}
		if data, err := os.ReadFile(name); err != nil ||
			string(data) != "line\nline\n" && string(data) != "theirs\nline\nline\n" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	// Elsewhere it is the user's own.
	own := filepath.Join(outside, "own")
	if err := os.Symlink(theirs, own); err != nil {
		t.Fatal(err)
	}
	f, err := OpenAppend(own, dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := os.Lstat(filepath.Join(outside, "new")); err == nil {
		t.Error("a file was made through a link")
	}
}
