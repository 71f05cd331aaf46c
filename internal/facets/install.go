package facets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Install brings a project to what hallmark.toml and hallmark.lock say.
func Install(ctx context.Context, h *host.Host, dir string, o Options) (*Installation, error) {
	return installFacets(ctx, h, dir, o, facetRequest{})
}

// Add declares a facet in hallmark.toml, which need not exist, and installs all. A
// zero requirement becomes one for the major version that is newest now. Without a name,
// that which its source says is taken.
func Add(ctx context.Context, h *host.Host, dir string, f project.Facet, o Options) (*Installation, error) {
	o.Named = f.URL()
	return addFacets(ctx, h, dir, o, facetRequest{add: []project.Facet{f}})
}

// addFacets declares facets, all or none, and remembers that their hosts may be asked.
func addFacets(ctx context.Context, h *host.Host, dir string, o Options, req facetRequest) (*Installation, error) {
	out, err := installFacets(ctx, h, dir, o, req)
	if err != nil || o.Dry {
		return out, err
	}
	urls := []string{o.Registry}
	for _, f := range req.add {
		urls = append(urls, f.URL())
	}
	for _, url := range urls {
		if host := host.HostOfURL(url); url != "" && !h.NeedsNoConsent(host) {
			err = errors.Join(err, h.RememberHosts(host)) // the next command finds it in hallmark.toml
		}
	}
	return out, err
}

// Remove takes facets out of hallmark.toml, and their files out of the project.
func Remove(ctx context.Context, h *host.Host, dir string, names []string, o Options) (*Installation, error) {
	return installFacets(ctx, h, dir, o, facetRequest{remove: names})
}

// facetRequest is what a command wants to change.
type facetRequest struct {
	add     []project.Facet
	found   bool // the names of what is added are those that its publisher gave it
	remove  []string
	undo    bool // what is removed was adopted, and is to lie as it did before
	upgrade bool
	names   []string  // to upgrade; empty, with servers too: all
	asked   []string  // of facets and servers, as the command names them
	servers []string  // of facets, to upgrade without these
	adopt   *adoption // of what is added; nil for other commands
	// changeMore changes more of the project in the same step: the lock in w, files beside it and
	// hallmark.toml, whose new text it returns, or nil.
	changeMore func(ctx context.Context, w *workspace.Workspace,
		logs *trail.Logs) (files []durable.File, text []byte, err error)
}

// installFacets makes the change that a command asks for and brings the project to what
// hallmark.toml then says: all of it is written, or nothing. What was found is returned beside an
// error too.
func installFacets(ctx context.Context, h *host.Host, dir string, o Options, req facetRequest) (*Installation, error) {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, true, len(req.add) > 0)
	if err != nil {
		return nil, err
	}
	defer done()
	w.Repositories.Join(o.Repositories)
	if len(req.add) > 0 {
		w.NamedHost = host.HostOfURL(o.Named)
	}
	sources := installed.SourceDirs(w) // before the command changes what is declared
	text, err := req.editConfig(ctx, w, o)
	if err != nil {
		return nil, err
	}
	if len(req.remove) == 0 { // which leads out of what is refused here
		if err := installed.CheckSources(w); err != nil {
			return nil, err
		}
	}
	a, err := req.newAssembly(w, o)
	if err != nil {
		return nil, err
	}
	a.sources = sources
	x := &installing{Assembly: a, req: &req, text: text, out: &Installation{Targets: installed.Targets(w)}}
	var early sync.WaitGroup
	early.Go(func() { a.readReceipt() }) // which the plan needs, and which takes one processor only
	defer early.Wait()
	if err := x.gather(ctx); err != nil {
		return x.out, err
	}
	if err := x.pin(ctx); err != nil {
		return x.out, err
	}
	p, err := x.plan(ctx)
	if err != nil {
		return x.out, err
	}
	return x.out, x.write(ctx, p)
}

// installing is the work of installFacets: what one step finds is for the next.
type installing struct {
	*Assembly
	req     *facetRequest
	text    []byte // of hallmark.toml as it is to be
	out     *Installation
	adm     policy.Admitted
	parts   []installed.Part
	servers pinnedServers
	clients *installed.ClientPlan
	more    []durable.File // that the command changes, too
}

// gather obtains all facets, judges them and what changes of them, and asks.
func (x *installing) gather(ctx context.Context) (err error) {
	var verdict policy.Verdict
	x.parts, verdict, err = x.gatherParts(ctx)
	if x.out.Verdict = verdict; err != nil {
		return err
	}
	if x.out.Facets, err = x.changes(); err != nil {
		return err
	}
	x.adm = verdict.Admitted()
	if err := x.req.adopt.review(x.Assembly, x.adm, x.parts, x.out); err != nil {
		return err
	}
	x.out.Verdict, err = x.reviewChanges(ctx, x.req, x.out)
	return err // before any server is started
}

// pin pins the servers of the facets, and plans the entries of clients for them.
func (x *installing) pin(ctx context.Context) (err error) {
	x.servers, err = x.pinServers(ctx)
	x.out.Servers, x.out.Pinned = x.skipped(x.servers.changes), x.servers.pinned
	x.out.ServerChanges = x.servers.changes
	if err != nil {
		return err
	}
	known, err := x.readReceipt()
	if err != nil {
		return err
	}
	x.clients, err = installed.PlanClientEntries(x.Workspace, x.servers.names, x.serverOwners(), known.Receipt.Clients)
	if err != nil {
		return err
	}
	x.out.Clients, x.out.Stopped = x.clients.Started, x.clients.Stopped
	return nil
}

// plan plans all files of the project, and judges that.
func (x *installing) plan(ctx context.Context) (p *installed.Plan, err error) {
	if x.text, err = x.req.setRequirement(x.Workspace, x.Assembly, x.text); err != nil {
		return nil, err
	}
	if p, err = x.PlanFiles(x.adm, x.parts); err != nil {
		return nil, err
	}
	p.NoteClients(x.clients.Noted)
	if x.req.changeMore != nil {
		if x.more, x.text, err = x.req.changeMore(ctx, x.Workspace, x.Logs); err != nil {
			return nil, err
		}
	}
	out := x.out
	out.Verdict = policy.Judge(policy.Install, x.Settings(), slices.Concat(out.Verdict.Report(), p.Report))
	if err := out.Verdict.Err(); err != nil { // of a frozen installation; others keep what a user edited
		return nil, err
	}
	out.Files, out.Deleted, out.Kept, out.Extra, out.Left = p.Written, p.Deleted, p.Kept, p.Extra, p.Left
	out.Unwanted, out.Notes = p.Unwanted, slices.Concat(p.Notes, installed.ServerNotes(x.Workspace, x.servers.names))
	return p, nil
}

// write brings the project to what was planned, unless this is a dry run.
func (x *installing) write(ctx context.Context, p *installed.Plan) error {
	x.forgetFacets(x.req.remove)
	copies, err := x.req.adopt.copies(x.Assembly)
	if err != nil {
		return err
	}
	x.req.adopt.record(p)
	undone, err := x.req.undoAdoption(x.Assembly, x.out)
	if err != nil {
		return err
	}
	files, err := x.updateLock(x.adm, x.text, p, slices.Concat(x.servers.files, x.clients.Files))
	if err != nil || x.o.Dry {
		return err
	}
	w, out := x.Workspace, x.out
	out.Written, err = w.Commit(ctx, slices.Concat(files, x.more, copies, undone))
	if err != nil || !out.Written {
		return err
	}
	deleted := slices.Concat(out.Deleted, out.Clients, out.Stopped)
	for _, f := range slices.Concat(copies, undone) {
		if f.Remove {
			deleted = append(deleted, host.RelativeTo(w.PlaceDir(), f.Path))
		}
	}
	pin.RemoveEmptyDirs(w, deleted, installed.Marks(w))
	for _, p := range out.Pinned {
		p.Written = true
	}
	return nil
}

// gatherParts obtains all facets, chooses what of them is installed, and judges everything. The
// verdict is about what was found until an error.
func (a *Assembly) gatherParts(ctx context.Context) ([]installed.Part, policy.Verdict, error) {
	err := a.Gather(ctx)
	v := a.Verdict()
	if err != nil {
		return nil, v, err
	}
	parts, err := a.Compose()
	if err != nil {
		return nil, v, err
	}
	return parts, v, v.Err()
}

// notDeclared is the refusal of what hallmark.toml does not declare, or of a facet that is locked without it.
func notDeclared(w *workspace.Workspace, what, name string, there []string) error {
	if _, locked := w.Lock.Facet(name); !locked {
		return project.NoSuch(what, project.ConfigFile, name, there)
	}
	return evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "'hallmark why "+name+"' says what brings "+
		"it along; what you do to that is done to it",
		fmt.Errorf("is locked, and not declared in %s", project.ConfigFile))
}

// newAssembly demands that what a command names is declared and that the hosts which it needs may be
// asked, and opens the store.
func (r *facetRequest) newAssembly(w *workspace.Workspace, o Options) (*Assembly, error) {
	for _, name := range r.names {
		if _, ok := w.Config.Facets[name]; !ok {
			return nil, notDeclared(w, "facet", name, w.FacetNames())
		}
	}
	if !o.Offline && !o.Frozen { // otherwise what is locked may be in the store, and needs no request
		if err := w.MayAsk(w.FacetHosts()...); err != nil {
			return nil, err
		}
	}
	a, err := NewAssembly(w, o, r.anew())
	if err == nil && r.adopt != nil {
		a.adopted, a.private = r.adopt.present, r.adopt.private
		a.TakeFrom(r.adopt.folders)
	}
	return a, err
}

// anew says which facets a command resolves anew: those that it upgrades or declares.
func (r *facetRequest) anew() Anew {
	n := Anew{All: r.upgrade && len(r.names)+len(r.servers) == 0, Others: len(r.remove) > 0}
	if r.upgrade {
		n.Names, n.Servers = r.names, r.servers
	}
	for _, f := range r.add {
		n.Declared = append(n.Declared, f.Name)
	}
	return n
}

// editConfig makes the change to hallmark.toml, whose new text it returns; nil if it stays.
func (r *facetRequest) editConfig(ctx context.Context, w *workspace.Workspace, o Options) (text []byte, err error) {
	switch {
	case len(r.add) > 0:
		if text, err = declareRegistry(w, o); err != nil {
			return nil, err
		}
		for i := range r.add {
			if text, err = r.declare(ctx, w, &r.add[i], text, o); err != nil {
				return nil, err
			}
			same := func(f project.Facet) bool { return f.Name == r.add[i].Name }
			if slices.ContainsFunc(r.add[:i], same) {
				return nil, evidence.Errorf(evidence.Refused, r.add[i].Name, "add one of them under another name: "+
					"'hallmark add NAME' with its --sub, or its --path", errors.New("several of them are called so"))
			}
		}
	case len(r.remove) > 0:
		text = w.Text
		for _, name := range r.remove {
			if _, ok := w.Config.Facets[name]; !ok {
				return nil, notDeclared(w, "facet", name, w.FacetNames())
			}
			if text, err = workspace.UnsetFacet(text, name); err != nil {
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
	if len(r.add) == 0 || !r.add[0].Kind().HasVersions() || r.add[0].Requirement.String() != "" {
		return text, nil // of a registry one is added at once
	}
	f := r.add[0]
	numbers := strings.Split(a.Pieces[f.Name].Entry.Version, ".")
	keep := 1
	if numbers[0] == "0" {
		keep = 2 // before 1.0.0 the second number is the one that breaks
	}
	var err error
	if f.Requirement, err = artifact.ParseRequirement(strings.Join(numbers[:keep], ".") + ".*"); err != nil {
		return nil, err
	}
	if text, err = workspace.SetFacet(text, f); err != nil {
		return nil, err
	}
	w.Config, err = project.ParseConfig(text)
	return text, err
}
