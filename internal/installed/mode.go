package installed

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/hallmark-mcp/hallmark/internal/adapter"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// The modes of installed files. They follow from the contents, as an archive holds none.
const (
	filePerm    fs.FileMode = 0o644
	programPerm fs.FileMode = 0o755
)

// permOf is the mode of a file with these bytes.
func permOf(place adapter.Place, data []byte) fs.FileMode {
	if place.Skill != "" && adapter.IsExecutable(data[:min(len(data), adapter.ExecutableHead)]) {
		return programPerm
	}
	return filePerm
}

// lacksMode reports whether a file that has the right bytes cannot be started, and is to be: a version of
// Hallmark before modes were set has written it.
func lacksMode(w *workspace.Workspace, place adapter.Place) (bool, error) {
	if place.Skill == "" || runtime.GOOS == "windows" {
		return false, nil
	}
	name := w.Place(place.Path)
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Perm()&0o100 != 0 {
		return false, err
	}
	f, err := beneath.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, adapter.ExecutableHead)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	return adapter.IsExecutable(head[:n]), nil
}
