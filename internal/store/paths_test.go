package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// What an installer unpacked is not kept if a program of the user's would act upon a part
// of it; what only another platform cannot hold is.
func TestStagedRepository(t *testing.T) {
	for _, c := range []struct {
		paths []string // a directory ends in "/"
		bad   bool
	}{
		{[]string{"node_modules/a/.git/config"}, true},
		{[]string{"node_modules/a/.Git"}, true},
		{[]string{"site-packages/git~1/config"}, true},
		{[]string{"a/HEAD", "a/objects/", "a/refs/"}, true},
		{[]string{"HEAD", "objects/x", "refs/x"}, true},
		{[]string{"a/.g\u200bit/x"}, true},
		{[]string{"a/b\u202e.js"}, true},
		{[]string{"a/.gitignore", "a/.github/x", "a/HEAD", "a/refs/x", "b/objects/x"}, false},
		{[]string{"a/x_Y.h", "a/x_y.h"}, false},
	} {
		s, err := Open(filepath.Join(t.TempDir(), "store"), nil)
		if err != nil {
			t.Fatal(err)
		}
		st, err := s.Stage()
		if err != nil {
			t.Fatal(err)
		}
		defer st.Discard()
		for _, path := range append(c.paths, "ordinary") {
			name := filepath.Join(st.Dir(), filepath.FromSlash(path))
			if strings.HasSuffix(path, "/") {
				err = os.MkdirAll(name, 0o700)
			} else if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
				err = os.WriteFile(name, []byte("x"), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err = st.Measure(t.Context())
		if c.bad && evidence.ClassOf(err) != evidence.Validation || !c.bad && err != nil {
			t.Errorf("%q: %v", c.paths, err)
		}
	}
}
