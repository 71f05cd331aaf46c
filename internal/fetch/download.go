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
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// Download is an artifact on this machine. Close removes its file, unless that is the user's own: see
// [Client.WithFiles].
type Download struct {
	Ref      artifact.Ref
	Observed evidence.Observed // From is the URL asked for, without query

	// Claims are what the package's own registry says of the file; empty if it
	// says nothing that could be compared.
	Claims []evidence.Claim

	// Unverifiable holds the registry's claims that could not be read: malformed,
	// or under an unknown algorithm.
	Unverifiable evidence.Report

	// Yanked is why the publisher has withdrawn the version, "" if it is not
	// withdrawn. The text is the publisher's.
	Yanked string

	// Notes tell a person what is unusual about how the file was fetched.
	Notes []string

	// NPM is the version's document for an npm: Ref, else nil.
	NPM *NPMVersion

	path string
	kept bool   // the file is the user's own
	free func() // returns the file's bytes to the budget of the client
}

// Path returns where the file is. It has mode 0600.
func (d *Download) Path() string { return d.path }

// Open opens the file for reading.
func (d *Download) Open() (*os.File, error) { return os.Open(d.path) }

// MoveTo puts the file to path, where there is none yet; one of the user's own stays where it is, too. The caller
// hashes the result again.
func (d *Download) MoveTo(path string) error {
	if !d.kept && os.Rename(d.path, path) == nil {
		return nil
	}
	in, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Close removes the file. Further calls do nothing.
func (d *Download) Close() error {
	if d.free != nil {
		d.free()
		d.free = nil
	}
	if d.kept {
		return nil
	}
	if err := os.Remove(d.path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%s: remove download: %w", wire.Name(d.Ref.String()), err)
	}
	return nil
}

// newTransfer prepares a transfer for ref, over the network of its ecosystem. The body of a
// request without a bound of its own may have most bytes.
func (c *Client) newTransfer(ref artifact.Ref, r transfer.Request, most int64, to transfer.Sink) *transfer.Transfer {
	r.Most = cmp.Or(r.Most, most)
	return &transfer.Transfer{Network: c.network, Hosts: c.hosts, Request: r,
		Limits: c.limits.forTransfer(), Together: c.together, Sink: to, Log: c.log}
}

// download fetches the body of r into a staging file and hashes it under algs.
func (c *Client) download(ctx context.Context, ref artifact.Ref, r transfer.Request,
	algs []digest.Algorithm) (_ *Download, err error) {
	file, err := c.config.create(c.config.Dir)
	if err != nil {
		return nil, c.stagingError(ref, err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	to := &fileSink{file: file, algs: algs, hasher: digest.NewHasher(algs...)}
	t := c.newTransfer(ref, r, c.limits.FileSize, to)
	t.Held = c.held
	defer func() {
		if err != nil {
			t.Discard()
		}
	}()
	if c.config.Progress != nil {
		t.Progress = func(done, total int64) { c.config.Progress(ref, done, total) }
	}
	if err := t.Run(ctx); err != nil {
		return nil, c.transferError(ctx, ref, r.URL, err)
	}
	if err := file.Close(); err != nil {
		return nil, c.stagingError(ref, err)
	}
	return &Download{
		Ref: ref,
		Observed: evidence.Observed{
			Digests: to.hasher.Digests(),
			Size:    to.hasher.Size(),
			From:    wire.ShowURL(r.URL),
		},
		path: file.Name(),
		free: t.Discard,
	}, nil
}

// documentSink holds a document in memory; the transfer bounds its size.
type documentSink struct{ held bytes.Buffer }

func (s *documentSink) Write(p []byte) (int, error) { return s.held.Write(p) }
func (s *documentSink) Reset() error                { s.held.Reset(); return nil }

// document fetches the body of r, a registry's document, into memory.
func (c *Client) document(ctx context.Context, ref artifact.Ref, r transfer.Request) ([]byte, error) {
	var to documentSink
	if err := c.newTransfer(ref, r, c.limits.DocumentSize, &to).Run(ctx); err != nil {
		return nil, c.transferError(ctx, ref, r.URL, err)
	}
	return to.held.Bytes(), nil
}

// stagingError is the error of this machine's disk.
func (c *Client) stagingError(ref artifact.Ref, err error) error {
	dir := c.config.Dir
	if dir == "" {
		dir = os.TempDir()
	}
	return fmt.Errorf("%s: staging the download in %s: %w", wire.Name(ref.String()), dir, err)
}

// transferError turns the error of a transfer into one of the three kinds that the package
// comment names. A missing consent stays as it is.
func (c *Client) transferError(ctx context.Context, ref artifact.Ref, u *url.URL, err error) error {
	if wire.NotAgreed(err) != nil {
		return err
	}
	if f, ok := errors.AsType[*transfer.Failure](err); ok {
		return &wire.Error{Ref: ref.String(), Cause: f.Cause, URL: wire.ShowURL(u), Status: f.Status,
			Err: f.Err, Hint: f.Hint}
	}
	if ctx.Err() != nil {
		return interruptedError(ctx, ref)
	}
	return c.stagingError(ref, err)
}
