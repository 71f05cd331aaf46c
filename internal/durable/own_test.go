//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// at returns the places that HALLMARK_HOME=dir gives, or those of the home directory for "".
func at(t *testing.T, dir string) Places {
	t.Helper()
	p, err := FindPlaces(func(name string) string {
		if name == "HALLMARK_HOME" {
			return dir
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refused wants a refusal that says why, and what to set.
func refused(t *testing.T, err error, why string) {
	t.Helper()
	var e *evidence.Error
	if !errors.As(err, &e) || e.Kind != evidence.Refused || !strings.Contains(e.Error(), why) ||
		!strings.Contains(e.Hint, "set HALLMARK_HOME to a directory outside of every checkout") {
		t.Errorf("%v: %v", why, err)
	}
}

func mkdir(t *testing.T, mode os.FileMode, names ...string) string {
	t.Helper()
	dir := filepath.Join(names...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A checkout brings no state: neither by its own name, nor through links, nor where the directory
// does not exist yet.
func TestPlacesInCheckout(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	checkout := mkdir(t, 0o700, base, "checkout")
	project := mkdir(t, 0o700, checkout, "a", "project")
	outside := mkdir(t, 0o700, base, "outside")
	if err := at(t, filepath.Join(project, ".hm")).Check(); err != nil {
		t.Errorf("without .git it is no checkout: %v", err)
	}
	refused(t, at(t, filepath.Join(project, ".hm")).CheckProject(project), "lies in the project")
	mkdir(t, 0o700, checkout, ".git")
	named := []string{filepath.Join(project, ".hm"), filepath.Join(checkout, "x", "y")}
	for from, to := range map[string]string{
		filepath.Join(outside, "in"):   checkout, // a link into the checkout
		filepath.Join(checkout, "out"): outside,  // a link of the checkout, which can lead elsewhere tomorrow
	} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
		named = append(named, filepath.Join(from, "hm"))
	}
	if runtime.GOOS == "linux" {
		t.Chdir(project)
		named = append(named, "/proc/self/cwd/.hm")
	}
	for _, dir := range named {
		refused(t, at(t, dir).Check(), "lies in the checkout "+checkout)
	}
	fine := at(t, filepath.Join(outside, "hm"))
	if err := errors.Join(fine.Check(), fine.CheckProject(project)); err != nil {
		t.Error(err)
	}
	if _, err := FindPlaces(func(string) string { return "hm" }); err == nil {
		t.Error("a relative directory is taken")
	} else {
		refused(t, err, "not absolute")
	}
}

// The home directory may be a project and a checkout, for what is kept below it by default alone. A
// home directory within a checkout, and a relative one, are not taken.
func TestHomeIsCheckout(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := mkdir(t, 0o755, base, "user")
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	mkdir(t, 0o700, home, ".git")
	byHome := at(t, "")
	if err := errors.Join(byHome.Check(), byHome.CheckProject(home)); err != nil {
		t.Error(err)
	}
	refused(t, at(t, filepath.Join(home, ".hm")).Check(), "lies in the checkout")
	refused(t, at(t, filepath.Join(home, ".hm")).CheckProject(home), "lies in the project")
	mkdir(t, 0o700, base, ".git")
	refused(t, byHome.Check(), "lies in the checkout "+base)
	t.Setenv("HOME", "user")
	_, err = FindPlaces(func(string) string { return "" })
	refused(t, err, "not absolute")
}
