package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// stagingFile is what is needed of an *os.File.
type stagingFile interface {
	io.Writer
	io.Seeker
	io.Closer
	Name() string
	Truncate(size int64) error
}

func createTemp(dir string) (stagingFile, error) {
	f, err := os.CreateTemp(dir, "hallmark-*") // mode 0600
	if err != nil {
		return nil, err
	}
	return f, nil
}

// fileSink writes to a file and hashes.
type fileSink struct {
	file   stagingFile
	algs   []digest.Algorithm
	hasher *digest.Hasher
}

func (s *fileSink) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.hasher.Write(p[:n])
	return n, err
}

func (s *fileSink) reset() error {
	s.hasher = digest.NewHasher(s.algs...)
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return s.file.Truncate(0)
}

// download brings the body of r into a staging file.
func (c *Client) download(ctx context.Context, ref artifact.Ref, n *network, r request, algs []digest.Algorithm) (_ *Download, err error) {
	file, err := c.config.create(c.config.Dir)
	if err != nil {
		return nil, c.staging(ref, err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	to := &fileSink{file: file, algs: algs, hasher: digest.NewHasher(algs...)}
	t := &transfer{net: n, hosts: c.hosts, request: r, limits: c.limits, most: cmp.Or(r.most, c.limits.FileSize),
		together: c.together, held: c.held, sink: to, log: c.log}
	defer func() {
		if err != nil {
			c.held.give(t.done)
		}
	}()
	if c.config.Progress != nil {
		t.progress = func(done, total int64) { c.config.Progress(ref, done, total) }
	}
	if err := t.run(ctx); err != nil {
		return nil, c.explain(ctx, ref, r.url, err)
	}
	if err := file.Close(); err != nil {
		return nil, c.staging(ref, err)
	}
	return &Download{
		Ref: ref,
		Observed: evidence.Observed{
			Digests: to.hasher.Digests(),
			Size:    to.hasher.Size(),
			From:    show(r.url),
		},
		path: file.Name(),
		free: func() { c.held.give(t.done) },
	}, nil
}

// documentSink holds a document in memory. Its transfer bounds it.
type documentSink struct{ bytes.Buffer }

func (s *documentSink) reset() error { s.Reset(); return nil }

// document brings the body of r, a registry's document, into memory.
func (c *Client) document(ctx context.Context, ref artifact.Ref, n *network, r request) ([]byte, error) {
	var to documentSink
	t := &transfer{net: n, hosts: c.hosts, request: r, limits: c.limits, most: cmp.Or(r.most, c.limits.DocumentSize),
		together: c.together, sink: &to, log: c.log}
	if err := t.run(ctx); err != nil {
		return nil, c.explain(ctx, ref, r.url, err)
	}
	return to.Bytes(), nil
}

// staging is an error of this machine's disk.
func (c *Client) staging(ref artifact.Ref, err error) error {
	dir := c.config.Dir
	if dir == "" {
		dir = os.TempDir()
	}
	return fmt.Errorf("%s: staging the download in %s: %w", name(ref.String()), dir, err)
}

// explain makes the error of a transfer into one of the three kinds that the
// package comment names. What a person has to agree to first stays as it is.
func (c *Client) explain(ctx context.Context, ref artifact.Ref, u *url.URL, err error) error {
	if refusedUse(err) {
		return err
	}
	var f *failure
	if errors.As(err, &f) {
		return &Error{Ref: ref.String(), Cause: f.cause, URL: show(u), Status: f.status, Err: f.err, Hint: f.hint}
	}
	if ctx.Err() != nil {
		return interrupted(ctx, ref)
	}
	return c.staging(ref, err)
}
