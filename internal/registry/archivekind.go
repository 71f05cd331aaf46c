package registry

import (
	"context"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// ArchiveKind is a kind of what a registry publishes. Everything in which kinds differ is a member, so
// that no other code compares names of kinds. The table of [ArchiveKindOf] has a row for each; to add a kind,
// add a row and the file that reads its archives.
type ArchiveKind struct {
	Kind  ledger.Kind // paths have the plural
	Title string      // of a list, for people

	// Fingerprint is what the content_integrity of an archive is.
	Fingerprint evidence.Scheme

	// FileName is the name of the file that an archive is saved as.
	FileName func(name, version string) string

	// Shows is true for a kind of server, whose publisher may claim an api_surface: what it shows
	// to a model.
	Shows bool

	// Install are the texts that a person copies to use a version; local is what a project
	// may call it.
	Install func(name, version, local string) []string

	// Read reads an archive of the kind to its end, in memory that does not grow with it,
	// and recomputes everything that it claims of itself. An error of the class
	// validation says what is wrong with the archive; other errors are this machine's. It
	// is called concurrently. It is nil for documents, and for a kind of [ArchiveKindOf].
	Read func(ctx context.Context, archive *io.SectionReader) (*ArchiveContent, error)

	read func(context.Context, *io.SectionReader, archive.Limits) (*ArchiveContent, error)
}

// ArchiveContent is what was computed and read of an archive.
type ArchiveContent struct {
	Name, Version    string // as its manifest says
	ContentIntegrity digest.Digest
	TarSize          int64 // bytes of the contents that ContentIntegrity was computed of
	ContentHash      digest.Digest
	Manifest         []byte
	Assets           map[string]digest.Digest // of each member, by path
	APISurface       digest.Digest            // that its manifest claims; zero if it does not
	Evidence         evidence.Report          // of everything that the archive claims of itself
}

// ReportArchive is the evidence with which an archive is admitted: what it claims of
// itself, and what it and its manifest are found to be, which nobody claims.
func ReportArchive(rec ArchiveRecord, content *ArchiveContent, document digest.Digest) evidence.Report {
	found := func(scheme evidence.Scheme, d digest.Digest, size int64) evidence.Evidence {
		return evidence.Compare(evidence.Claim{Subject: rec.Subject(), Scheme: scheme, Authority: evidence.Publisher},
			evidence.Observed{Digests: []digest.Digest{d}, Size: size})
	}
	return append(evidence.Report{
		found(evidence.Document, document, int64(len(rec.Manifest))),
		found(evidence.File, content.ContentHash, rec.Size),
	}, content.Evidence...)
}

// SameArchive reports whether two records are of the same bytes.
func SameArchive(first, rec ArchiveRecord) bool {
	e := evidence.Compare(
		evidence.Claim{Subject: rec.Subject(), Scheme: evidence.File, Authority: evidence.Record,
			Want: []digest.Digest{first.ContentHash}},
		evidence.Observed{Digests: []digest.Digest{rec.ContentHash}})
	return e.Outcome == evidence.Match
}
