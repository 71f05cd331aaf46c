//go:build !linux

package disk

import (
	"errors"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// openUnnamed fails: a file without a name cannot be made on this system.
func openUnnamed(*os.Root, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// linkUnnamed fails, because openUnnamed does.
func linkUnnamed(*os.File, *place.Place) error { return errors.ErrUnsupported }
