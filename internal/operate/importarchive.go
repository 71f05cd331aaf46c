package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// archiveImporter restores archives from an export. It collects the parts of an archive in a
// temporary file; when the record follows it recomputes all that the record claims.
type archiveImporter struct {
	*importer
	blobs    registry.Blobs // nil until the first archive is stored
	spool    *os.File       // nil without parts
	sum      digest.Digest  // of the archive whose parts are collected
	size     int64
	partsErr error // why the parts cannot be used
}

// takePart takes one part, or the record that ends an archive. It counts what is wrong with an
// archive; an error is a failure of this machine.
func (a *archiveImporter) takePart(ctx context.Context, part blobs.Archive) error {
	if part.Archive == nil {
		return a.collectPart(part)
	}
	defer a.dropParts()
	rec := *part.Archive
	err := a.partsErr
	switch {
	case !a.Restore:
		err = errors.New("archives are taken from an export of this registry itself only, with --restore")
	case err == nil && a.spool == nil:
		err = errors.New("its archive does not come before it")
	}
	if err != nil {
		a.addRefused(nameOfArchive(rec), err)
		return nil
	}
	return a.insertArchive(ctx, rec)
}

// collectPart appends a part to those that were collected.
func (a *archiveImporter) collectPart(part blobs.Archive) (err error) {
	if part.Offset == 0 {
		a.dropParts()
		a.sum = part.Blob
		if a.spool, err = os.CreateTemp("", "archive-"); err != nil {
			return err
		}
	}
	switch {
	case a.partsErr != nil || a.spool == nil:
		return nil
	case a.sum.String() != part.Blob.String() || a.size != part.Offset:
		a.partsErr = errors.New("the parts of its archive do not follow one another")
		return nil
	case a.size+int64(len(part.Data)) > registry.MaxBlob:
		a.partsErr = fmt.Errorf("its archive has more than %d bytes", registry.MaxBlob)
		return nil
	}
	n, err := a.spool.Write(part.Data)
	a.size += int64(n)
	return err
}

// dropParts removes the collected parts.
func (a *archiveImporter) dropParts() {
	if a.spool != nil {
		a.spool.Close()
		os.Remove(a.spool.Name())
	}
	a.spool, a.sum, a.size, a.partsErr = nil, digest.Digest{}, 0, nil
}

// insertArchive recomputes the record's claims, stores the archive, then inserts the record.
func (a *archiveImporter) insertArchive(ctx context.Context, rec registry.ArchiveRecord) error {
	if err := checkArchiveRecord(rec); err != nil {
		a.addRefused(nameOfArchive(rec), err)
		return nil
	}
	kinds := registry.ArchiveKinds(archive.Limits{Packed: registry.MaxBlob})
	rec.StatusMessage = document.Clip(strings.ReplaceAll(rec.StatusMessage, "\x00", ""), registry.MaxStatusMessage)
	got, report, err := blobs.ReadArchive(ctx, kinds, rec, io.NewSectionReader(a.spool, 0, a.size))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.addRefused(nameOfArchive(rec), err)
		return nil
	}
	verdict := policy.Judge(policy.Accept, policy.Settings{}, report)
	if err := verdict.Err(); err != nil {
		a.addConflict(rec.Kind + " " + rec.Subject() + ": the archive is not what it says of itself")
		return nil
	}
	if a.blobs == nil {
		if a.blobs, err = openBlobs(ctx, a.Data, a.Blobs); err != nil {
			return err
		}
	}
	if _, err := a.blobs.Put(ctx, got.ContentHash, got.Size, a.spool); err != nil {
		return fmt.Errorf("store the archive of %s %+q: %w", rec.Kind, rec.Subject(), err)
	}
	here, err := a.db.InsertArchive(ctx, verdict.Admitted(), got)
	switch {
	case errors.Is(err, registry.ErrTooMany):
		a.addRefused(nameOfArchive(rec), err)
	case errors.Is(err, registry.ErrExists):
		if !evidence.Same(here.ContentHash, got.ContentHash) {
			a.addConflict(rec.Kind + " " + rec.Subject() + ": other bytes were published here")
			return nil
		}
		a.out.Present++
	case err != nil:
		return fmt.Errorf("insert %s %+q: %w", rec.Kind, rec.Subject(), err)
	default:
		a.out.Added++
		return a.addFindings(ctx, rec.Findings, got)
	}
	return nil
}

// checkArchiveRecord returns why a record of a dump cannot be one here, whatever its archive is.
func checkArchiveRecord(rec registry.ArchiveRecord) error {
	switch rec.Status {
	case registry.Active, registry.Deprecated, registry.Deleted:
	default:
		return fmt.Errorf("%+.100q is no status", string(rec.Status))
	}
	if slices.ContainsFunc(rec.Findings, func(f registry.Finding) bool { return !isArray(f.Evidence) }) {
		return errors.New("a finding without a list of evidence")
	}
	return nil
}

// addFindings adds findings, which are given newest first, to an archive that was inserted.
func (a *archiveImporter) addFindings(ctx context.Context, found []registry.Finding, to registry.ArchiveRecord) error {
	for _, f := range slices.Backward(found) { // oldest first
		f.Kind, f.Name, f.Version = ledger.Kind(to.Kind), to.Name, to.Version
		if err := a.db.AddArchiveFinding(ctx, f); err != nil {
			return fmt.Errorf("add a finding to %s %+q: %w", to.Kind, to.Subject(), err)
		}
	}
	return nil
}

// nameOfArchive names an archive for people.
func nameOfArchive(rec registry.ArchiveRecord) string {
	return fmt.Sprintf("%.20s %.200s@%.200s", rec.Kind, rec.Name, rec.Version)
}
