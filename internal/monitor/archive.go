package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// recomputeArchive downloads the archive of a record that matches its entry, once, and compares its
// hashes with the record. It skips deleted versions, whose archives are not served.
func (m *monitor) recomputeArchive(ctx context.Context, rec registry.ArchiveRecord) error {
	index, ok := m.state.replay.Find(ledger.Kind(rec.Kind), rec.Name, rec.Version)
	if !ok || m.recomputed[index] || rec.Status == registry.Deleted {
		return nil
	}
	subject := ledger.Leaf{Kind: ledger.Kind(rec.Kind), Name: rec.Name, Version: rec.Version}.Subject()
	differs := func(expected, actual string) {
		m.addAnomaly(Anomaly{What: AnomalyArchive, Index: &index, Subject: subject, Expected: expected, Actual: actual})
	}
	want := fmt.Sprintf("content_integrity %s, content_hash %s", rec.ContentIntegrity, rec.ContentHash)
	body, _, err := m.source.openArchive(ctx, rec.Kind, rec.Name, rec.Version)
	var p *registry.Problem
	switch {
	case errors.As(err, &p) && p.Status == http.StatusGone:
		// The version may have been deleted after it was listed: then the log says so.
		if deleted, err := m.deletedSince(ctx, index); err != nil || deleted || !m.consistent {
			return err
		}
		differs(want, "not served, and the log does not say that it was deleted: "+err.Error())
		return nil
	case trail.IsNotFound(err):
		differs(want, "not served")
		return nil
	case err != nil:
		return err
	}
	defer body.Close()
	counted := &ErrorReader{Reader: body}
	integrity, hash, err := ArchiveHashes(ctx, ledger.Kind(rec.Kind), counted)
	if counted.Err != nil {
		return counted.Err // the connection's
	}
	m.archives++
	m.recomputed[index] = true
	if err != nil {
		differs(want, err.Error())
		return nil
	}
	if !evidence.Same(rec.ContentIntegrity, integrity) || !evidence.Same(rec.ContentHash, hash) {
		differs(want, fmt.Sprintf("content_integrity %s, content_hash %s", integrity, hash))
	}
	return nil
}

// deletedSince follows the log for a while, and reports whether it now says that the version of an
// entry was deleted.
func (m *monitor) deletedSince(ctx context.Context, index int64) (bool, error) {
	for range settleTries {
		if err := m.followLog(ctx); err != nil || !m.consistent {
			return false, err
		}
		if m.state.statuses[index] == isDeleted {
			return true, nil
		}
		if err := m.host.Pause(ctx, settleWait); err != nil {
			return false, err
		}
	}
	return false, nil
}

// ArchiveHashes recomputes the hashes of an archive. A plugin's zip is written to a temporary file
// first, because its directory is at its end.
func ArchiveHashes(ctx context.Context, kind ledger.Kind, r io.Reader) (integrity, hash digest.Digest, err error) {
	limits := archive.Limits{Packed: registry.MaxBlob}
	if kind != ledger.Plugin {
		a, err := facet.Read(r, limits, nil)
		if err != nil {
			return integrity, hash, err
		}
		return a.Integrity, a.ContentHash, nil
	}
	spool, err := os.CreateTemp("", "archive-")
	if err != nil {
		return integrity, hash, err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	size, err := io.Copy(spool, io.LimitReader(r, registry.MaxBlob+1))
	if err != nil {
		return integrity, hash, err
	}
	c, err := registry.PluginKind(limits).Read(ctx, io.NewSectionReader(spool, 0, size))
	if err != nil {
		return integrity, hash, err
	}
	return c.ContentIntegrity, c.ContentHash, nil
}

// ErrorReader keeps the error, other than io.EOF, that its Reader ended with, so that callers can
// tell a broken connection from a malformed archive.
type ErrorReader struct {
	Reader io.Reader
	Err    error
}

// Read reads from Reader, and keeps its error.
func (b *ErrorReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		b.Err = err
	}
	return n, err
}
