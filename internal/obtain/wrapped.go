package obtain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	gitrepo "github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// maxLinks is how many symbolic links of a directory are read.
const maxLinks = 1000

// dirSource is a source that has directories, in which there may be facets, skills and plugins.
type dirSource interface {
	// openDir is the directory that a declaration names, until done is called. It makes no request if offline is set.
	openDir(ctx context.Context, w *workspace.Workspace, f project.Facet,
		offline bool) (d facet.Dir, done func() error, err error)
}

// List is what is in the directory that a declaration names: facets, skills and plugins. Of a source without
// directories, such as a registry, it is an error.
func List(ctx context.Context, w *workspace.Workspace, f project.Facet, offline bool) (items []facet.Item, err error) {
	source, ok := sourceOf(f).(dirSource)
	if !ok {
		return nil, evidence.Errorf(evidence.Validation, f.Name, "", errors.New("its source has no directory to list"))
	}
	d, done, err := source.openDir(ctx, w, f, offline)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if items, err = facet.ListContext(ctx, interruptible(ctx, d)); err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), f.Git+f.Path, "", err)
	}
	return items, nil
}

// findNameIn reads the name of the facet, skill or plugin in the directory that a declaration names.
func findNameIn(ctx context.Context, s dirSource, w *workspace.Workspace, f project.Facet,
	offline bool) (name string, err error) {
	d, done, err := s.openDir(ctx, w, f, offline)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	where := f.Git + f.Path
	if form, _ := d.Form(); form != facet.FormFacet {
		if err := facet.CheckMarket(d); err != nil {
			return "", evidence.Errorf(evidence.ClassOf(err), where, "", err)
		}
		wrapped, err := facet.Wrap(interruptible(ctx, d), "")
		if name := nameOfPlace(w, f); errors.Is(err, facet.ErrUnnamed) && name != "" {
			return name, nil // as clients call it, and what is wrong besides is found when it is installed
		}
		if err != nil {
			return "", evidence.Errorf(evidence.ClassOf(err), where, "", err)
		}
		return wrapped.Name, nil
	}
	r, err := d.Open(facet.ManifestFile)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := host.ReadAll(r, 0, facet.MaxManifest)
	if err != nil {
		return "", err
	}
	m, err := facet.ParseManifest(data)
	if err != nil {
		return "", evidence.Errorf(evidence.ClassOf(err), where, "", err)
	}
	return m.Name, nil
}

// nameOfPlace is what a facet is called that does not say so: as its directory, or its repository.
func nameOfPlace(w *workspace.Workspace, f project.Facet) string {
	switch {
	case f.Path != "":
		return facet.NameOf(filepath.ToSlash(LocalPath(w, f.Path)))
	case f.Sub != "":
		return facet.NameOf(f.Sub)
	}
	return facet.NameOf(f.Git)
}

// packedDir is the archive of a directory.
type packedDir struct {
	body  bytes.Buffer
	made  *facet.Packed // of body
	rule  int           // of package wrap; 0 for a directory that is a facet
	notes []facet.Note
	modes map[string]fs.FileMode // as in [Archive]
}

// ruleOf is the rule by which what an entry locks is wrapped: its own, or the newest for what is not locked yet.
func ruleOf(locked *project.FacetLock) int {
	if locked == nil || locked.Source.Wrapped == 0 {
		return facet.NewestWrapRule
	}
	return locked.Source.Wrapped
}

// interruptible is a directory of which nothing more is opened once ctx is done.
func interruptible(ctx context.Context, d facet.Dir) facet.Dir {
	open := d.Open
	d.Open = func(path string) (io.ReadCloser, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return open(path)
	}
	return d
}

// packWrapped packs a directory that is no facet as one called name, by a rule. Modes has its files that not
// everybody may read.
func packWrapped(ctx context.Context, d facet.Dir, modes map[string]fs.FileMode, name string, rule int,
	limits archive.Limits) (*packedDir, error) {
	wrapped, err := facet.WrapBy(rule, interruptible(ctx, d), name)
	if err != nil {
		return nil, err
	}
	p := &packedDir{rule: wrapped.Rule, notes: wrapped.Notes, modes: map[string]fs.FileMode{}}
	for member, from := range wrapped.From {
		if mode, ok := modes[from]; ok {
			p.modes[member] = mode
		}
	}
	p.made, err = facet.Pack(ctx, &p.body, wrapped.Files, wrapped.Open, limits)
	return p, explainLimit(err, wrapped.Files, limits)
}

// checkRule is an error if the lock says that the directory was made a facet in another way, or that it was one.
func (p *packedDir) checkRule(subject string, locked *project.FacetLock) error {
	if locked == nil || locked.Source.Wrapped == p.rule {
		return nil
	}
	say := func(rule int) string {
		if rule == 0 {
			return "a facet with its own " + facet.ManifestFile
		}
		return fmt.Sprintf("wrapped by rule %d", rule)
	}
	return evidence.Errorf(evidence.Integrity, subject, "",
		fmt.Errorf("%s has it as %s, and its source as %s", project.LockFile, say(locked.Source.Wrapped), say(p.rule)))
}

// commitDir lists a directory of a commit.
func commitDir(ctx context.Context, commit *gitrepo.Commit, sub string) (facet.Dir, error) {
	all, err := commit.Files(sub)
	if err != nil {
		return facet.Dir{}, err
	}
	d := facet.Dir{Links: map[string]string{}, Others: map[string]string{},
		Open: func(path string) (io.ReadCloser, error) { return commit.Open(ctx, all[path]) },
		ID:   func(path string) string { return all[path].ID }}
	for path, f := range all {
		switch f.Kind {
		case "":
			d.Files = append(d.Files, tree.File{Path: path, Size: f.Size})
		case gitrepo.KindLink:
			if err := addLink(d, path, func() (io.ReadCloser, error) { return commit.Open(ctx, f) }); err != nil {
				return d, err
			}
		default:
			d.Others[path] = f.Kind
		}
	}
	return d, nil
}

// addLink adds a link with its text. Those beyond maxLinks are not read, and no directory with them can be wrapped.
func addLink(d facet.Dir, path string, open func() (io.ReadCloser, error)) error {
	if len(d.Links) == maxLinks {
		d.Others[path] = fmt.Sprintf("one of more than %d symbolic links", maxLinks)
		return nil
	}
	r, err := open()
	if err != nil {
		return err
	}
	text, err := host.ReadAll(r, 0, tree.MaxPath)
	d.Links[path] = string(text)
	return errors.Join(err, r.Close())
}

// listDirectory lists a directory of this machine.
func listDirectory(root *os.Root) (facet.Dir, error) {
	files, others, err := tree.Scan(root.FS(), tree.Limits{})
	if err != nil {
		return facet.Dir{}, err
	}
	d := facet.Dir{Files: files, Links: map[string]string{}, Others: map[string]string{},
		Open: func(path string) (io.ReadCloser, error) { return root.Open(filepath.FromSlash(path)) }}
	for _, e := range others {
		if e.Kind != tree.Kind(os.ModeSymlink) {
			d.Others[e.Path] = e.Kind
			continue
		}
		if err := addLink(d, e.Path, func() (io.ReadCloser, error) {
			text, err := root.Readlink(filepath.FromSlash(e.Path))
			return io.NopCloser(bytes.NewBufferString(filepath.ToSlash(text))), err
		}); err != nil {
			return d, err
		}
	}
	return d, nil
}

// OpenAudited opens a member of an archive whose slot was audited, and demands that it still is what the audit hashed.
func (a *Archive) OpenAudited(path string) (io.ReadCloser, error) {
	data, err := a.ReadAudited(path)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// ReadAudited reads a member of an archive as [Archive.OpenAudited] does.
func (a *Archive) ReadAudited(path string) ([]byte, error) {
	data, err := host.ReadFile(filepath.Join(a.Slot.Dir(), filepath.FromSlash(path)), a.Slot.Size)
	if err != nil {
		return nil, err
	}
	if !evidence.Same(a.Entry.Assets[path], digest.FromBytes(data)) {
		return nil, evidence.Errorf(evidence.Integrity, facet.MemberSubject(a.Subject(), path), "",
			errors.New("changed in the store after the audit"))
	}
	return data, nil
}
