// Package built gives tests programs of this module, compiled as they are released:
// without cgo, the race detector and the paths of this machine. So does make, and what
// one has compiled the others find in Go's cache. Linking takes seconds and is in no
// cache: a test process links each program once.
package built

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
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

func link(pkg string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "built")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, module+pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return os.ReadFile(path)
}
