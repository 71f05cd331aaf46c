package document

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// maxDocument is how large a server.json may be, in bytes. One byte more is read, so that the
// parser notices a larger one.
const maxDocument = 1 << 20

// ReadFile reads a server.json with open: [os.Open], or a function that opens regular files only if
// the user did not choose the name. It returns the name with slashes.
func ReadFile(name string, open func(string) (*os.File, error)) (shown string, data []byte, err error) {
	f, err := open(name)
	if err != nil {
		kind, hint := evidence.Operation, ""
		if errors.Is(err, os.ErrNotExist) {
			kind, hint = evidence.Validation, "name the file, or begin one with 'hallmark init'"
		}
		return name, nil, evidence.Errorf(kind, name, hint, errors.Unwrap(err))
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxDocument+1))
	return filepath.ToSlash(name), data, err
}
