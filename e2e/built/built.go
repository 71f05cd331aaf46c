// Package built gives tests programs of this module, compiled as they are released:
// without cgo, the race detector and the paths of this machine. So does make, and what
// one has compiled the others find in Go's cache. Linking takes seconds and is in no
// cache: programs are linked into bin/built of the module, and not again while they are
// up to date.
package built

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
)

const module = "github.com/hallmark-mcp/hallmark/"

var (
	mu    sync.Mutex
	files = map[string]func() ([]byte, error){} // by package
)

// Into writes the program whose package is pkg, below the module ("cmd/hallmark"), to path.
// The file is the test's own.
func Into(t testing.TB, path, pkg string) {
	t.Helper()
	if err := Write(path, pkg); err != nil {
		t.Fatal(err)
	}
}

// Write is Into for what is no test.
func Write(path, pkg string) error {
	mu.Lock()
	file, ok := files[pkg]
	if !ok {
		file = sync.OnceValues(func() ([]byte, error) { return link(pkg) })
		files[pkg] = file
	}
	mu.Unlock()
	data, err := file()
	if err != nil {
		return err
	}
	return WriteProgram(path, data)
}

// WriteProgram writes a program that is started next. A process that another goroutine forks meanwhile
// would hold the file open for writing until it executes, and Linux starts no file that is written
// (ETXTBSY): forks wait until it is closed.
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o700)
}

// Path gives the program whose package is pkg. Tests share the file: who changes it copies it first.
func Path(pkg string) (string, error) {
	paths, err := Paths(pkg)
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// Paths is [Path] of several programs. It starts go once for all that are in one directory: reading what the programs
// import takes go longer than finding that they are up to date, and they import much the same.
func Paths(pkgs ...string) ([]string, error) {
	root, err := findModule()
	if err != nil {
		return nil, err
	}
	var paths, dirs []string
	in := map[string][]string{} // packages by directory
	for _, pkg := range pkgs {
		path := filepath.Join(root, "bin", "built", filepath.FromSlash(pkg))
		if runtime.GOOS == "windows" {
			path += ".exe" // as go names it
		}
		dir := filepath.Dir(path)
		if paths = append(paths, path); in[dir] == nil {
			dirs = append(dirs, dir)
		}
		in[dir] = append(in[dir], module+pkg)
	}
	for _, dir := range dirs {
		if err := buildInto(dir, in[dir]); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func buildInto(dir string, pkgs []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(dir + ".lock").Lock() // tests of several packages run at once
	if err != nil {
		return err
	}
	defer unlock()
	run := os.Getenv(Run)
	made := readMade(dir, run)
	if run != "" && !slices.ContainsFunc(pkgs, func(pkg string) bool { return !slices.Contains(made, pkg) }) {
		return nil
	}
	build := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", dir + string(filepath.Separator)}, pkgs...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(pkgs, " "), err, out)
	}
	if run == "" {
		return nil
	}
	return os.WriteFile(dir+".made", []byte(strings.Join(append(append([]string{run}, made...), pkgs...), "\n")), 0o600)
}

// Run is the variable in which make test names one run of all tests. Go takes a second to find that programs are up to
// date, and in one run they stay so: what one package's tests have asked for is not asked again by the next.
const Run = "HALLMARK_TEST_RUN"

// readMade gives the packages whose programs in dir are up to date in this run.
func readMade(dir, run string) []string {
	data, err := os.ReadFile(dir + ".made")
	if err != nil {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	if lines[0] != run {
		return nil
	}
	return lines[1:]
}

func link(pkg string) ([]byte, error) {
	path, err := Path(pkg)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// findModule finds the module's directory: a test starts in that of its package.
func findModule() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not in the module")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
