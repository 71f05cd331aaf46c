package tree

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Digests is the sha256 digest of the content of each file, by its path. Up to
// width files are read at once (0: one for each processor). It is an error if a
// file has another size than declared, or a path twice.
func Digests(ctx context.Context, files []File, open Open, width int) (map[string]digest.Digest, error) {
	files, err := sortFiles(files, strings.Compare)
	if err != nil {
		return nil, err
	}
	if width <= 0 {
		width = runtime.GOMAXPROCS(0)
	}
	var (
		sums    = make([]digest.Digest, len(files))
		next    atomic.Int64
		workers sync.WaitGroup
	)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for range min(width, len(files)) {
		workers.Go(func() {
			buf := make([]byte, digest.BufferSize)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) || ctx.Err() != nil {
					return
				}
				h := digest.NewHasher()
				if err := copyFile(ctx, h, files[i], open, buf); err != nil {
					stop(err)
					return
				}
				sums[i] = h.Digest(digest.SHA256)
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := make(map[string]digest.Digest, len(files))
	for i, f := range files {
		out[f.Path] = sums[i]
	}
	return out, nil
}
