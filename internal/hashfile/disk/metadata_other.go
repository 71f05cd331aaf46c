//go:build !linux

package disk

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// copyMetadata gives f the mode of the file that it replaces. Owner and extended attributes are those of a new file on
// this system.
func copyMetadata(_, f *os.File, info fs.FileInfo) (lost []string, err error) {
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return nil, fmt.Errorf("its mode cannot be kept: %w", refusal.Cause(err))
	}
	return nil, nil
}
