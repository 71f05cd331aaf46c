package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
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
// and whatever Answer answers. The kinds that a registry takes are [ArchiveKind]s.
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
	Blobs Blobs

	// Accept authenticates and judges an upload, calls keep, and inserts the record.
	// The answer's body is JSON. An error that is a *Problem is answered as it is. A
	// request that must not upload at all is refused by Authorize.
	Accept func(ctx context.Context, u Upload, keep func(context.Context) error) (status int, body any, err error)

	// Authorize is asked before the body is read, and what it returns is the upload's
	// Grant. It may be nil.
	Authorize func(r *http.Request, name string) (*auth.Grant, error)

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
	Name    string      // from the path, decoded, not judged
	Grant   *auth.Grant // what Authorize returned
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

// archives serves Archives in a server.
type archives struct {
	*Archives
	server  *server
	uploads chan struct{}
}

// mountArchives registers the paths of a kind.
func (s *server) mountArchives(mux *http.ServeMux, a *Archives) error {
	if a.Kind == "" || strings.Trim(a.Kind, "abcdefghijklmnopqrstuvwxyz-") != "" || a.Blobs == nil || a.Accept == nil || a.Find == nil {
		return fmt.Errorf("registry: archives %+q lack a kind, blobs, accept or find", a.Kind)
	}
	c := *a
	if c.Limit <= 0 {
		c.Limit = MaxArchive
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Parallel <= 0 {
		c.Parallel = defaultUploads
	}
	if _, ok := c.Blobs.(Presigner); c.Presign > 0 && !ok {
		return fmt.Errorf("registry: archives %+q: these blobs have no URLs of their own", a.Kind)
	}
	h := &archives{&c, s, make(chan struct{}, c.Parallel)}
	for _, prefix := range []string{"/v0/", "/v0.1/"} {
		mux.HandleFunc(prefix+c.Kind+"/{path...}", func(w http.ResponseWriter, r *http.Request) {
			h.serve(w, r, strings.TrimPrefix(r.URL.EscapedPath(), prefix+c.Kind+"/"))
		})
		if c.Answer != nil {
			mux.HandleFunc(prefix+c.Kind, func(w http.ResponseWriter, r *http.Request) {
				h.fail(w, r, "", h.answer(w, r, "", nil))
			})
		}
	}
	return nil
}

// splitName splits an escaped path into the name at its start and what follows.
func splitName(path string) (name string, rest []string, ok bool) {
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

// serve routes a request. The library's patterns cannot: whether a name has one part
// or two is told by the name.
func (h *archives) serve(w http.ResponseWriter, r *http.Request, path string) {
	name, rest, ok := splitName(path)
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	var err error
	switch {
	case ok && len(rest) == 1 && rest[0] == "versions" && (r.Method == http.MethodPost || h.Answer == nil):
		if r.Method != http.MethodPost {
			err = notAllowed(w, http.MethodPost)
			break
		}
		err = h.upload(w, r, name)
	case ok && len(rest) == 3 && rest[0] == "versions" && rest[2] == "archive":
		if !get {
			err = notAllowed(w, "GET, HEAD")
			break
		}
		err = h.download(w, r, name, rest[1])
	case ok && len(rest) > 0 && h.Answer != nil:
		err = h.answer(w, r, name, rest)
	default:
		err = problem(http.StatusNotFound, "no such path")
	}
	h.fail(w, r, name, err)
}

// notAllowed refuses a method.
func notAllowed(w http.ResponseWriter, allow string) error {
	w.Header().Set("Allow", allow)
	return problem(http.StatusMethodNotAllowed, "the path does not take this method")
}

// answer answers a path that is neither an upload nor a download.
func (h *archives) answer(w http.ResponseWriter, r *http.Request, name string, rest []string) error {
	body, err := h.Answer(w, r, name, rest)
	switch {
	case err != nil:
		return err
	case body == nil:
		return problem(http.StatusNotFound, "no such path")
	}
	return writeJSON(w, http.StatusOK, body)
}

// fail answers an error, if there is one.
func (h *archives) fail(w http.ResponseWriter, r *http.Request, name string, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, ErrNotFound) {
		err = problem(http.StatusNotFound, "%s %+.200q not found", strings.TrimSuffix(h.Kind, "s"), name)
	}
	var p *Problem
	if errors.As(h.server.failure(r.Context(), err), &p) {
		writeProblem(w, p)
	}
}

// upload takes one archive.
func (h *archives) upload(w http.ResponseWriter, r *http.Request, name string) error {
	// A refusal does not wait for the body; the connection is then of no more use.
	w.Header().Set("Connection", "close")
	if r.ContentLength > h.Limit {
		return h.tooLarge()
	}
	var grant *auth.Grant
	if h.Authorize != nil {
		var err error
		if grant, err = h.Authorize(r, name); err != nil {
			return err
		}
	}
	select {
	case h.uploads <- struct{}{}:
		defer func() { <-h.uploads }()
	default:
		p := problem(http.StatusServiceUnavailable, "%d uploads are under way; try again", h.Parallel)
		p.RetryAfter = databaseRetry
		return p
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	spool, err := os.CreateTemp(h.Spool, "upload-")
	if err != nil {
		return err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	hasher := digest.NewHasher()
	// One byte more than the limit tells an archive that is too large from one that is
	// not; a client that is slow has its time to send each part, not the whole.
	size, err := io.Copy(io.MultiWriter(spool, hasher), io.LimitReader(&steadyReader{ctx, r.Body, http.NewResponseController(w)}, h.Limit+1))
	switch {
	case size > h.Limit:
		return h.tooLarge()
	case err != nil && ctx.Err() == nil:
		return problem(http.StatusBadRequest, "the archive did not arrive whole: %d bytes", size)
	case err != nil:
		return err
	}
	w.Header().Del("Connection")
	u := Upload{Name: name, Grant: grant, Request: r, Digest: hasher.Digest(digest.SHA256), Size: size, Bytes: spool}
	keep := func(ctx context.Context) error {
		_, err := h.Blobs.Put(ctx, u.Digest, u.Size, u.Bytes)
		return err
	}
	// Judging and keeping take their time too, before there is an answer to send.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.Timeout + writeTimeout))
	status, body, err := h.Accept(ctx, u, keep)
	if err != nil {
		return err
	}
	return writeJSON(w, status, body)
}

// tooLarge refuses an upload, the rest of which is not read.
func (h *archives) tooLarge() error {
	return problem(http.StatusRequestEntityTooLarge, "an archive has at most %d bytes", h.Limit)
}

// steadyReader reads a body of which every part arrives within bodyTimeout: what the
// server grants a whole body is too little for an archive, and no limit would let
// idle clients hold their place.
type steadyReader struct {
	ctx        context.Context
	r          io.Reader
	connection *http.ResponseController
}

func (s *steadyReader) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	// Not every connection has a deadline, those of tests for one.
	_ = s.connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	return s.r.Read(p)
}

// download gives an archive.
func (h *archives) download(w http.ResponseWriter, r *http.Request, name, version string) error {
	found, err := h.Find(r.Context(), name, version)
	if err != nil {
		return err
	}
	header := w.Header()
	etag := `"` + found.Digest.String() + `"`
	if h.Presign > 0 {
		to, err := h.Blobs.(Presigner).Presign(r.Context(), found.Digest, h.Presign)
		if err != nil {
			return err
		}
		header.Set("Cache-Control", "no-store") // the URL does not last
		header.Set("ETag", etag)
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return nil
	}
	size, err := h.Blobs.Stat(r.Context(), found.Digest)
	if errors.Is(err, ErrNotFound) {
		// A record names it: that is our fault, and not the client's.
		return fmt.Errorf("archive of %+q: blob %s is missing", name, found.Digest)
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
	blobs Blobs
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
	_ = b.w.SetWriteDeadline(time.Now().Add(writeTimeout))
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
