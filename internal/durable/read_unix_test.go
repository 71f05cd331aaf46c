//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// TestRead: a file of a checkout is a regular one, in the checkout, and nobody waits for it.
func TestRead(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "checkout")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o755),
		os.WriteFile(filepath.Join(top, "secret"), []byte("s"), 0o600),
		os.WriteFile(filepath.Join(dir, "sub/file"), []byte("text"), 0o600),
		os.WriteFile(filepath.Join(dir, "large"), []byte(strings.Repeat("x", 101)), 0o600),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		syscall.Mkfifo(filepath.Join(top, "pipe"), 0o600),
		os.Symlink("sub/file", filepath.Join(dir, "in")),
		os.Symlink("../secret", filepath.Join(dir, "out")),
		os.Symlink(filepath.Join(top, "secret"), filepath.Join(dir, "absolute")),
		os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("pipe", filepath.Join(dir, "topipe")),
		os.Symlink("../pipe", filepath.Join(dir, "outpipe")),
		os.Symlink("/dev/zero", filepath.Join(dir, "device")),
		os.Symlink("/dev/tty", filepath.Join(dir, "terminal")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
	); err != nil {
		t.Fatal(err)
	}
	any := errors.New("any")
	for _, c := range []struct {
		name         string
		in, anywhere error
	}{
		{"sub/file", nil, nil},
		{"in", nil, nil},
		{"large", any, any},
		{"sub", ErrIrregular, ErrIrregular},
		{"pipe", ErrIrregular, ErrIrregular},
		{"topipe", ErrIrregular, ErrIrregular},
		{"outpipe", ErrOutside, ErrIrregular},
		{"device", ErrOutside, ErrIrregular},
		{"terminal", ErrOutside, any},
		{"out", ErrOutside, nil},
		{"absolute", ErrOutside, nil},
		{"up/secret", any, nil},
		{"loop", any, any},
		{"dangling", fs.ErrNotExist, fs.ErrNotExist},
		{"none", fs.ErrNotExist, fs.ErrNotExist},
		{"none/file", fs.ErrNotExist, fs.ErrNotExist},
	} {
		for how, read := range map[string]func() ([]byte, error){
			"in":       func() ([]byte, error) { return ReadIn(dir, c.name, 100) },
			"anywhere": func() ([]byte, error) { return ReadFile(filepath.Join(dir, c.name), 100) },
		} {
			want := c.in
			if how == "anywhere" {
				want = c.anywhere
			}
			type answer struct {
				data []byte
				err  error
			}
			done := make(chan answer, 1)
			go func() {
				data, err := read()
				done <- answer{data, err}
			}()
			select {
			case got := <-done:
				switch {
				case want == nil && (got.err != nil || len(got.data) == 0):
					t.Errorf("%s %s: %q, %v", c.name, how, got.data, got.err)
				case want == any && got.err == nil, want != nil && want != any && !errors.Is(got.err, want):
					t.Errorf("%s %s: %v", c.name, how, got.err)
				}
			case <-time.After(hang.Long):
				t.Fatalf("%s %s: waited for", c.name, how)
			}
		}
	}
}
