//go:build unix

package editor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Without a home the locks are in a directory of the user's own, and in none that somebody else could have prepared.
func TestFindLocks(t *testing.T) {
	name := fmt.Sprint("hallmark-hashfile-", os.Getuid())
	for what, prepare := range map[string]func(path string) error{
		"nothing":          func(string) error { return nil },
		"own":              func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":           func(path string) error { return os.Symlink(t.TempDir(), path) },
		"a file":           func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"open for a group": func(path string) error { os.Mkdir(path, 0o700); return os.Chmod(path, 0o770) },
		"somebody else's":  func(path string) error { os.Mkdir(path, 0o700); return os.Chown(path, 65534, 65534) },
	} {
		t.Run(what, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("HOME", "")
			t.Setenv("XDG_CACHE_HOME", "")
			t.Setenv("XDG_STATE_HOME", "")
			t.Setenv("TMPDIR", temp)
			if err := prepare(filepath.Join(temp, name)); err != nil {
				if os.Getuid() != 0 {
					return // only root gives a directory away
				}
				t.Fatal(err)
			}
			want := ""
			if what == "nothing" || what == "own" {
				want = filepath.Join(temp, name)
			}
			none := func(string) string { return "" }
			if got, err := findLocks(none); got != want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			relative := func(name string) string { return strings.TrimPrefix(name, "HALLMARK_") }
			if got, err := findLocks(relative); err == nil {
				t.Errorf("HALLMARK_HOME is relative, and the locks are in %q", got)
			}
		})
	}
}
