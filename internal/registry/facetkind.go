package registry

import (
	"context"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// invalidArchive is the error of an archive that is read, and is not to be published.
func invalidArchive(file, path, format string, args ...any) error {
	return &facet.Invalid{File: file, Issues: []facet.Issue{{Path: path, Message: fmt.Sprintf(format, args...)}}}
}

// readFacet reads the .facet of a facet.
func readFacet(ctx context.Context, r *io.SectionReader, limits archive.Limits) (*ArchiveContent, error) {
	a, c, err := readArchive(ctx, r, limits)
	switch {
	case err != nil:
		return nil, err
	case a.Manifest == nil:
		return nil, invalidArchive("archive", "", "holds a server, which is published under %s",
			Plural(ledger.Artifact))
	case a.Manifest.Private:
		return nil, invalidArchive(facet.ManifestFile, "/private", "a private facet is not published")
	}
	c.Manifest = a.Manifest.Raw
	return c, nil
}

// readServer reads the .facet of a server that is packed from source.
func readServer(ctx context.Context, r *io.SectionReader, limits archive.Limits) (*ArchiveContent, error) {
	a, c, err := readArchive(ctx, r, limits)
	switch {
	case err != nil:
		return nil, err
	case a.Source == nil:
		return nil, invalidArchive("archive", "", "holds a facet, which is published under %s",
			Plural(ledger.Facet))
	}
	c.Manifest, c.APISurface = a.Source.Raw, a.Source.APISurface
	return c, nil
}

// readArchive reads what a .facet of either kind has.
func readArchive(ctx context.Context, r *io.SectionReader,
	limits archive.Limits) (*facet.Archive, *ArchiveContent, error) {
	a, err := facet.Read(ContextReader(ctx, r), limits, nil)
	if err != nil {
		return nil, nil, err
	}
	c := &ArchiveContent{
		Name: a.Name(), Version: a.Version(), ContentIntegrity: a.Integrity, TarSize: a.TarSize,
		ContentHash: a.ContentHash, Assets: a.Digests,
	}
	c.Evidence = a.Evidence(c.Name+"@"+c.Version, "the archive")
	return a, c, nil
}
