//go:build unix

package durable

import (
	"os"
	"path/filepath"
	"testing"
)

// What others can write, or own, is not taken for what this user remembers.
func TestPlacesOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		above, dir os.FileMode // of the directory above the state, and of the state; 0: there is none
		why        string      // "" if it is taken
	}{
		"new":             {0o755, 0, ""},
		"new, of a group": {0o775, 0, ""},
		"new, sticky":     {0o777 | os.ModeSticky, 0, ""},
		"new, writable":   {0o777, 0, "can be written by others"},
		"own":             {0o755, 0o700, ""},
		"readable":        {0o755, 0o755, ""},
		"group":           {0o755, 0o770, "can be written by others: its mode is 0770"},
		"everybody":       {0o755, 0o707, "can be written by others: its mode is 0707"},
		"sticky":          {0o755, 0o777 | os.ModeSticky, "can be written by others"},
	} {
		above := mkdir(t, c.above, t.TempDir(), "above")
		if c.dir != 0 {
			mkdir(t, c.dir, above, "state")
		}
		if err := at(t, above).Check(); c.why != "" {
			refused(t, err, c.why)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if os.Geteuid() != 0 {
		return // nobody else can give a directory away
	}
	base := t.TempDir()
	if err := os.Chown(mkdir(t, 0o700, base, "state"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	refused(t, at(t, base).Check(), "belongs to another user")
	theirs := mkdir(t, 0o755, base, "theirs")
	if err := os.Chown(theirs, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := at(t, filepath.Join(theirs, "new")).Check(); err != nil {
		t.Errorf("root begins nothing below a directory of another user: %v", err)
	}
}
