package archive

import (
	"compress/gzip"
	"context"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/tree"
)

// WriteTarGzip writes the canonical tar of files to w as one gzip member without name or
// time at the strongest level, so that the same files give the same bytes. It returns
// the fingerprint of the tar and its size in bytes. A path that [Walk] would refuse is an
// [*Error].
//
// Up to width files are read at once (0: one for each processor).
func WriteTarGzip(
	ctx context.Context, w io.Writer, files []tree.File, open tree.Open, width int,
) (digest.Digest, int64, error) {
	var names Names
	for _, f := range files {
		if err := names.Add(f.Path); err != nil {
			return digest.Digest{}, 0, err
		}
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return digest.Digest{}, 0, err
	}
	h := digest.NewHasher()
	size, err := tree.WriteTar(ctx, io.MultiWriter(h, z), files, open, width)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return digest.Digest{}, 0, err
	}
	return h.Digest(digest.SHA256), size, nil
}
