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

// obtainFromDirectory packs a facet of a directory of this machine. The lock follows the
// directory, unless it is the only authority.
func (a *Sources) obtainFromDirectory(ctx context.Context, x *Archive, locked *project.FacetLock) error {
	x.Entry = project.FacetLock{Source: x.Want.Source(a.Workspace.Config.Registry)}
	dir := filepath.FromSlash(x.Want.Path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Workspace.Dir, dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return evidence.Errorf(evidence.Validation, x.Want.Name, "", err)
	}
	defer root.Close()
	source, where := &pack.SourceDir{Root: root}, x.Want.Name+" in "+x.Want.Path
	if err := source.List(); err != nil {
		return pack.DirError(where, err)
	}
	var packed bytes.Buffer
	if _, err := facet.Pack(ctx, &packed, source.Files, source.Open, a.o.Limits); err != nil {
		return pack.DirError(where, err)
	}
	u := packedArchive{body: &packed, from: x.Want.Path}
	if a.o.Frozen && locked != nil {
		x.Entry = *locked
		u.claims = lockClaims(x.Subject(), locked)
	}
	return a.unpack(ctx, x, u)
}
