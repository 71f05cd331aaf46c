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
	return source{files: files, open: open, width: width}.digests(ctx)
}

// DigestsHeld is [Digests] of files whose contents are in memory, by path.
func DigestsHeld(ctx context.Context, files []File, contents map[string][]byte) (map[string]digest.Digest, error) {
	return source{files: files, held: nonNil(contents)}.digests(ctx)
}

func (s source) digests(ctx context.Context) (map[string]digest.Digest, error) {
	files, err := sortFiles(s.files, strings.Compare)
	if err != nil {
		return nil, err
	}
	width := s.width
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
			var buf []byte
			if s.held == nil {
				buf = make([]byte, digest.BufferSize)
			}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) || ctx.Err() != nil {
					return
				}
				var err error
				if sums[i], err = s.digestOf(ctx, files[i], buf); err != nil {
					stop(err)
					return
				}
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

// digestOf is the digest of one file, which is read through buf.
func (s source) digestOf(ctx context.Context, f File, buf []byte) (digest.Digest, error) {
	if s.held != nil {
		content, err := s.findHeld(f)
		if err != nil {
			return digest.Digest{}, err
		}
		return digest.FromBytes(content), nil
	}
	h := digest.NewHasher()
	if err := copyFile(ctx, h, f, s.open, buf); err != nil {
		return digest.Digest{}, err
	}
	return h.Digest(digest.SHA256), nil
}
