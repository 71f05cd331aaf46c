package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// TestMoveReplaced: what takes the name of a file, directory or link in the moment before it is moved was not checked,
// and is moved back.
func TestMoveReplaced(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"file":      func(path string) error { return os.WriteFile(path, []byte("ours\n"), 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":      func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(what, func(t *testing.T) {
			x := newFileWorld(t)
			path := filepath.Join(x.dir, "f")
			must(t, make(path))
			from, to := x.at("f"), x.at("g")
			beforeRename(t, func(n int, _ string) error {
				if n > 1 {
					return nil
				}
				must(t, os.Rename(path, filepath.Join(t.TempDir(), "away")))
				writeFile(t, x.dir, "f", "theirs\n")
				return nil
			})
			if err := x.w.Move(from, to); err == nil || !strings.Contains(err.Error(), "was replaced while") {
				t.Error(err)
			}
			x.holds("f=theirs\n")
			x.tidy()
		})
	}
}

// TestMoveFails: the system does not say at which end a move failed, so that both are named.
func TestMoveFails(t *testing.T) {
	w := serve(t)
	w.write("f", "x\n")
	for _, failure := range []error{unix.EBUSY, unix.EROFS, unix.EACCES} {
		beforeRename(t, func(int, string) error { return failure })
		err := w.Move(t.Context(), w.sc, "f", "g")
		if refused(t, failure.Error(), err, place.IO); !strings.HasPrefix(err.Error(), "moving f to g: ") {
			t.Error(err)
		}
	}
}
