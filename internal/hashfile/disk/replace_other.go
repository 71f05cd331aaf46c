//go:build !linux

package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// copyMetadata gives f the mode of the file that it replaces. Owner and extended attributes are those of a new file on
// this system.
func copyMetadata(_, f *os.File, info fs.FileInfo) error {
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return fmt.Errorf("its mode cannot be kept: %w", refusal.Cause(err))
	}
	return nil
}

// swap gives temp the name of the old file. Two names cannot be exchanged on this system.
func swap(dir *os.Root, temp, name string, _ *os.File, old contents.Contents) error {
	return swapUnguarded(dir, temp, name, old)
}

// renameNew renames what is at one place to another place of the same allowed directory. It fails with fs.ErrExist if
// something is there when it looks, before the renaming.
func renameNew(from, to *place.Place) error {
	if err := checkVacant(to); err != nil {
		return err
	}
	return from.Root.Dir.Rename(filepath.FromSlash(from.Rel), filepath.FromSlash(to.Rel))
}
