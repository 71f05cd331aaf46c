package obtain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	gitrepo "github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/tree"
)

// obtainFromGit gets a facet of a git repository. Its commit is resolved once and locked, and
// later installs use that commit, wherever the tag or branch points by then.
func (a *Sources) obtainFromGit(ctx context.Context, x *Archive, locked *project.FacetLock) error {
	f := x.Want
	if locked != nil {
		x.Entry = *locked
		found, bad, err := a.findStored(ctx, x, a.contentsClaim(x, locked, nil))
		if err != nil || found {
			return err
		}
		if a.o.Offline && len(bad) > 0 {
			x.Report = append(x.Report, bad...)
			_, err := a.Judge(x, nil)
			return err
		}
	}
	if a.o.Offline {
		return OfflineError(f.Name)
	}
	repo := Repository(a.Workspace, f)
	source := f.Source(a.Workspace.Config.Registry)
	switch {
	case locked != nil:
		source.Commit = locked.Source.Commit
		e, err := fetchTagEvidence(ctx, repo, f, *locked)
		if err != nil {
			return err
		}
		x.Report = append(x.Report, e...)
	case source.Commit == "":
		commit, err := repo.Resolve(ctx, gitrepo.Ref{Tag: f.Tag, Branch: f.Branch})
		if err != nil {
			return GitError(f.Name, err)
		}
		source.Commit = commit
		// A tag is a promise: that it moved since it was locked is shown before it is followed.
		if x.before != nil && f.Tag != "" && x.before.Source.Kind == project.FromGit &&
			x.before.Covers(f, a.Workspace.Config.Registry) && !a.Declared[f.Name] {
			x.Report = append(x.Report, MovedTagEvidence(f, *x.before, commit))
		}
	}
	x.Entry.Source = source
	if locked == nil {
		x.Entry = project.FacetLock{Source: source}
	}
	commit, err := repo.Fetch(ctx, source.Commit)
	if err != nil {
		return GitError(f.Name, err)
	}
	defer commit.Close()
	packed, err := packCommit(ctx, commit, f.Sub, a.o.Limits)
	if err != nil {
		return evidence.Errorf(evidence.ClassOf(err), f.Name, "", fmt.Errorf("commit %s: %w", source.Commit, err))
	}
	u := packedArchive{body: packed, from: "git+" + f.Git + "#" + source.Commit}
	if locked != nil {
		u.claims = lockClaims(x.Subject(), locked)
	}
	return a.unpack(ctx, x, u)
}

// Repository is the git repository of a facet, with the environment of the project's host.
func Repository(w *workspace.Workspace, f project.Facet) gitrepo.Repository {
	work := ""
	if w.Host.Places.Cache != "" {
		work = filepath.Join(w.Host.Places.Cache, "work")
	}
	return gitrepo.Repository{URL: f.Git, Checkout: tool.Checkout(w.Host), Environ: w.Host.Environ, Work: work,
		May: func(u consent.HostUse) error { return w.MayAsk(u) }}
}

// GitError gives the error of a repository its class.
func GitError(name string, err error) error {
	class := evidence.ClassOf(err)
	if errors.Is(err, gitrepo.ErrNoRef) {
		class = evidence.Validation
	}
	return evidence.Errorf(class, name, "", err)
}

// packCommit packs the facet in a directory of a commit.
func packCommit(ctx context.Context, commit *gitrepo.Commit, sub string, limits archive.Limits) (io.Reader, error) {
	all, err := commit.Files(ctx, sub)
	if err != nil {
		return nil, err
	}
	open := func(path string) (io.ReadCloser, error) { return commit.Open(ctx, all[path]) }
	manifest, err := CommitManifest(ctx, commit, all)
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
	var packed bytes.Buffer
	_, err = facet.Pack(ctx, &packed, files, open, limits)
	return &packed, err
}

// CommitManifest reads the facet.json among the files of a commit.
func CommitManifest(ctx context.Context, commit *gitrepo.Commit, all map[string]gitrepo.File) (*facet.Manifest, error) {
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
func fetchTagEvidence(ctx context.Context, repo gitrepo.Repository, f project.Facet,
	locked project.FacetLock) (evidence.Report, error) {
	if f.Tag == "" {
		return nil, nil
	}
	commit, err := repo.Resolve(ctx, gitrepo.Ref{Tag: f.Tag})
	if errors.Is(err, gitrepo.ErrNoRef) {
		commit = NoTag
	} else if err != nil {
		return nil, GitError(f.Name, err)
	}
	return evidence.Report{MovedTagEvidence(f, locked, commit)}, nil
}

// NoTag stands for the commit of a tag that is gone.
const NoTag = "none: there is no such tag"

// MovedTagEvidence is evidence of the commit that the tag of f names now.
func MovedTagEvidence(f project.Facet, locked project.FacetLock, commit string) evidence.Evidence {
	e := evidence.Fact(evidence.Claim{
		Subject: locked.Subject(f.Name), Scheme: evidence.Tag, Authority: evidence.Lock,
		Text: "commit " + locked.Source.Commit, Where: project.LockFile + ", tag " + f.Tag,
	}, "commit "+commit)
	if e.Outcome != evidence.Match {
		e.Reason = "the tag was moved"
	}
	e.Observed.From = "tag " + f.Tag + " of " + f.Git
	return e
}
