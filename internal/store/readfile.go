package store

import (
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// ReadFile reads one file of the slot for a digest, of at most limit bytes, and nothing else of the slot.
// It hashes nothing: the caller compares the file with a digest that it has from elsewhere.
func (s *Store) ReadFile(of digest.Digest, name string, limit int64) ([]byte, error) {
	at, err := address(of)
	if err != nil {
		return nil, err
	}
	return durable.ReadIn(filepath.Join(s.root, at, contentDir), filepath.FromSlash(name), limit)
}
