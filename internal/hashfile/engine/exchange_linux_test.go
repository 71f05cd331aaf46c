package engine

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// TestSwapGivesBack puts somebody else's file in the way between reading and exchanging,
// of each kind: it is there afterwards, and the edit is not.
func TestSwapGivesBack(t *testing.T) {
	for name, foreign := range map[string]func(path string) error{
		"renamed over":             func(path string) error { return renameTo(path, "theirs\n") },
		"same bytes, another file": func(path string) error { return renameTo(path, "old\n") },
		"written in place":         func(path string) error { return os.WriteFile(path, []byte("theirs\n"), 0o600) },
		"link":                     func(path string) error { os.Remove(path); return os.Symlink("other", path) },
		"directory":                func(path string) error { os.Remove(path); return os.Mkdir(path, 0o700) },
		"truncated":                func(path string) error { return os.Truncate(path, 2) },
		"appended to":              func(path string) error { return os.WriteFile(path, []byte("old\nmore\n"), 0o600) },
		"removed":                  os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			d := t.TempDir()
			writeFile(t, d, "other", "other\n")
			path := writeFile(t, d, "f", "old\n")
			r, err := os.OpenRoot(d)
			must(t, err)
			defer r.Close()
			info, _ := r.Lstat("f")
			held, _ := os.Open(path)
			defer held.Close()
			mine, err := os.Open(writeFile(t, d, ".temp", "mine\n"))
			must(t, err)
			defer mine.Close()
			must(t, foreign(path))
			before := describe(path)
			if err := swap(place.In(r, ".temp", nil), place.In(r, "f", nil), mine,
				Contents{Data: []byte("old\n"), Info: info}); err == nil {
				t.Error("the edit is made")
			}
			if after := describe(path); after != before {
				t.Errorf("%s became %s", before, after)
			}
			left, _ := os.ReadDir(d)
			for _, e := range left {
				if e.Name() == ".temp" {
					t.Error("the new file is left")
				}
			}
		})
	}
}

// renameTo puts another file in the place of one.
func renameTo(path, text string) error {
	return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
}

func describe(path string) string {
	st, err := os.Lstat(path)
	if err != nil {
		return "nothing"
	}
	text, _ := os.ReadFile(path)
	return fmt.Sprintf("%v %q", st.Mode(), text)
}
