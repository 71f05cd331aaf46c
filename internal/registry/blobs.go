package registry

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
)

// Blobs keeps the bytes of archives, each under its sha256. Implementations are safe
// for concurrent use, by several processes too, and pass the same conformance suite.
//
// A blob never changes, and nothing here removes one: a blob that no record names is
// harmless.
type Blobs interface {
	// Put keeps the first size bytes of r under sum, which is a sha256 digest, unless
	// the blob exists already: then it reads nothing, and stored is false. Of several
	// concurrent puts one stores and the others find it stored. The blob is on disk when
	// Put returns without an error. After an error, or a kill at any moment, it is there
	// whole or not at all. Bytes that do not have the size and digest are
	// ErrBlobDiffers, and nothing is kept.
	Put(ctx context.Context, sum digest.Digest, size int64, r io.ReaderAt) (stored bool, err error)

	// Open returns the bytes from offset on, at most length of them; a negative length
	// is all of them. A missing blob is ErrNotFound. Open does not hash the bytes again:
	// the caller must do so before it relies on them.
	Open(ctx context.Context, sum digest.Digest, offset, length int64) (io.ReadCloser, error)

	// Stat returns the size of a blob, or ErrNotFound.
	Stat(ctx context.Context, sum digest.Digest) (size int64, err error)

	// Check is nil if blobs can be reached.
	Check(ctx context.Context) error
}

// Presigner is implemented by blobs that clients can be sent to.
type Presigner interface {
	// Presign returns a URL that gives the blob to anybody for as long as d.
	Presign(ctx context.Context, sum digest.Digest, d time.Duration) (string, error)
}

// ErrBlobDiffers says that bytes do not have the digest or size that they were put
// under.
var ErrBlobDiffers = errors.New("bytes differ from their digest or size")

// MaxBlob is the most bytes of one blob.
const MaxBlob = 1 << 30
