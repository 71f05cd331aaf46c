package archive

import (
	"compress/gzip"
	"context"
	"fmt"
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

// WriteFacet writes the outer layer of a .facet: the build manifest and size bytes of
// a compressed canonical tar.
func WriteFacet(w io.Writer, buildManifest []byte, tarGzip io.Reader, size int64) error {
	head, err := tree.TarHeader(BuildManifest, int64(len(buildManifest)))
	if err != nil {
		return err
	}
	head = append(head, buildManifest...)
	head = append(head, make([]byte, tree.TarPadding(int64(len(buildManifest))))...)
	second, err := tree.TarHeader(FacetTarGzip, size)
	if err != nil {
		return err
	}
	head = append(head, second...)
	if _, err := w.Write(head); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(tarGzip, size))
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%s has %d bytes, and had %d", FacetTarGzip, n, size)
	}
	padding := tree.TarPadding(size)
	total := int64(len(head)) + size + padding
	_, err = w.Write(make([]byte, padding+tree.TarEnd(total)))
	return err
}
