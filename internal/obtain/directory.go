package obtain

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pack"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// directorySource is a directory of this machine, which has a facet in no versions.
type directorySource struct{}

// obtain packs the directory. The lock follows the directory, unless it is the only authority.
func (directorySource) obtain(ctx context.Context, s *Sources, r Request, locked *project.FacetLock,
	q *inquiry) (stored, error) {
	f := r.Want
	root, err := os.OpenRoot(localPath(s.Workspace, f))
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
	return s.unpack(ctx, c, packedArchive{body: &packed, from: f.Path, claims: c.ofLock(),
		next: "the directory was changed since it was locked; review what changed, and run 'hallmark install' without " +
			"--frozen, which locks what it holds now"}, q)
}

// findVersions finds nothing: what the directory holds is what an installation takes.
func (directorySource) findVersions(context.Context, *workspace.Workspace, project.Facet,
	*project.FacetLock) (Versions, evidence.Report, error) {
	return Versions{}, nil, nil
}

// findName reads the facet.json of the directory.
func (directorySource) findName(_ context.Context, w *workspace.Workspace, f project.Facet, _ bool) (string, error) {
	data, err := host.ReadFile(filepath.Join(localPath(w, f), facet.ManifestFile), facet.MaxManifest)
	if err != nil {
		return "", err
	}
	if data == nil {
		return "", evidence.Errorf(evidence.Validation, f.Path, "", errors.New("has no "+facet.ManifestFile))
	}
	m, err := facet.ParseManifest(data)
	if err != nil {
		return "", err
	}
	return m.Name, nil
}

// localPath is where the path of a declaration leads on this machine.
func localPath(w *workspace.Workspace, f project.Facet) string {
	path := filepath.FromSlash(f.Path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(w.Dir, path)
}
