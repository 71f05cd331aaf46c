package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// MaxArchive is the default limit of an uploaded archive, in bytes.
const MaxArchive = 64 << 20

// Archives is the transport of one kind of archive. It takes uploads and gives
// downloads, and knows nothing of what is inside: that is for Accept and Find, with
// which a kind is mounted. Paths, under /v0 and /v0.1:
//
//	POST /KIND/{name}/versions                         the archive as the body, streamed
//	GET  /KIND/{name}/versions/{version}/archive       its bytes; HEAD, Range, If-None-Match
//
// and whatever Answer answers. The kinds that a registry takes are [registry.ArchiveKind]s.
//
// A name that begins with @ has two parts, such as @acme/notes, of which the slash may
// be URL-encoded or not.
//
// An upload is spooled to a file while it is hashed, with its limit enforced on the
// bytes and not on what a header says. Accept judges it and calls keep when nothing
// but the record is missing, so that a blob is there before a record names it. One
// that then gets no record is harmless.
type Archives struct {
	Kind  string // as in the path: "facets"
	Blobs registry.Blobs

	// Accept authenticates and judges an upload, calls keep, and inserts the record.
	// The answer's body is JSON. An error that is a *Problem is answered as it is. A
	// request that must not upload at all is refused by Authorize.
	Accept func(ctx context.Context, u Upload, keep func(context.Context) error) (status int, body any, err error)

	// Authorize is asked before the body is read, and what it returns is the upload's
	// Grant. It may be nil.
	Authorize func(r *http.Request, name string) (*registry.Grant, error)

	// Answer answers the other paths of the kind with JSON: rest is what follows a name,
	// and of the kind itself the name is "". Without a body there is no such path. It may
	// be nil.
	Answer func(w http.ResponseWriter, r *http.Request, name string, rest []string) (body any, err error)

	// Find returns the archive of a version, ErrNotFound, or a *Problem (410 for one
	// that was deleted).
	Find func(ctx context.Context, name, version string) (Archive, error)

	Limit   int64         // bytes of an upload; 0 is MaxArchive
	Spool   string        // directory for uploads under way; "" is the system's
	Presign time.Duration // sends downloads to the blobs' own URLs, valid so long; 0 serves them
	Timeout time.Duration // of a whole upload; 0 is DefaultTimeout

	// Parallel is how many uploads are taken at once; more are told to come back. 0 is
	// defaultUploads. Their files may fill Parallel times Limit bytes of the spool.
	Parallel int
}

const defaultUploads = 16

// Upload is an archive that was received whole.
type Upload struct {
	Name    string          // from the path, decoded, not judged
	Grant   *registry.Grant // what Authorize returned
	Request *http.Request
	Digest  digest.Digest // sha256
	Size    int64
	Bytes   io.ReaderAt // valid until Accept returns
}

// Archive is what a version's archive is.
type Archive struct {
	Digest digest.Digest // sha256 of its bytes, under which the blob is kept
	Name   string        // of the file that a download is saved as; "" is none
}

// SplitName splits an escaped path into the name at its start and what follows.
func SplitName(path string) (name string, rest []string, ok bool) {
	var parts []string
	for p := range strings.SplitSeq(path, "/") {
		decoded, err := url.PathUnescape(p)
		if err != nil || decoded == "" {
			return "", nil, false
		}
		parts = append(parts, decoded)
	}
	name, rest = parts[0], parts[1:]
	if strings.HasPrefix(name, "@") && !strings.Contains(name, "/") {
		if len(rest) == 0 {
			return "", nil, false
		}
		name, rest = name+"/"+rest[0], rest[1:]
	}
	return name, rest, true
}
