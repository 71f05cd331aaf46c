package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// MaxFile bounds a configuration file, in bytes. It is large because Claude Code keeps histories in one.
const MaxFile = 64 << 20

// MaxShared bounds a file of a checkout, in bytes. It is smaller than MaxFile because people write those.
const MaxShared = 4 << 20

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := durable.OpenRegular(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	var pathError *fs.PathError
	switch {
	case errors.As(err, &pathError):
		return nil, pathError.Err
	case err == nil && int64(len(data)) > limit:
		return nil, fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}
