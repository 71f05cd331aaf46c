package kinds

import (
	"context"
	"fmt"
	"io"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Facets are the kinds of archives that package facet reads: facets, and servers that
// are packed from source.
func Facets(limits archive.Limits) []Kind {
	return []Kind{
		{ledger.Facet, func(ctx context.Context, r *io.SectionReader) (*Content, error) {
			return readFacet(ctx, ledger.Facet, r, limits)
		}},
		{ledger.Artifact, func(ctx context.Context, r *io.SectionReader) (*Content, error) {
			return readFacet(ctx, ledger.Artifact, r, limits)
		}},
	}
}

// invalidArchive is the error of an archive that is read, and is not to be published.
func invalidArchive(file, path, format string, args ...any) error {
	return &facet.Invalid{File: file, Issues: []facet.Issue{{Path: path, Message: fmt.Sprintf(format, args...)}}}
}

// readFacet reads a .facet of one kind.
func readFacet(ctx context.Context, kind ledger.Kind, r *io.SectionReader, limits archive.Limits) (*Content, error) {
	a, err := facet.Read(registry.ContextReader(ctx, r), limits, nil)
	if err != nil {
		return nil, err
	}
	c := &Content{
		Name: a.Name(), Version: a.Version(), ContentIntegrity: a.Integrity, TarSize: a.TarSize, ContentHash: a.ContentHash, Assets: a.Digests,
	}
	switch {
	case kind == ledger.Facet && a.Manifest == nil:
		return nil, invalidArchive("archive", "", "holds a server, which is published under %s", registry.Plural(ledger.Artifact))
	case kind == ledger.Artifact && a.Source == nil:
		return nil, invalidArchive("archive", "", "holds a facet, which is published under %s", registry.Plural(ledger.Facet))
	case a.Source != nil:
		c.Manifest, c.APISurface = a.Source.Raw, a.Source.APISurface
	case a.Manifest.Private:
		return nil, invalidArchive(facet.ManifestFile, "/private", "a private facet is not published")
	default:
		c.Manifest = a.Manifest.Raw
	}
	c.Evidence = a.Evidence(c.Name+"@"+c.Version, "the archive")
	return c, nil
}
