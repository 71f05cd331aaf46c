package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// download gives an archive.
func (h *archives) download(w http.ResponseWriter, r *http.Request, name, version string) error {
	found, err := h.Find(r.Context(), name, version)
	if err != nil {
		return err
	}
	header := w.Header()
	etag := `"` + found.Digest.String() + `"`
	if h.Presign > 0 {
		to, err := h.Blobs.(registry.Presigner).Presign(r.Context(), found.Digest, h.Presign)
		if err != nil {
			return err
		}
		header.Set("Cache-Control", "no-store") // the URL does not last
		header.Set("ETag", etag)
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return nil
	}
	size, err := h.Blobs.Stat(r.Context(), found.Digest)
	if errors.Is(err, registry.ErrNotFound) {
		// A record names it: that is our fault, and not the client's.
		Logger(r.Context()).Error("archive missing", "name", name, "version", version, "blob", found.Digest,
			"hint", "put the blobs of a backup back, or serve with the --data or --blobs that has them; "+
				"'hallmark-registry reverify' names all that are missing")
		return registry.NewProblem(http.StatusInternalServerError, "the archive of %+q is recorded, and is not where "+
			"this registry keeps its archives: its operator can put it back from a backup, and its publisher by "+
			"publishing the same file again", name)
	}
	if err != nil {
		return err
	}
	b := &blobReader{ctx: r.Context(), blobs: h.Blobs, sum: found.Digest, size: size, w: http.NewResponseController(w)}
	defer b.Close()
	if r.Method == http.MethodGet && r.Header.Get("Range") == "" && r.Header.Get("If-None-Match") == "" {
		// As long as nothing is sent the client can be told to come back.
		if b.open, err = h.Blobs.Open(r.Context(), found.Digest, 0, -1); err != nil {
			return err
		}
	}
	header.Set("ETag", etag)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Content-Type", "application/octet-stream")
	header.Set("X-Content-Digest", found.Digest.String())
	if found.Name != "" {
		header.Set("Content-Disposition", `attachment; filename="`+strings.Map(fileCharacter, found.Name)+`"`)
	}
	http.ServeContent(w, r, "", time.Time{}, b)
	return nil
}

// fileCharacter is c where a file's name may have it, and "_" elsewhere.
func fileCharacter(c rune) rune {
	if strings.ContainsRune("-._@+", c) || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 {
		return c
	}
	return '_'
}

// blobReader is a blob as net/http wants to have it to answer ranges. It opens the
// blob where it is read first, and again where what it read broke off: a blob never
// changes. The time that a client has counts for each part that is sent, so that a large
// archive may go to a slow client.
type blobReader struct {
	ctx   context.Context
	blobs registry.Blobs
	sum   digest.Digest
	size  int64
	w     *http.ResponseController

	offset  int64
	open    io.ReadCloser // may be nil
	at      int64         // what open reads next
	resumed int           // how often it was opened again
}

// maxResumed is how often one download goes on after its blob broke off.
const maxResumed = 3

func (b *blobReader) Read(p []byte) (int, error) {
	for {
		if b.offset >= b.size {
			return 0, io.EOF
		}
		n, err := b.read(p)
		b.offset += int64(n)
		b.at = b.offset
		switch {
		case err == nil, err == io.EOF && b.offset == b.size:
			return n, err
		case err == io.EOF:
			err = io.ErrUnexpectedEOF // so that a truncated blob is not taken for whole
		}
		if b.resumed++; b.resumed > maxResumed || b.ctx.Err() != nil {
			return n, err
		}
		b.Close()
		if n > 0 {
			return n, nil
		}
	}
}

func (b *blobReader) read(p []byte) (n int, err error) {
	if b.open != nil && b.at != b.offset {
		b.Close()
	}
	if b.open == nil {
		if b.open, err = b.blobs.Open(b.ctx, b.sum, b.offset, -1); err != nil {
			return 0, err
		}
	}
	_ = b.w.SetWriteDeadline(time.Now().Add(registry.WriteTimeout))
	return b.open.Read(p)
}

func (b *blobReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.offset
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start")
	}
	b.offset = offset
	return offset, nil
}

func (b *blobReader) Close() error {
	if b.open == nil {
		return nil
	}
	err := b.open.Close()
	b.open = nil
	return err
}
