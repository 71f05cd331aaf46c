package facets

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	gitrepo "github.com/hallmark-mcp/hallmark/internal/git"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Installation is what became, or would become, of a project's facets.
type Installation struct {
	Verdict policy.Verdict
	Facets  []Change // of all that are or were locked, by name
	Targets []string
	Files   []string // that were written, relative to the project
	Deleted []string
	Kept    []string      // that a user edited, and that stay as they are
	Extra   []string      // that lie in the directory of a skill and are of no facet, and stay
	Servers []string      // that facets declare and that were not pinned, as "FACET: SERVER"
	Pinned  []*pin.Pinned // servers that facets declare and that were looked at
	Clients []string      // files of clients that changed, relative to the project
	Written bool          // something was changed
}

// Change is one facet before and after. Its outcome is "installed", "updated",
// "repaired" (the store's copy was bad, and fetched again), "unchanged" or "removed".
type Change struct {
	Name    string
	Outcome string
	By      []string // the facets that bring it along
	Before  *project.FacetLock
	After   *project.FacetLock
	Assets  []AssetChange
}

// AssetChange is one member of a facet that differs.
type AssetChange struct {
	Path   string
	Before digest.Digest // zero if it is new
	After  digest.Digest // zero if it is gone
}

// Install brings a project to what hallmark.toml and hallmark.lock say.
func Install(ctx context.Context, h *host.Host, dir string, o Options) (*Installation, error) {
	return installFacets(ctx, h, dir, o, facetRequest{})
}

// Add declares a facet in hallmark.toml, which need not exist, and installs all. A
// zero requirement becomes one for the major version that is newest now. Without a name,
// that of the source's facet.json is taken.
func Add(ctx context.Context, h *host.Host, dir string, f project.Facet, o Options) (*Installation, error) {
	out, err := installFacets(ctx, h, dir, o, facetRequest{add: &f})
	if host := host.HostOfURL(f.Git); err == nil && f.Kind() == project.FromGit && !o.Dry && !h.NeedsNoConsent(host) {
		err = h.RememberHosts(host) // the next command finds it in hallmark.toml
	}
	return out, err
}

// Remove takes facets out of hallmark.toml, and their files out of the project.
func Remove(ctx context.Context, h *host.Host, dir string, names []string, o Options) (*Installation, error) {
	return installFacets(ctx, h, dir, o, facetRequest{remove: names})
}

// facetRequest is what a command wants to change.
type facetRequest struct {
	add     *project.Facet
	remove  []string
	upgrade bool
	names   []string // to upgrade; empty: all
	show    func(*Installation) error
	// also changes more of the project in the same step: the lock in w, files beside it and
	// hallmark.toml, whose new text it returns, or nil.
	also func(ctx context.Context, w *workspace.Workspace) (files []durable.File, text []byte, err error)
}

func installFacets(ctx context.Context, h *host.Host, dir string, o Options, req facetRequest) (*Installation, error) {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, true, req.add != nil)
	if err != nil {
		return nil, err
	}
	defer done()
	text, err := req.editConfig(ctx, w, o)
	if err != nil {
		return nil, err
	}
	for _, name := range req.names {
		if _, ok := w.Config.Facets[name]; !ok {
			return nil, project.NoSuch("facet", project.ConfigFile, name, w.FacetNames())
		}
	}
	if req.add != nil && req.add.Kind() == project.FromGit {
		w.NamedHost = host.HostOfURL(req.add.Git) // by who calls
	}
	if !o.Offline && !o.Frozen { // what is locked may be here: then nobody is asked
		if err := w.MayAsk(w.FacetHosts()...); err != nil {
			return nil, err
		}
	}
	a, err := NewAssembly(w, o, func(name string) bool {
		return req.upgrade && (len(req.names) == 0 || slices.Contains(req.names, name)) || req.add != nil && req.add.Name == name
	})
	if err != nil {
		return nil, err
	}
	if req.add != nil {
		a.Declared = map[string]bool{req.add.Name: true}
	}
	out := &Installation{Targets: targetNames(w)}
	var early sync.WaitGroup
	early.Go(func() { a.readReceipt() }) // which place needs, and which takes one processor only
	defer early.Wait()
	err = a.Gather(ctx)
	out.Verdict = a.Verdict()
	if err != nil {
		return out, err
	}
	parts, err := a.Compose()
	if err != nil {
		return out, err
	}
	if err := out.Verdict.Err(); err != nil {
		return out, err
	}
	adm := out.Verdict.Admitted()
	names, pinned, err := a.pinServers(ctx, o.Servers, out)
	if err != nil {
		return out, err
	}
	clientFiles, changed, err := a.writeClientEntries(names)
	if err != nil {
		return out, err
	}
	out.Clients = changed
	if text, err = req.setRequirement(w, a, text); err != nil {
		return out, err
	}
	p, err := a.PlanFiles(adm, parts)
	if err != nil {
		return out, err
	}
	var more []durable.File
	if req.also != nil {
		if more, text, err = req.also(ctx, w); err != nil {
			return out, err
		}
	}
	out.Verdict = policy.Judge(policy.Install, a.Settings(), slices.Concat(out.Verdict.Report(), p.report))
	if err := out.Verdict.Err(); err != nil { // of a frozen installation; others keep what a user edited
		return out, err
	}
	out.Files, out.Deleted, out.Kept, out.Extra = p.written, p.deleted, p.kept, p.extra
	out.addChanges(w, a)
	p.files = slices.Concat(p.files, pinned, clientFiles)
	files, err := a.updateLock(adm, text, p)
	if err != nil {
		return out, err
	}
	if files, err = withApprovals(w, append(files, more...)); err != nil {
		return out, err
	}
	if req.show != nil {
		if err := req.show(out); err != nil {
			return out, err
		}
	}
	if o.Dry || len(files) == 0 {
		return out, nil
	}
	if err := w.Replace(ctx, files); err != nil {
		return out, err
	}
	pin.RemoveEmptyDirs(w, slices.Concat(p.deleted, out.Clients))
	for _, p := range out.Pinned {
		p.Written = true
	}
	out.Written = true
	return out, nil
}

// editConfig makes the change to hallmark.toml, whose new text it returns; nil if it stays.
func (r *facetRequest) editConfig(ctx context.Context, w *workspace.Workspace, o Options) (text []byte, err error) {
	switch {
	case r.add != nil:
		if err := r.add.Check(); err != nil { // before anybody is asked
			return nil, evidence.Errorf(evidence.Validation, cmp.Or(r.add.Name, r.add.Git, r.add.Path), "", err)
		}
		if r.add.Name == "" {
			if r.add.Name, err = sourceName(ctx, w, *r.add, o); err != nil {
				return nil, err
			}
		}
		f := *r.add
		if f.Kind() == project.FromRegistry && f.Requirement.String() == "" {
			f.Requirement, _ = facet.ParseRequirement("*")
		}
		text, err = project.SetFacet(w.Text, f)
	case len(r.remove) > 0:
		text = w.Text
		for _, name := range r.remove {
			if text, err = project.UnsetFacet(text, name); err != nil {
				return nil, err
			}
		}
	default:
		return nil, nil
	}
	if err == nil {
		w.Config, err = project.ParseConfig(text)
	}
	return text, err
}

// setRequirement writes the requirement of a facet that was added without one.
func (r *facetRequest) setRequirement(w *workspace.Workspace, a *Assembly, text []byte) ([]byte, error) {
	if r.add == nil || r.add.Kind() != project.FromRegistry || r.add.Requirement.String() != "" {
		return text, nil
	}
	f := *r.add
	numbers := strings.Split(a.Pieces[f.Name].Entry.Version, ".")
	keep := 1
	if numbers[0] == "0" {
		keep = 2 // before 1.0.0 the second number is the one that breaks
	}
	var err error
	if f.Requirement, err = facet.ParseRequirement(strings.Join(numbers[:keep], ".") + ".*"); err != nil {
		return nil, err
	}
	if text, err = project.SetFacet(text, f); err != nil {
		return nil, err
	}
	w.Config, err = project.ParseConfig(text)
	return text, err
}

// sourceName is the name in the facet.json of a directory or a repository.
func sourceName(ctx context.Context, w *workspace.Workspace, f project.Facet, o Options) (string, error) {
	var data []byte
	switch f.Kind() {
	case project.FromLocal:
		dir := filepath.FromSlash(f.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(w.Dir, dir)
		}
		var err error
		if data, err = host.ReadFile(filepath.Join(dir, facet.ManifestFile), facet.MaxManifest); err != nil {
			return "", err
		}
		if data == nil {
			return "", evidence.Errorf(evidence.Validation, f.Path, "", errors.New("has no "+facet.ManifestFile))
		}
	case project.FromGit:
		if o.Offline {
			return "", obtain.OfflineError(f.Git)
		}
		repo, id := obtain.Repository(w, f), f.Commit
		var err error
		if id == "" {
			if id, err = repo.Resolve(ctx, gitrepo.Ref{Tag: f.Tag, Branch: f.Branch}); err != nil {
				return "", obtain.GitError(f.Git, err)
			}
		}
		commit, err := repo.Fetch(ctx, id)
		if err != nil {
			return "", obtain.GitError(f.Git, err)
		}
		defer commit.Close()
		files, err := commit.Files(ctx, f.Sub)
		if err != nil {
			return "", err
		}
		m, err := obtain.CommitManifest(ctx, commit, files)
		if err != nil {
			return "", evidence.Errorf(evidence.ClassOf(err), f.Git, "", err)
		}
		return m.Name, nil
	default:
		return "", evidence.Errorf(evidence.Validation, "", "", errors.New("a facet needs a name"))
	}
	m, err := facet.ParseManifest(data)
	if err != nil {
		return "", err
	}
	return m.Name, nil
}

// updateLock sets the lock to what was gathered and returns all files that change.
func (a *Assembly) updateLock(adm policy.Admitted, text []byte, p *placement) ([]durable.File, error) {
	w, files := a.Workspace, p.files
	empty := len(a.Pieces) == 0 // then nothing is begun that is not there
	add := func(path string, data []byte, perm os.FileMode) error {
		old, err := host.ReadFile(path, max(project.MaxLock, project.MaxReceipt))
		if err == nil && !bytes.Equal(old, data) && !(old == nil && empty) {
			files = append(files, durable.File{Path: path, Data: data, Perm: perm})
		}
		return err
	}
	if !a.o.Frozen {
		for _, name := range slices.Sorted(maps.Keys(a.Pieces)) {
			if err := w.Lock.AddFacet(adm, name, a.Pieces[name].Entry); err != nil {
				return nil, err
			}
		}
		for _, name := range w.Lock.Facets() {
			if _, ok := a.Pieces[name]; !ok {
				w.Lock.RemoveFacet(name)
			}
		}
		if text != nil {
			if err := add(w.Path(project.ConfigFile), text, 0o644); err != nil {
				return nil, err
			}
		}
		data, err := w.Lock.Encode()
		if err != nil {
			return nil, err
		}
		if err := add(w.Path(project.LockFile), data, 0o644); err != nil {
			return nil, err
		}
	}
	remembered, err := a.rememberFacets()
	if err != nil {
		return nil, err
	}
	if remembered != nil {
		if err := add(w.ApprovalsPath(), remembered, 0o600); err != nil {
			return nil, err
		}
	}
	sound := len(p.before.Report) == 0 // what says the same already is neither encoded nor read again
	if !sound || !p.receipt.Same(p.before.Receipt) {
		receipt, err := p.receipt.Encode()
		if err != nil {
			return nil, err
		}
		if err := add(receiptPath(w), receipt, 0o600); err != nil {
			return nil, err
		}
	}
	if !sound || !p.sums.Same(p.before.Sums) {
		sums, err := p.sums.Encode()
		if err != nil {
			return nil, err
		}
		if err := add(materializedPath(w), sums, 0o600); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// withApprovals is files with this machine's approvals as they are now, once, if they are among
// them: several steps of one change write them.
func withApprovals(w *workspace.Workspace, files []durable.File) ([]durable.File, error) {
	ours := func(f durable.File) bool { return f.Path == w.ApprovalsPath() }
	if !slices.ContainsFunc(files, ours) {
		return files, nil
	}
	data, err := w.Approvals.Encode()
	return append(slices.DeleteFunc(files, ours), durable.File{Path: w.ApprovalsPath(), Data: data, Perm: 0o600}), err
}

// rememberFacets notes the facets that are installed now among what this machine accepted, and
// returns the file that says so; nil if it says so already. What this installation takes away,
// as nobody declares it any more, is forgotten.
func (a *Assembly) rememberFacets() ([]byte, error) {
	w, changed := a.Workspace, false
	for name := range w.Approvals.Facets {
		if _, ok := a.Pieces[name]; !ok {
			delete(w.Approvals.Facets, name)
			changed = true
		}
	}
	logs := map[string]project.AcceptedLog{} // by registry
	for name, x := range a.Pieces {
		now := project.AcceptedFacet{Version: x.Entry.Version, Integrity: x.Entry.Integrity}
		if r := x.LockedRecord(); r != nil && r.Proof != "" {
			log, ok := logs[r.Registry]
			if !ok {
				log = w.AcceptedLog(r)
				logs[r.Registry] = log
			}
			now.AcceptedLog = log
		}
		before, ok := w.Approvals.Facets[name]
		if ok && before.Version == now.Version && evidence.Same(before.Integrity, now.Integrity) && before.LogKey == now.LogKey && before.LogSize >= now.LogSize && before.Quorum == now.Quorum && before.MaxAge == now.MaxAge {
			continue
		}
		now.At, changed = w.Host.Now().UTC(), true
		w.Approvals.Facets[name] = now
	}
	if !changed {
		return nil, nil
	}
	return w.Approvals.Encode()
}

// addChanges compares what was gathered with the lock as it was.
func (out *Installation) addChanges(w *workspace.Workspace, a *Assembly) {
	names := slices.Concat(slices.Collect(maps.Keys(a.Pieces)), w.Lock.Facets())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c := Change{Name: name, Outcome: "removed"}
		if before, ok := w.Lock.Facet(name); ok {
			c.Before = &before
		}
		if x, ok := a.Pieces[name]; ok {
			after := x.Entry
			c.After, c.By = &after, x.by
			switch {
			case c.Before == nil:
				c.Outcome = "installed"
			case c.Before.Version != after.Version || c.Before.Source != after.Source || !evidence.Same(c.Before.Integrity, after.Integrity):
				c.Outcome = "updated"
			case x.Repaired:
				c.Outcome = "repaired"
			default:
				c.Outcome = "unchanged"
			}
		}
		c.Assets = assetChanges(c.Before, c.After)
		out.Facets = append(out.Facets, c)
	}
}

func assetChanges(before, after *project.FacetLock) (out []AssetChange) {
	var old, new map[string]digest.Digest
	if before != nil {
		old = before.Assets
	}
	if after != nil {
		new = after.Assets
	}
	paths := slices.Concat(slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(new)))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if o, n := old[path], new[path]; o.IsZero() || n.IsZero() || !evidence.Same(o, n) {
			out = append(out, AssetChange{path, o, n})
		}
	}
	return out
}
