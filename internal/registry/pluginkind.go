package registry

import (
	"context"
	"errors"
	"io"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/plugin"
	"github.com/hallmark-mcp/hallmark/tree"
)

// readPlugin reads the zip of a plugin. Its files are unpacked for each hash anew, and
// not held.
func readPlugin(ctx context.Context, r *io.SectionReader, limits archive.Limits) (*ArchiveContent, error) {
	if limits.Unpacked <= 0 {
		limits.Unpacked = plugin.MaxBytes
	}
	packed, _, err := digest.FromReader(ContextReader(ctx, r))
	if err != nil {
		return nil, err
	}
	files, open, err := archive.OpenZip(r, r.Size(), limits)
	if err != nil {
		return nil, err
	}
	b, err := plugin.OpenBundle(ctx, files, open)
	if err != nil {
		return nil, invalidPlugin(err)
	}
	m, err := plugin.Parse(b.Manifest)
	if err != nil {
		return nil, invalidPlugin(err)
	}
	result, report, err := plugin.Observe(ctx, b, m)
	if err != nil {
		return nil, err
	}
	c := &ArchiveContent{Name: m.Name, Version: m.Version, ContentIntegrity: result.Tree, TarSize: b.Bytes(),
		ContentHash: packed, Manifest: m.Raw, Evidence: report}
	c.Assets, err = tree.Digests(ctx, files, open, 1)
	return c, err
}

// invalidPlugin returns the error of an invalid plugin in the form that other archives use.
func invalidPlugin(err error) error {
	var invalid *plugin.Invalid
	if !errors.As(err, &invalid) {
		return err
	}
	out := &facet.Invalid{File: plugin.ManifestFile}
	for _, i := range invalid.Issues {
		out.Issues = append(out.Issues, facet.Issue(i))
	}
	return out
}
