package obtain

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/pack"
	"github.com/hallmark-mcp/hallmark/project"
)

// fromDirectory packs a facet of a directory of this machine. The lock follows the directory, unless
// it is the only authority.
func (s *Sources) fromDirectory(ctx context.Context, f project.Facet,
	locked *project.FacetLock, q *inquiry) (stored, error) {
	dir := filepath.FromSlash(f.Path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Workspace.Dir, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return stored{}, evidence.Errorf(evidence.Validation, f.Name, "", err)
	}
	defer root.Close()
	source, where := &pack.SourceDir{Root: root}, f.Name+" in "+f.Path
	if err := source.List(); err != nil {
		return stored{}, pack.DirError(where, err)
	}
	var packed bytes.Buffer
	if _, err := facet.Pack(ctx, &packed, source.Files, source.Open, s.o.Limits); err != nil {
		return stored{}, pack.DirError(where, err)
	}
	c := claims{name: f.Name, entry: project.FacetLock{Source: f.Source(s.Workspace.Config.Registry)}}
	if s.o.Frozen && locked != nil {
		c.entry, c.locked = *locked, locked
	}
	return s.unpack(ctx, c, packedArchive{body: &packed, from: f.Path, claims: c.ofLock()}, q)
}
