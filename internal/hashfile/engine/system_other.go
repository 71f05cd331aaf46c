//go:build !linux

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// movesBetweenDirectories says whether a file can be moved between two directories that are held open.
const movesBetweenDirectories = false

// renameOver renames a temporary name to another name of the same directory, and replaces what is there.
func renameOver(from, to *place.Place) error { return from.Parent().Rename(from.Name, to.Name) }

// swap gives temp the name of the old file. Two names cannot be exchanged on this system.
func swap(temp, p *place.Place, _ *os.File, old Contents) error {
	return swapUnguarded(temp, p, old)
}

// renameNew renames what is at one place to another place of the same allowed directory. It fails with fs.ErrExist if
// something is there when it looks, before the renaming.
func renameNew(from, to *place.Place) error {
	if err := checkVacant(to); err != nil {
		return err
	}
	return from.Root.Dir.Rename(filepath.FromSlash(from.Rel), filepath.FromSlash(to.Rel))
}

// copyMetadata gives f the mode of the file that it replaces. Owner and extended attributes are a new file's on
// this system.
func copyMetadata(_, f *os.File, info fs.FileInfo) (lost []string, err error) {
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return nil, fmt.Errorf("its mode cannot be kept: %w", place.Cause(err))
	}
	return nil, nil
}

// openUnnamed fails: a file without a name cannot be made on this system.
func openUnnamed(*os.Root, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// linkUnnamed fails, because openUnnamed does.
func linkUnnamed(*os.File, *place.Place) error { return errors.ErrUnsupported }
