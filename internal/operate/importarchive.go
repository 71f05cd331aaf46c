package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/dump"
	"github.com/hallmark-mcp/hallmark/internal/registry/kinds"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// importedArchive restores archives from an export: parts of one are collected in a file
// until its record comes, then everything that the record says is recomputed.
type importedArchive struct {
	*importer
	blobs registry.Blobs // opened with the first archive
	spool *os.File       // nil without parts
	sum   digest.Digest  // of the archive whose parts are there
	size  int64
	bad   error // why the parts are of no use
}

// take takes one part or record. An error is one of this machine; what is wrong with the
// archive is counted.
func (a *importedArchive) take(ctx context.Context, part dump.Archive) error {
	if part.Archive == nil {
		return a.collect(part)
	}
	defer a.drop()
	rec := *part.Archive
	err := a.bad
	switch {
	case !a.Restore:
		err = errors.New("archives are taken from an export of this registry itself only, with --restore")
	case err == nil && a.spool == nil:
		err = errors.New("its archive does not come before it")
	}
	if err != nil {
		a.refuseArchive(rec, err)
		return nil
	}
	return a.insert(ctx, rec)
}

// collect puts a part behind those that are there.
func (a *importedArchive) collect(part dump.Archive) (err error) {
	if part.Offset == 0 {
		a.drop()
		a.sum = part.Blob
		if a.spool, err = os.CreateTemp("", "archive-"); err != nil {
			return err
		}
	}
	switch {
	case a.bad != nil || a.spool == nil:
		return nil
	case a.sum.String() != part.Blob.String() || a.size != part.Offset:
		a.bad = errors.New("the parts of its archive do not follow one another")
		return nil
	case a.size+int64(len(part.Data)) > registry.MaxBlob:
		a.bad = fmt.Errorf("its archive has more than %d bytes", registry.MaxBlob)
		return nil
	}
	n, err := a.spool.Write(part.Data)
	a.size += int64(n)
	return err
}

// drop forgets the parts.
func (a *importedArchive) drop() {
	if a.spool != nil {
		a.spool.Close()
		os.Remove(a.spool.Name())
	}
	a.spool, a.sum, a.size, a.bad = nil, digest.Digest{}, 0, nil
}

// insert recomputes the record, keeps the archive, and then inserts.
func (a *importedArchive) insert(ctx context.Context, rec registry.ArchiveRecord) error {
	switch rec.Status {
	case registry.Active, registry.Deprecated, registry.Deleted:
	default:
		a.refuseArchive(rec, fmt.Errorf("%+.100q is no status", string(rec.Status)))
		return nil
	}
	if slices.ContainsFunc(rec.Findings, func(f registry.Finding) bool { return !isArray(f.Evidence) }) {
		a.refuseArchive(rec, errors.New("a finding without a list of evidence"))
		return nil
	}
	kinds := kinds.All(archive.Limits{Packed: registry.MaxBlob})
	rec.StatusMessage = document.Clip(strings.ReplaceAll(rec.StatusMessage, "\x00", ""), registry.MaxStatusMessage)
	got, report, err := dump.ReadArchive(ctx, kinds, rec, io.NewSectionReader(a.spool, 0, a.size))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.refuseArchive(rec, err)
		return nil
	}
	verdict := policy.Judge(policy.Accept, policy.Settings{}, report)
	if err := verdict.Err(); err != nil {
		a.conflict(rec.Kind + " " + rec.Subject() + ": the archive is not what it says of itself")
		return nil
	}
	if a.blobs == nil {
		if a.blobs, err = OpenBlobs(ctx, a.Data, a.Blobs); err != nil {
			return err
		}
	}
	if _, err := a.blobs.Put(ctx, got.ContentHash, got.Size, a.spool); err != nil {
		return err
	}
	here, err := a.db.InsertArchive(ctx, verdict.Admitted(), got)
	switch {
	case errors.Is(err, registry.ErrTooMany):
		a.refuseArchive(rec, err)
	case errors.Is(err, registry.ErrExists):
		same := evidence.Compare(
			evidence.Claim{Subject: rec.Subject(), Scheme: evidence.File, Authority: evidence.Record, Want: []digest.Digest{here.ContentHash}},
			evidence.Observed{Digests: []digest.Digest{got.ContentHash}})
		if same.Outcome != evidence.Match {
			a.conflict(rec.Kind + " " + rec.Subject() + ": other bytes were published here")
			return nil
		}
		a.out.Present++
	case err != nil:
		return err
	default:
		a.out.Added++
		for _, f := range slices.Backward(rec.Findings) { // oldest first
			f.Kind, f.Name, f.Version = ledger.Kind(got.Kind), got.Name, got.Version
			if err := a.db.AddArchiveFinding(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *importedArchive) refuseArchive(rec registry.ArchiveRecord, why error) {
	if a.out.refused++; a.out.refused <= importNamed {
		a.out.Refused = append(a.out.Refused, surface.Escape(fmt.Sprintf("%.20s %.200s@%.200s: %s", rec.Kind, rec.Name, rec.Version, why)))
	}
}
