package blobs

import (
	"errors"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// blobName is the name of a blob in a directory or bucket, "sha256/ab/abcd…": the
// first byte spreads the blobs over directories.
func blobName(sum digest.Digest) (string, error) {
	if sum.Algorithm() != digest.SHA256 {
		return "", fmt.Errorf("blob %s: not a sha256 digest", sum)
	}
	hex := sum.Hex()
	return "sha256/" + hex[:2] + "/" + hex, nil
}

// content is a reader of size bytes of r that ends with ErrBlobDiffers instead of
// io.EOF if they are not those of sum.
func content(r io.ReaderAt, sum digest.Digest, size int64) io.Reader {
	return &contentReader{digest.NewVerifier(io.NewSectionReader(r, 0, size), sum, size)}
}

type contentReader struct{ r io.Reader }

func (c *contentReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if mismatch := (*digest.MismatchError)(nil); errors.As(err, &mismatch) {
		err = fmt.Errorf("%w: %w", registry.ErrBlobDiffers, err)
	}
	return n, err
}
