//go:build unix

package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// tree makes directories, and links as "name -> target", below a temporary directory without links in its path.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	for _, name := range names {
		if link, target, ok := strings.Cut(name, " -> "); ok {
			err = errors.Join(err, os.Symlink(strings.Replace(target, "BASE", base, 1), filepath.Join(base, link)))
			continue
		}
		err = errors.Join(err, os.MkdirAll(filepath.Join(base, name), 0o700))
	}
	must(t, err)
	return base
}

// source returns the source of directories of base.
func source(t *testing.T, base string, names ...string) *Source {
	t.Helper()
	s, err := NewSource(below(base, names), 0)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func below(base string, names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(base, name))
	}
	return paths
}

// TestFollowPath: the real path, and each link on the way by its real path.
func TestFollowPath(t *testing.T) {
	base := tree(t, "a/b/c", "link -> a/b", "a/up -> ..", "a/b/abs -> BASE/link/c", "self -> self", "gone -> none",
		"odd -> a/../a/./b//")
	must(t, os.WriteFile(base+"/file", nil, 0o600))
	for path, want := range map[string]string{
		"a/b/c": "a/b/c", "link/c": "a/b/c link", "a/up/link/c": "a/b/c a/up link", "link/abs": "a/b/c link a/b/abs link",
		"odd/c": "a/b/c odd", "link/../b": "a/b link", "a/../a/b/": "a/b", "a/up": ". a/up",
	} {
		real, links, err := FollowPath(base + "/" + path)
		all := append([]string{real}, links...)
		if err != nil || !slices.Equal(all, below(base, strings.Fields(want))) {
			t.Errorf("%s: %q, %v", path, all, err)
		}
	}
	for path, want := range map[string]error{"gone": os.ErrNotExist, "a/none": os.ErrNotExist, "file": syscall.ENOTDIR,
		"file/x": syscall.ENOTDIR} {
		if real, _, err := FollowPath(base + "/" + path); !errors.Is(err, want) || real != "" {
			t.Errorf("%s: %s, %v", path, real, err)
		}
	}
	if _, _, err := FollowPath(base + "/self"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxRootLinks)) {
		t.Errorf("a link to itself: %v", err)
	}
}

func TestCutDir(t *testing.T) {
	for _, c := range []struct {
		dir, path, rel string
		ok             bool
	}{{"/a", "/a", ".", true}, {"/a", "/a/b/c", "b/c", true}, {"/", "/a", "a", true}, {"/", "/", ".", true},
		{"/a", "/ab", "", false}, {"/a", "/a_evil/x", "", false}, {"/a/b", "/a", "", false}, {"/a", "/A/b", "", false}} {
		if rel, ok := CutDir(c.dir, c.path); ok != c.ok || ok && rel != c.rel {
			t.Errorf("%s in %s: %s, %v", c.path, c.dir, rel, ok)
		}
	}
}

// TestNewSource: a directory that is not there, or has no name, is not allowed.
func TestNewSource(t *testing.T) {
	base := tree(t, "a", "gone -> none")
	for _, path := range []string{"", base + "/none", base + "/gone", "/etc/passwd"} {
		if s, err := NewSource([]string{base + "/a", path}, 0); err == nil {
			s.Close()
			t.Errorf("%q is a root", path)
		}
	}
}

// TestRootPaths: the answer of a client is used as far as it names directories of this machine, and up to a bound.
func TestRootPaths(t *testing.T) {
	roots := func(uris ...string) string {
		var all []string
		for _, uri := range uris {
			all = append(all, fmt.Sprintf(`{"uri":%q}`, uri))
		}
		return `{"roots":[` + strings.Join(all, ",") + "]}"
	}
	read := func(answer string) listing { return readListing([]byte(answer), nil) }
	l := read(roots("file:///a", "http://x/b", "file://other/c", "file:///d/../e%20f", "nonsense"))
	if want := []string{"/a", "/e f"}; l.err != nil || !slices.Equal(l.paths, want) {
		t.Errorf("%q, %v", l.paths, l.err)
	}
	if l := read(roots()); l.paths == nil || len(l.paths) != 0 || l.cut || l.err != nil {
		t.Errorf("no roots: %+v", l)
	}
	for n := range 2 {
		l := read(roots(slices.Repeat([]string{"file:///a"}, maxClientRoots+n)...))
		if len(l.paths) != maxClientRoots || l.cut != (n > 0) || l.err != nil {
			t.Errorf("many: %d, %t, %v", len(l.paths), l.cut, l.err)
		}
	}
	for what, answer := range map[string]string{"nothing": "null", "no list": "{}", "no URI": roots("file:///a", ""),
		"a hole": `{"roots":[null]}`, "another member": `{"Roots":[]}`, "no JSON": ""} {
		if l := read(answer); l.err == nil {
			t.Errorf("%s: %q", what, l.paths)
		}
	}
	if l := readListing(nil, errors.New("no")); l.err == nil {
		t.Errorf("an error: %q", l.paths)
	}
}

// TestRelinked: a link that was named is followed where it leads now, unless it came with content or took the place of
// a directory.
func TestRelinked(t *testing.T) {
	for what, c := range map[string]struct {
		roots, now string // directories, and what is used of them after the link leads to evil
		link       string
	}{
		"named":             {"link", "evil", "link"},
		"on the way":        {"link/sub", "evil/sub", "link"},
		"in another root":   {"a a/link", "a", "a/link"},
		"in a work tree":    {"repo/link", "", "repo/link"},
		"was a directory":   {"old", "", "old"},
		"one of two is not": {"old link", "good", "old"},
	} {
		base := tree(t, "good/sub", "evil/sub", "a", "old", "repo/.git/HEAD", "link -> good", "a/link -> ../good",
			"repo/link -> ../good")
		s := source(t, base, strings.Fields(c.roots)...)
		if err := errors.Join(os.RemoveAll(filepath.Join(base, c.link)),
			os.Symlink(filepath.Join(base, "evil"), filepath.Join(base, c.link))); err != nil {
			t.Fatal(err)
		}
		sc := s.Configured()
		if got := sc.Directories(); !slices.Equal(got, below(base, strings.Fields(c.now))) {
			t.Errorf("%s: %q", what, got)
		}
		absent := sc.Absent()
		if len(absent) != len(strings.Fields(c.roots))-len(sc.roots) {
			t.Errorf("%s: %d are absent", what, len(absent))
		}
		for _, a := range absent {
			r := sc.RefuseOutside("f", a.given+"/f")
			if r.Code != NotFound || !strings.Contains(r.Message, "elsewhere") {
				t.Errorf("%s: %v", what, r)
			}
		}
		sc.Close()
	}
}

// TestNarrow: the client's roots narrow the configured directories, widen nothing, and hide what they leave out.
func TestNarrow(t *testing.T) {
	base := tree(t, "in/a/b", "in/c", "in_evil", "out", "in/link -> a")
	for client, c := range map[string]struct{ may, not string }{
		"in/a":         {"in/a in/a/b", "in in/c in_evil out"},
		"in/a/b in/c":  {"in/a/b in/c", "in in/a out"},
		". out":        {"in in/a in/c", "out in_evil ."},
		"in/link":      {"in/a in/a/b", "in in/c"},
		"out in/none":  {"", "in in/a out"},
		"in_evil in/c": {"in/c", "in in/a in_evil"},
	} {
		s := source(t, base, "in")
		sc := s.combine(below(base, strings.Fields(client)))
		allowed := func(path string) bool {
			r, rel := sc.FindRoot(path)
			return r != nil && filepath.Join(r.Path, rel) == path && sc.Permits(path)
		}
		for _, path := range below(base, strings.Fields(c.may)) {
			if !allowed(path) || !sc.LeadsToRoot(path) {
				t.Errorf("%s: %s is outside", client, path)
			}
		}
		for _, path := range below(base, strings.Fields(c.not)) {
			if allowed(path) {
				t.Errorf("%s: %s is allowed", client, path)
			}
			if r := sc.RefuseOutside("asked", path); r.Code != OutsideRoots ||
				slices.Contains(sc.Directories(), path) || len(sc.Absent()) > 0 {
				t.Errorf("%s: %v", client, r)
			}
		}
		sc.Close()
	}
	// Without configured directories the client's are allowed themselves.
	sc := source(t, base).combine(below(base, []string{"out", "out", "none", "in/link"}))
	defer sc.Close()
	if got := sc.Directories(); !slices.Equal(got, below(base, []string{"out", "in/a"})) || len(sc.Absent()) != 1 {
		t.Errorf("%q, %v", got, sc.Absent())
	}
	for path, holds := range map[string]bool{"in": true, "in/a": true, "in/link": true, "out": true, ".": true,
		"in/a/b": false, "none": true, "in/c": false, "in_evil": false} {
		if sc.HoldsRoot(filepath.Join(base, path)) != holds {
			t.Errorf("%s holds a root: %v", path, !holds)
		}
	}
}

// TestFindRoot: of directories in each other the outermost one counts, whose rules hold below.
func TestFindRoot(t *testing.T) {
	base := tree(t, "a/b/c", "link -> a/b")
	sc := source(t, base, "a/b", "a", "link").Configured()
	defer sc.Close()
	for path, want := range map[string]string{"a/b/c/f": "b/c/f", "link/f": "b/f", "a": ".", "link": "b"} {
		if r, rel := sc.FindRoot(filepath.Join(base, path)); r == nil || r.Path != base+"/a" || rel != want {
			t.Errorf("%s: %v, %s", path, r, rel)
		}
	}
	if r, _ := sc.FindRoot(base + "/ab"); r != nil {
		t.Errorf("what begins alike is in %s", r.Path)
	}
}

// TestRefuseAll: a call that may use nothing is told why.
func TestRefuseAll(t *testing.T) {
	for want, sc := range map[string]*Scope{
		"and none of these (/b, /c\\n) lies in it": {narrow: true, within: []string{"/b", "/c"},
			given: []string{"/b", "/c\n"}},
		"and lists none that is a directory":    {narrow: true},
		"started without --root; start it with": {},
	} {
		if r := sc.RefuseOutside("f", "/f"); r.Code != hashline.Code("outside_roots") || !strings.Contains(r.Message, want) {
			t.Errorf("%v, want %s", r, want)
		}
	}
}

// TestIsUnmoved: a directory that another one took the place of is not the same, and gets another identity.
func TestIsUnmoved(t *testing.T) {
	base := tree(t, "a")
	s := source(t, base, "a")
	open := func() *Root {
		sc := s.Configured()
		t.Cleanup(sc.Close)
		r, _ := sc.FindRoot(base + "/a")
		must(t, r.Open())
		return r
	}
	first, second := open(), open()
	if !first.IsUnmoved() || first.Identity != second.Identity {
		t.Error("it is another directory than before")
	}
	must(t, errors.Join(os.Rename(base+"/a", base+"/was"), os.Mkdir(base+"/a", 0o700)))
	if third := open(); first.IsUnmoved() || !third.IsUnmoved() || third.Identity == first.Identity {
		t.Error("another directory is taken for it")
	}
}
