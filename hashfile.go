package hallmark

import (
	"context"
	"io"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hashfile"
)

// Hashfile serves one client of the editing server until it closes in. Locks of files that
// are edited lie in the state directory, so that all servers of the user share them.
func Hashfile(ctx context.Context, places Places, c hashfile.Config, in io.ReadCloser, out io.WriteCloser) error {
	c.Locks = filepath.Join(places.State, "hashfile")
	s, err := hashfile.New(c)
	if err != nil {
		return evidence.Errorf(evidence.Validation, "hashfile", "", err)
	}
	defer s.Close()
	if err := s.Run(ctx, in, out); err != nil {
		return evidence.Errorf(evidence.Operation, "hashfile", "", err)
	}
	return nil
}
