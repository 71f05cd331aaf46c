package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// Contains reports whether the project holds file, as it is named or after all links.
func (w *Workspace) Contains(file string) bool {
	dir, err := filepath.EvalSymlinks(w.Dir)
	if err != nil {
		dir = w.Dir
	}
	names := []string{filepath.Clean(file)}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		names = append(names, real)
	}
	for _, name := range names {
		for _, root := range []string{w.Dir, dir} {
			if host.IsBelow(root, name) {
				return true
			}
		}
	}
	return false
}

// Absolute returns the absolute path of the file that name means in dir.
func (w *Workspace) Absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// LockKey returns the name of a file in the lock: a file: Ref if it lies in the project, else the
// name under which it was declared, because its path differs between machines.
func (w *Workspace) LockKey(file, declared string) string {
	if rel, err := filepath.Rel(w.Dir, file); err == nil && filepath.IsLocal(rel) {
		if ref, err := artifact.NewFile(filepath.ToSlash(rel)); err == nil {
			return ref.String()
		}
	}
	return "command:" + declared
}

// FindCommand resolves a command: with a separator relative to the project, else through path.
func (w *Workspace) FindCommand(command, path string) (string, error) {
	if IsWindowsPath(command) {
		return "", evidence.Errorf(evidence.Operation, fmt.Sprintf("%+q", command),
			"name the program by its path on this system", errors.New("is a path of Windows"))
	}
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		if filepath.IsAbs(command) {
			return command, nil
		}
		return w.Path(filepath.FromSlash(command)), nil
	}
	found, err := FindIn(path, command)
	if err != nil {
		return "", evidence.Errorf(evidence.Operation, fmt.Sprintf("%+q", command), "", err)
	}
	return found, nil
}

// IsWindowsPath reports whether command is an absolute path of Windows, and this system another. An entry of a file
// that is shared with Windows may start it.
func IsWindowsPath(command string) bool {
	return runtime.GOOS != "windows" && len(command) > 2 && command[1] == ':' &&
		(command[2] == '/' || command[2] == '\\')
}

// FindIn looks for the command of a server in the directories of path, those of a checkout too:
// see [foreign.Find].
func FindIn(path, command string) (string, error) { return foreign.Find(path, command) }
