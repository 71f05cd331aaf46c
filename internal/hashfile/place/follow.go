package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// maxRootLinks is how many links the path of an allowed directory may lead through.
const maxRootLinks = 255

// FollowPath returns the real path of the directory that an absolute path leads to now, and the real paths of the
// links on the way.
func FollowPath(given string) (real string, links []string, err error) {
	volume := filepath.VolumeName(given)
	at, todo := volume+string(filepath.Separator), SplitPath(given[len(volume):])
	info, err := os.Lstat(at)
	for ; err == nil && len(todo) > 0; todo = todo[1:] {
		if todo[0] == ".." {
			at = filepath.Dir(at)
			info, err = os.Lstat(at)
			continue
		}
		next := filepath.Join(at, todo[0])
		if info, err = os.Lstat(next); err != nil {
			break
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links = append(links, next); len(links) > maxRootLinks {
			return "", nil, fmt.Errorf("it leads through more than %d links", maxRootLinks)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			at, target = volume+string(filepath.Separator), target[len(volume):]
		}
		if info, err = os.Lstat(at); err != nil {
			return "", nil, err
		}
		todo = slices.Concat(todo[:1], SplitPath(target), todo[1:])
	}
	switch {
	case err != nil:
		return "", nil, err
	case !info.IsDir():
		return "", nil, syscall.ENOTDIR
	case runtime.GOOS == "windows": // in the letter case of the disk, and without short names
		at, err = filepath.EvalSymlinks(at)
	}
	return at, links, err
}

// errLinked is the error of a path on which there is a link now.
var errLinked = errors.New("its path goes through a link now")

// statWalked is Lstat of a path that had no links. It fails if there is a link on it now. A link that is put there and
// taken away between its two steps is not noticed.
func statWalked(path string) (fs.FileInfo, error) {
	if real, _, err := FollowPath(path); err != nil || real != path {
		return nil, errors.Join(err, errLinked)
	}
	return os.Lstat(path)
}

// isWithin reports whether path is dir or lies below it: see CutDir.
func isWithin(dir, path string) bool {
	_, ok := CutDir(dir, path)
	return ok
}

// CutDir returns path relative to dir; ok is false unless it is dir or lies below it. Both are absolute and clean.
func CutDir(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.CutPrefix(path, dir)
}
