package obtain

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// directorySource is a directory of this machine, which has a facet in no versions.
type directorySource struct{}

// obtain packs the directory. The lock follows the directory, unless it is the only authority.
func (directorySource) obtain(ctx context.Context, s *Sources, r Request, locked *project.FacetLock,
	q *inquiry) (stored, error) {
	f := r.Want
	root, err := os.OpenRoot(cmp.Or(s.folders[f.Name], LocalPath(s.Workspace, f.Path)))
	if err != nil {
		return s.unreadDirectory(ctx, r, err, q)
	}
	defer root.Close()
	packed, err := packDirectory(ctx, root, s.Workspace.PlaceDir(), f, ruleOf(locked), s.o.Limits)
	if err != nil && r.KeepLocked {
		return s.unreadDirectory(ctx, r, err, q)
	}
	if err != nil {
		return stored{}, err
	}
	c := claims{name: f.Name, entry: project.FacetLock{Source: f.Source(s.Workspace.Config.Registry)}}
	if s.o.Frozen && locked != nil {
		c.entry, c.locked = *locked, locked
		if err := packed.checkRule(c.subject(), locked); err != nil {
			return stored{}, err
		}
	}
	c.entry.Source.Wrapped = packed.rule
	found, err := s.unpack(ctx, c, packedArchive{body: &packed.body, from: f.Path, claims: c.ofLock(),
		next: "the directory was changed since it was locked; review what changed, and run 'hallmark install' " +
			"without --frozen, which locks what it holds now"}, q)
	found.notes, found.modes = packed.notes, packed.modes
	return found, err
}

// unreadDirectory is a facet whose directory cannot be read, from the store if the command keeps it.
func (s *Sources) unreadDirectory(ctx context.Context, r Request, why error, q *inquiry) (stored, error) {
	hint := ""
	if r.Locked != nil {
		hint = goneHint(r.Want)
	}
	if same, ok := sameCommit(r.Want.Source(s.Workspace.Config.Registry), r); ok && r.KeepLocked {
		c := claims{name: r.Want.Name, locked: same, entry: *same}
		if found, here, err := s.takeStored(ctx, c, q); err != nil || here.slot != nil {
			found.modes = ownerOnly(found.entry)
			return found, err
		}
	}
	return stored{}, evidence.Errorf(evidence.Validation, r.Want.Name, hint, why)
}

// ownerOnly are the modes of the members of a facet of whose files it is not known who may read them.
func ownerOnly(entry project.FacetLock) map[string]fs.FileMode {
	modes := map[string]fs.FileMode{}
	for member := range entry.Assets {
		modes[member] = 0o600
	}
	return modes
}

// goneHint is what leads on where the source of a locked facet cannot be read.
func goneHint(f project.Facet) string {
	return "bring back " + f.Path + ", as from version control, or run 'hallmark remove " + f.Name + "'"
}

// packDirectory packs a facet of this machine for the project in a directory, or what can be wrapped as one by a rule.
func packDirectory(ctx context.Context, root *os.Root, in string, f project.Facet, rule int,
	limits archive.Limits) (*packedDir, error) {
	where := f.Name + " in " + f.Path
	if _, err := root.Lstat(facet.ManifestFile); errors.Is(err, fs.ErrNotExist) {
		d, modes, err := listPublic(root, in, f.Private)
		if err != nil {
			return nil, publish.DirError(where, err)
		}
		packed, err := packWrapped(ctx, d, modes, f.Name, rule, limits)
		if err != nil {
			return nil, publish.DirError(where, err)
		}
		return packed, nil
	}
	var packed packedDir
	source := &publish.SourceDir{Root: root}
	if err := source.List(); err != nil {
		return nil, publish.DirError(where, err)
	}
	modes, err := fileModes(root, in, source.Files)
	if err != nil {
		return nil, publish.DirError(where, err)
	}
	if packed.made, err = facet.Pack(ctx, &packed.body, source.Files, source.Open, limits); err != nil {
		return nil, publish.DirError(where, explainLimit(err, source.Files, limits))
	}
	packed.modes = modes // a facet has its files at their own paths
	return &packed, nil
}

// listPublic lists a directory of this machine that is to be wrapped, with the modes of files that not everybody may
// read. What only its owner may is left out, unless it was asked for.
func listPublic(root *os.Root, in string, private bool) (facet.Dir, map[string]fs.FileMode, error) {
	d, err := listDirectory(root)
	if err != nil {
		return d, nil, err
	}
	modes, err := fileModes(root, in, d.Files)
	if err == nil && !private {
		d.Private = privateFiles(d, modes)
	}
	return d, modes, err
}

// inspect packs the directory as it is now.
func (directorySource) inspect(ctx context.Context, w *workspace.Workspace, f project.Facet,
	entry project.FacetLock) (evidence.Report, error) {
	c := SourceClaim(f.Name + " in " + f.Path)
	c.Want = []digest.Digest{entry.Integrity}
	root, err := os.OpenRoot(LocalPath(w, f.Path))
	if err != nil {
		e := evidence.CannotVerify(c, evidence.Unreadable, errors.Unwrap(err).Error())
		e.Fix = goneHint(f)
		return evidence.Report{e}, nil
	}
	defer root.Close()
	packed, err := packDirectory(ctx, root, w.PlaceDir(), f, ruleOf(&entry), limitsOf(w, archive.Limits{}))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		e := evidence.CannotVerify(c, evidence.Malformed, err.Error())
		// which leads on better than that of the row
		if problem, ok := errors.AsType[*evidence.Error](err); ok && problem.Hint != "" {
			plain := *problem
			plain.Hint = ""
			e.Reason, e.Fix = plain.Error(), problem.Hint
		}
		return evidence.Report{e}, nil
	}
	e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{packed.made.Integrity}, From: f.Path})
	if e.Outcome != evidence.Match {
		e.Reason = "the directory was changed since it was locked"
		e.Fix = "look at what changed; 'hallmark install' locks what the directory holds now"
	}
	return evidence.Report{e}, nil
}

// findVersions finds nothing: what the directory holds is what an installation takes.
func (directorySource) findVersions(context.Context, *workspace.Workspace, project.Facet,
	*project.FacetLock) (Versions, evidence.Report, error) {
	return Versions{}, nil, nil
}

// findName reads the name of what the directory holds; of a facet without listing it.
func (s directorySource) findName(ctx context.Context, w *workspace.Workspace, f project.Facet,
	offline bool) (string, error) {
	data, err := host.ReadFile(filepath.Join(LocalPath(w, f.Path), facet.ManifestFile), facet.MaxManifest)
	if data == nil && err == nil {
		return findNameIn(ctx, s, w, f, offline)
	}
	if err != nil {
		return "", err
	}
	m, err := facet.ParseManifest(data)
	if err != nil {
		return "", err
	}
	return m.Name, nil
}

// openDir lists the directory.
func (directorySource) openDir(_ context.Context, w *workspace.Workspace, f project.Facet,
	_ bool) (d facet.Dir, done func() error, err error) {
	root, err := os.OpenRoot(LocalPath(w, f.Path))
	if err != nil {
		return d, nil, evidence.Errorf(evidence.Validation, f.Path, "", errors.Unwrap(err))
	}
	if d, err = listDirectory(root); err != nil {
		return d, nil, errors.Join(publish.DirError(f.Path, err), root.Close())
	}
	return d, root.Close, nil
}

// LocalPath is where the path of a declaration, or of its lock entry, leads on this machine.
func LocalPath(w *workspace.Workspace, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(w.Dir, path)
}
