//go:build !linux

package disk

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// movesBetweenDirectories says whether a file can be moved between two directories that are held open.
const movesBetweenDirectories = false

// exchange fails: two names cannot be exchanged on this system.
func exchange(_, _ *place.Place) error { return errors.ErrUnsupported }

// renameOver renames a temporary name to another name of the same directory, and replaces what is there.
func renameOver(from, to *place.Place) error { return from.Parent().Rename(from.Name, to.Name) }

// swap gives temp the name of the old file. Two names cannot be exchanged on this system.
func swap(temp, p *place.Place, _ *os.File, old contents.Contents) error {
	return swapUnguarded(temp, p, old)
}

// renameNew renames what is at one place to another place of the same allowed directory, or of the same open directory
// if they belong to none. It fails with fs.ErrExist if something is there when it looks, before the renaming.
func renameNew(from, to *place.Place) error {
	if err := checkVacant(to); err != nil {
		return err
	}
	if from.Root == nil || to.Root == nil {
		if from.Parent() != to.Parent() {
			return errors.ErrUnsupported
		}
		return from.Parent().Rename(from.Name, to.Name)
	}
	return from.Root.Dir.Rename(filepath.FromSlash(from.Rel), filepath.FromSlash(to.Rel))
}
