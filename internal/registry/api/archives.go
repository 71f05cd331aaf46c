package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// archives serves Archives in a server.
type archives struct {
	*Archives
	server  *Server
	uploads chan struct{}
}

// mountArchives registers the paths of a kind.
func (s *Server) mountArchives(mux *http.ServeMux, a *Archives) error {
	if a.Kind == "" || strings.Trim(a.Kind, "abcdefghijklmnopqrstuvwxyz-") != "" || a.Blobs == nil || a.Accept == nil ||
		a.Find == nil {
		return fmt.Errorf("registry: archives %+q lack a kind, blobs, accept or find", a.Kind)
	}
	c := *a
	if c.Limit <= 0 {
		c.Limit = MaxArchive
	}
	if c.Timeout <= 0 {
		c.Timeout = registry.DefaultTimeout
	}
	if c.Parallel <= 0 {
		c.Parallel = defaultUploads
	}
	if _, ok := c.Blobs.(registry.Presigner); c.Presign > 0 && !ok {
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

// serve routes a request. The library's patterns cannot: whether a name has one part
// or two is told by the name.
func (h *archives) serve(w http.ResponseWriter, r *http.Request, path string) {
	name, rest, ok := SplitName(path)
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
		err = registry.NewProblem(http.StatusNotFound, "no such path")
	}
	h.fail(w, r, name, err)
}

// answer answers a path that is neither an upload nor a download.
func (h *archives) answer(w http.ResponseWriter, r *http.Request, name string, rest []string) error {
	body, err := h.Answer(w, r, name, rest)
	switch {
	case err != nil:
		return err
	case body == nil:
		return registry.NewProblem(http.StatusNotFound, "no such path")
	}
	return writeJSON(w, http.StatusOK, body)
}

// fail answers an error, if there is one.
func (h *archives) fail(w http.ResponseWriter, r *http.Request, name string, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, registry.ErrNotFound) {
		err = registry.NewProblem(http.StatusNotFound, "%s %+.200q not found", strings.TrimSuffix(h.Kind, "s"), name)
	}
	var p *registry.Problem
	if errors.As(h.server.Failure(r.Context(), err), &p) {
		WriteProblem(w, p)
	}
}

// upload takes one archive.
func (h *archives) upload(w http.ResponseWriter, r *http.Request, name string) error {
	// A refusal does not wait for the body; the connection is then of no more use.
	w.Header().Set("Connection", "close")
	if r.ContentLength > h.Limit {
		return h.tooLarge()
	}
	var grant *registry.Grant
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
		p := unavailable("%d uploads are under way; try again", h.Parallel)
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
	u := Upload{Name: name, Grant: grant, Request: r, Bytes: spool}
	body := &steadyReader{ctx, r.Body, http.NewResponseController(w)}
	if u.Digest, u.Size, err = h.receive(spool, body); err != nil {
		return err
	}
	w.Header().Del("Connection")
	keep := func(ctx context.Context) error {
		_, err := h.Blobs.Put(ctx, u.Digest, u.Size, u.Bytes)
		return err
	}
	// Judging and keeping take their time too, before there is an answer to send.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.Timeout + registry.WriteTimeout))
	status, answer, err := h.Accept(ctx, u, keep)
	if err != nil {
		return err
	}
	return writeJSON(w, status, answer)
}

// receive writes the body of an upload to a file, and returns its digest and size.
func (h *archives) receive(spool io.Writer, body *steadyReader) (sum digest.Digest, size int64, err error) {
	hasher := digest.NewHasher()
	// One byte more than the limit tells an archive that is too large from one that is
	// not; a client that is slow has its time to send each part, not the whole.
	size, err = io.Copy(io.MultiWriter(spool, hasher), io.LimitReader(body, h.Limit+1))
	switch {
	case size > h.Limit:
		return sum, size, h.tooLarge()
	case err != nil && body.ctx.Err() == nil:
		return sum, size, registry.NewProblem(http.StatusBadRequest, "the archive did not arrive whole: %d bytes", size)
	case err != nil:
		return sum, size, err
	}
	return hasher.Digest(digest.SHA256), size, nil
}

// tooLarge refuses an upload, the rest of which is not read.
func (h *archives) tooLarge() error {
	return registry.NewProblem(http.StatusRequestEntityTooLarge, "an archive has at most %d bytes", h.Limit)
}

// steadyReader reads a body of which every part arrives within registry.BodyTimeout: what the
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
	_ = s.connection.SetReadDeadline(time.Now().Add(registry.BodyTimeout))
	return s.r.Read(p)
}
