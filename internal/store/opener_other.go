//go:build !linux

package store

import (
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/tree"
)

// opener opens files below content until it is closed.
func opener(content *os.Root) (open tree.Open, done func()) {
	return func(path string) (io.ReadCloser, error) { return content.Open(path) }, func() {}
}
