package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// HandOver replaces this process with another program of Hallmark, called with args. It returns
// only if that failed.
func HandOver(name string, args []string) error {
	path, err := findProgram(name)
	if err != nil {
		return err
	}
	return foreign.Become(path, append([]string{path}, args...), os.Environ())
}

// findProgram finds a program of Hallmark beside this one, where they are installed together, or in
// PATH, but in no directory of the checkout.
func findProgram(name string) (string, error) {
	file := name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), file)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	home, _ := os.UserHomeDir() // without one every directory above counts as the checkout's
	path, err := foreign.FindCheckout(".", home).Find(os.Getenv("PATH"), name)
	if errors.Is(err, foreign.ErrNotFound) {
		return "", evidence.Errorf(evidence.Operation, name,
			"install it beside this program, or in a directory of PATH", errors.New("not found"))
	}
	return path, err
}
