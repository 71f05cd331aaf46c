package engine

import (
	"cmp"
	"context"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// MakeDirectory creates a directory and those above it, and reports whether it was missing. A directory whose name
// could make a repository of another is created under the lock of that directory: see Writer.Lock.
func (e *Engine) MakeDirectory(ctx context.Context, sc *place.Scope, path string) (created bool, err error) {
	p, err := place.Resolve(sc, path)
	if err != nil {
		return false, err
	}
	defer p.Close()
	if p.Info != nil {
		if !p.Info.IsDir() {
			return false, refuseKind(p)
		}
		return false, nil
	}
	if err := cmp.Or(p.CheckWritable(), p.CheckName()); err != nil {
		return false, err
	}
	if spelling.GitPartOf(p.Name) != 0 {
		unlock, err := e.writer.Lock(ctx, p)
		if err != nil {
			return false, err
		}
		defer unlock()
	}
	return true, e.writer.MakeDirectories(p)
}
