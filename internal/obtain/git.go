package obtain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	gitrepo "github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// gitSource is a git repository.
type gitSource struct{ elsewhere }

// obtain gets a facet of a repository. Its commit is resolved once and locked, and later installs use
// that commit, wherever the tag or branch points by then.
func (gitSource) obtain(ctx context.Context, s *Sources, r Request, locked *project.FacetLock,
	q *inquiry) (stored, error) {
	f := r.Want
	c := claims{name: f.Name, locked: locked}
	var here lookup
	if locked != nil {
		c.entry = *locked
		var found stored
		var err error
		if found, here, err = s.takeStored(ctx, c, q); err != nil || here.slot != nil {
			return found, err
		}
	}
	if s.o.Offline {
		return stored{}, q.refuseOffline(here, f.Name)
	}
	repo := repository(s.Workspace, f)
	id, err := s.chooseCommit(ctx, r, locked, repo, q)
	if err != nil {
		return stored{}, err
	}
	c.entry.Source = f.Source(s.Workspace.Config.Registry)
	c.entry.Source.Commit = id
	if same, ok := sameCommit(c.entry.Source, r); ok { // resolved anew, and it is what is locked
		found, here, err := s.takeStored(ctx, claims{name: f.Name, locked: same, entry: *same}, q)
		if err != nil || here.slot != nil {
			return found, err
		}
	}
	packed, err := s.fetchCommit(ctx, r, locked, repo, id, q)
	if err != nil {
		return stored{}, err
	}
	if err := packed.checkRule(c.subject(), locked); err != nil {
		return stored{}, err
	}
	c.entry.Source.Wrapped = packed.rule
	found, err := s.unpack(ctx, c,
		packedArchive{body: &packed.body, from: "git+" + f.Git + "#" + id, claims: c.ofLock()}, q)
	found.repaired, found.notes = here.quarantined, packed.notes
	return found, err
}

// fetchCommit fetches a commit, and makes the archive of the facet in it.
func (s *Sources) fetchCommit(ctx context.Context, r Request, locked *project.FacetLock, repo gitrepo.Repository,
	id string, q *inquiry) (*packedDir, error) {
	commit, err := s.Workspace.Repositories.Fetch(ctx, repo, id)
	if errors.Is(err, gitrepo.ErrNoRef) && locked != nil {
		return nil, goneCommitError(r.Want, *locked, q)
	}
	if err != nil {
		return nil, gitError(r.Want.Name, err)
	}
	p, err := packCommit(ctx, commit, r.Want, ruleOf(locked), s.o.Limits)
	if err != nil {
		return nil, evidence.Errorf(evidence.ClassOf(err), r.Want.Name, directoryHint(r.Want, err),
			fmt.Errorf("commit %s: %w", id, err))
	}
	return p, nil
}

// directoryHint says what leads on from err if it is that the directory of a facet is not in its repository: "" if not.
func directoryHint(f project.Facet, err error) string {
	e := (*wire.Error)(nil)
	if !errors.As(err, &e) || e.Cause != evidence.NotFound || f.Sub == "" {
		return ""
	}
	list := []string{f.Git}
	for _, ref := range [][2]string{{"--branch", f.Branch}, {"--tag", f.Tag}, {"--commit", f.Commit}} {
		if ref[1] != "" {
			list = append(list, ref[0], ref[1])
		}
	}
	return "'hallmark add --git " + host.QuoteArguments(list) + "' lists what the repository has now; name the " +
		"directory with --sub, or in " + project.ConfigFile
}

// sameCommit is the lock entry of a request if a source is its own, as this build would lock it.
func sameCommit(source project.SourceLock, r Request) (*project.FacetLock, bool) {
	if r.Locked == nil {
		return nil, false
	}
	if source.Wrapped = r.Locked.Source.Wrapped; source.Wrapped != 0 &&
		facet.IsPlugin(slices.Collect(maps.Keys(r.Locked.Assets))) {
		source.Wrapped = facet.NewestWrapRule
	}
	return r.Locked, r.Locked.Source == source
}

// chooseCommit is the commit of a facet to fetch: the locked one, the declared one, or the one that
// the tag or branch names now. That a tag was moved since it was locked is evidence.
func (s *Sources) chooseCommit(ctx context.Context, r Request, locked *project.FacetLock, repo gitrepo.Repository,
	q *inquiry) (string, error) {
	f := r.Want
	if locked != nil {
		moved, err := s.fetchTagEvidence(ctx, repo, f, *locked)
		q.add(moved...)
		return locked.Source.Commit, err
	}
	if f.Commit != "" {
		return f.Commit, nil
	}
	id, err := s.Workspace.Repositories.Resolve(ctx, repo, gitrepo.Ref{Tag: f.Tag, Branch: f.Branch})
	if errors.Is(err, gitrepo.ErrNoRef) && hasTagOf(f, r.Locked) {
		_, err := q.judge(movedTagEvidence(f, *r.Locked, noTag))
		return "", err
	}
	if err != nil {
		return "", gitError(f.Name, err)
	}
	// A tag is a promise: that it moved since it was locked is shown before it is followed.
	if hasTagOf(f, r.Locked) && !r.AcceptTag {
		q.add(movedTagEvidence(f, *r.Locked, id))
	}
	return id, nil
}

// hasTagOf reports whether a declaration names the tag of an entry: whatever else of it changed, the
// tag is to name the commit that was locked.
func hasTagOf(f project.Facet, locked *project.FacetLock) bool {
	return locked != nil && f.Tag != "" && locked.Source.Tag == f.Tag && locked.Source.URL == f.Git
}

// findVersions asks the repository which commit is meant now.
func (gitSource) findVersions(ctx context.Context, w *workspace.Workspace, f project.Facet,
	locked *project.FacetLock) (Versions, evidence.Report, error) {
	if f.Commit != "" {
		return Versions{Wanted: f.Commit}, nil, nil
	}
	repo := repository(w, f)
	commit, err := w.Repositories.Resolve(ctx, repo, gitrepo.Ref{Tag: f.Tag, Branch: f.Branch})
	if errors.Is(err, gitrepo.ErrNoRef) && f.Tag != "" && locked != nil {
		return Versions{}, evidence.Report{movedTagEvidence(f, *locked, noTag)}, nil
	}
	if err != nil {
		return Versions{}, nil, gitError(f.Name, err)
	}
	if locked != nil && f.Tag == "" && commit != locked.Source.Commit && locked.Covers(f, w.Config.Registry) {
		same, err := holdsSame(ctx, w, repo, f, commit, *locked)
		if err != nil {
			return Versions{}, nil, gitError(f.Name, err)
		}
		if same { // what changed is elsewhere in the repository
			commit = locked.Source.Commit
		}
	}
	now := Versions{Wanted: commit, Newest: commit}
	if locked == nil || f.Tag == "" || !locked.Covers(f, w.Config.Registry) {
		return now, nil, nil
	}
	return now, evidence.Report{movedTagEvidence(f, *locked, commit)}, nil
}

// holdsSame reports whether a commit has the contents of a facet that are locked. One that cannot be read as a facet
// has others.
func holdsSame(ctx context.Context, w *workspace.Workspace, repo gitrepo.Repository, f project.Facet, id string,
	locked project.FacetLock) (bool, error) {
	commit, err := w.Repositories.Fetch(ctx, repo, id)
	if err != nil {
		return false, err
	}
	packed, err := packCommit(ctx, commit, f, ruleOf(&locked), limitsOf(w, archive.Limits{}))
	if err != nil || packed.rule != locked.Source.Wrapped {
		return false, ctx.Err()
	}
	return evidence.Same(packed.made.Integrity, locked.Integrity), nil
}

// findName reads the name of what is in the commit that is meant now.
func (s gitSource) findName(ctx context.Context, w *workspace.Workspace, f project.Facet,
	offline bool) (string, error) {
	return findNameIn(ctx, s, w, f, offline)
}

// openDir fetches the commit that is meant now.
func (gitSource) openDir(ctx context.Context, w *workspace.Workspace, f project.Facet,
	offline bool) (d facet.Dir, done func() error, err error) {
	if offline {
		return d, nil, OfflineError(f.Git)
	}
	repo, id := repository(w, f), f.Commit
	if id == "" {
		if id, err = w.Repositories.Resolve(ctx, repo, gitrepo.Ref{Tag: f.Tag, Branch: f.Branch}); err != nil {
			return d, nil, gitError(f.Git, err)
		}
	}
	commit, err := w.Repositories.Fetch(ctx, repo, id)
	if err != nil {
		return d, nil, gitError(f.Git, err)
	}
	if d, err = commitDir(ctx, commit, f.Sub); err != nil {
		err = evidence.Errorf(evidence.ClassOf(err), f.Git, directoryHint(f, err), err)
	}
	return d, func() error { return nil }, err
}

// repository is the git repository of a facet, with the environment of the project's host.
func repository(w *workspace.Workspace, f project.Facet) gitrepo.Repository {
	work := ""
	if w.Host.Places.Cache != "" {
		work = filepath.Join(w.Host.Places.Cache, "work")
	}
	return gitrepo.Repository{URL: f.Git, Checkout: closure.Checkout(w.Host), Environ: w.Host.Environ, Work: work,
		May: func(u wire.HostUse) error { return w.MayAsk(u) }}
}

// gitError gives the error of a repository its class and its hint.
func gitError(name string, err error) error {
	class, hint := evidence.ClassOf(err), ""
	if e := (*wire.Error)(nil); errors.As(err, &e) {
		hint = e.Hint
	}
	if errors.Is(err, gitrepo.ErrNoRef) {
		class = evidence.Validation
	}
	return evidence.Errorf(class, name, hint, err)
}

// packCommit packs the facet in a directory of a commit; what is none is wrapped by a rule.
func packCommit(ctx context.Context, commit *gitrepo.Commit, f project.Facet, rule int,
	limits archive.Limits) (*packedDir, error) {
	all, err := commit.Files(f.Sub)
	if err != nil {
		return nil, err
	}
	if err := commit.Prepare(ctx, maps.Values(all)); err != nil {
		return nil, err
	}
	if _, ok := all[facet.ManifestFile]; !ok {
		d, err := commitDir(ctx, commit, f.Sub)
		if err != nil {
			return nil, err
		}
		return packWrapped(ctx, d, nil, f.Name, rule, limits)
	}
	open := func(path string) (io.ReadCloser, error) { return commit.Open(ctx, all[path]) }
	manifest, err := commitManifest(ctx, commit, all)
	if err != nil {
		return nil, err
	}
	var files []tree.File
	for _, path := range manifest.Paths() {
		f, ok := all[path]
		switch {
		case !ok: // packing says which are missing
			continue
		case f.Kind != "":
			return nil, evidence.Errorf(evidence.Validation, "", "", &tree.EntryError{Path: path, Kind: f.Kind})
		}
		files = append(files, tree.File{Path: path, Size: f.Size})
	}
	var packed packedDir
	packed.made, err = facet.Pack(ctx, &packed.body, files, open, limits)
	return &packed, explainLimit(err, files, limits)
}

// commitManifest reads the facet.json among the files of a commit.
func commitManifest(ctx context.Context, commit *gitrepo.Commit, all map[string]gitrepo.File) (*facet.Manifest, error) {
	f, ok := all[facet.ManifestFile]
	if !ok || f.Kind != "" || f.Size > facet.MaxManifest {
		return nil, evidence.Errorf(evidence.Validation, "", "name the directory of the facet with sub",
			errors.New("has no "+facet.ManifestFile))
	}
	r, err := commit.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := host.ReadAll(r, 0, facet.MaxManifest)
	if err != nil {
		return nil, err
	}
	return facet.ParseManifest(data)
}

// fetchTagEvidence compares the commit that a tag names now with the locked one. Branches
// move by nature, and a commit cannot.
func (s *Sources) fetchTagEvidence(ctx context.Context, repo gitrepo.Repository, f project.Facet,
	locked project.FacetLock) (evidence.Report, error) {
	if f.Tag == "" {
		return nil, nil
	}
	commit, err := s.Workspace.Repositories.Resolve(ctx, repo, gitrepo.Ref{Tag: f.Tag})
	if errors.Is(err, gitrepo.ErrNoRef) {
		commit = noTag
	} else if err != nil {
		return nil, gitError(f.Name, err)
	}
	return evidence.Report{movedTagEvidence(f, locked, commit)}, nil
}

// goneCommitError is the error for a locked commit that the repository no longer has, beside what q has of
// its tag.
func goneCommitError(f project.Facet, locked project.FacetLock, q *inquiry) error {
	gone := fmt.Errorf("the locked commit %s is no longer in %s", locked.Source.Commit, f.Git)
	noTagLeft := false
	for _, e := range q.report {
		if e.Scheme == evidence.Tag && e.Outcome == evidence.Mismatch {
			gone = fmt.Errorf("%w: tag %s names %s now", gone, f.Tag, e.Observed.Text)
			noTagLeft = e.Observed.Text == noTag
		}
	}
	next := "'hallmark upgrade " + f.Name + "' shows what its branch has now"
	switch {
	case f.Tag != "":
		next = policy.TagAdvice(f.Name, noTagLeft)
	case f.Commit != "":
		next = "ask its author why; 'hallmark add " + f.Name + " --git URL --commit COMMIT' declares one that is there"
	}
	return evidence.Errorf(evidence.Drift, locked.Subject(f.Name), next, gone)
}

// noTag stands for the commit of a tag that is gone.
const noTag = "none: there is no such tag"

// movedTagEvidence is evidence of the commit that the tag of f names now.
func movedTagEvidence(f project.Facet, locked project.FacetLock, commit string) evidence.Evidence {
	found := "commit " + commit
	if commit == noTag {
		found = noTag
	}
	e := evidence.Fact(evidence.Claim{
		Subject: locked.Subject(f.Name), Scheme: evidence.Tag, Authority: evidence.Lock,
		Text: "commit " + locked.Source.Commit, Where: project.LockFile + ", tag " + f.Tag,
	}, found)
	if e.Outcome != evidence.Match {
		e.Reason = "the tag was moved"
		if commit == noTag {
			e.Reason = "the tag is gone"
		}
	}
	e.Observed.From = "tag " + f.Tag + " of " + f.Git
	return e
}
