package clients

import (
	"errors"
	"io/fs"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// MaxFile bounds a configuration file, in bytes. It is large because Claude Code keeps histories in one.
const MaxFile = 64 << 20

// MaxShared bounds a file of a checkout, in bytes. It is smaller than MaxFile because people write those.
const MaxShared = 4 << 20

// readFile reads a regular file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	data, err := durable.ReadFile(name, limit)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, e.Err
	}
	return data, err
}
