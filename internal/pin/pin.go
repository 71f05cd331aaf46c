// Package pin locks servers: packages of npm, PyPI and Go, container images, servers that are packed
// from source, local commands and URLs. It also takes servers over from the configuration files of
// MCP clients, rewrites these to start "hallmark run", and undoes both. What is replaced in a
// client's file is kept beside it in FILE.hallmark, so that it is restored byte by byte.
//
// # hallmark.toml
//
// A project's hallmark.toml is edited: [MigrateConfig] rewrites deprecated keys, and
// [VerifyServer] fills in the verify block of a server, which claims digests of its files.
//
// All other bytes of the file stay. A file has at most [project.MaxConfig] bytes.
package pin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Pin locks the named servers of the project in dir, or all that it declares and those of its facets
// that are locked. For each it resolves
// the exact artifacts, fetches and hashes them, compares them with all claims about them, starts
// the server to capture its surface, and asks for consent. Then it writes the lock, surfaces,
// closures and this machine's approval, and for servers from files of clients also hallmark.toml
// and these files, all at once. A server that fails does not stop the others: its error is in its result, and all
// errors are joined in the one that is returned.
func Pin(ctx context.Context, h *host.Host, dir string, names []string, o Options) ([]*Pinned, error) {
	w, done, err := openOrBegin(ctx, h, dir, o.From)
	if err != nil {
		return nil, hintAdoption(err, h, dir, names)
	}
	defer done()
	from, names, err := chooseServers(w, names, o)
	if err != nil {
		return nil, err
	}
	if err := requireHostConsent(h, w, names); err != nil {
		return nil, err
	}
	logs := w.Logs(o.Log)
	all, failed := from.failures()
	var pinned []*Pinned
	var files []durable.File
	for _, name := range names {
		declared, err := w.Server(name)
		if err != nil {
			return all, err
		}
		p := &Pinning{Workspace: w, Logs: logs, Options: o, Declared: declared, Path: h.Getenv("PATH"),
			given: from.values(w, declared)}
		p.Result.Entries = from.entriesOf(name)
		more, err := p.pinOrKeep(ctx)
		if p.Result.Err = err; err != nil {
			o.leadOn(w, err, name)
			all, failed = append(all, &p.Result), append(failed, err)
			if ctx.Err() != nil {
				return all, errors.Join(failed...)
			}
			continue
		}
		pinned, files = append(pinned, &p.Result), append(files, more...)
	}
	all = append(all, pinned...)
	if !o.Dry && len(pinned) > 0 {
		if err := commitPinned(ctx, w, from, pinned, files, o); err != nil {
			for _, p := range pinned {
				p.Err = err
			}
			failed = append(failed, err)
		}
	}
	return all, errors.Join(failed...)
}

// openOrBegin opens the project in dir, and begins it if servers are taken over from files of clients. The directory of
// the user's own clients is made.
func openOrBegin(ctx context.Context, h *host.Host, dir string, from ClientFiles) (*workspace.Workspace, func(),
	error) {
	if err := from.refuseHome(dir); err != nil {
		return nil, nil, err
	}
	if dir == h.Places.Config && !from.isZero() {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	return workspace.OpenOrBegin(ctx, h, dir, true, !from.isZero())
}

// chooseServers returns the names of the servers to pin, sorted, and what of them is taken over from files of clients;
// nil if nothing is.
func chooseServers(w *workspace.Workspace, names []string, o Options) (from *adoption, all []string, err error) {
	if !o.From.isZero() {
		if from, names, err = adopt(w, names, o); err != nil || len(names) == 0 { // none could be taken over
			return from, nil, err
		}
	}
	if o.Tree != "" {
		from = cmp.Or(from, &adoption{})
		if from.config, err = setTree(w, cmp.Or(string(from.config), string(w.Text)), names, o.Tree); err != nil {
			return nil, nil, err
		}
	}
	if len(names) == 0 {
		for _, s := range w.LockableServers() { // what is not locked of a facet is pinned by install
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return from, slices.Compact(names), nil
}

// requireHostConsent fails if nobody consented to the hosts that the servers called names are fetched from.
func requireHostConsent(h *host.Host, w *workspace.Workspace, names []string) error {
	var uses []wire.HostUse
	for _, name := range names {
		if declared, err := w.Server(name); err == nil {
			uses = append(uses, w.ServerHosts(declared)...)
			uses = append(uses, w.PackageHosts(declared)...)
		}
	}
	return h.RequireHostConsent(uses...)
}

// pinOrKeep is [Pinning.Pin], but for a server that is approved as it is declared, if those are to be kept.
func (p *Pinning) pinOrKeep(ctx context.Context) ([]durable.File, error) {
	if !p.Options.Keep || !workspace.IsApprovedAs(p.Workspace, p.Declared) {
		return p.Pin(ctx)
	}
	entry, _ := p.Workspace.Lock.Server(p.Declared.Name)
	p.Result.Name, p.Result.Entry, p.Result.Before = p.Declared.Name, entry, &entry
	return nil, nil
}

// commitPinned writes the lock with the servers that were pinned, the files beside it, and those that their clients
// have.
func commitPinned(ctx context.Context, w *workspace.Workspace, from *adoption, pinned []*Pinned, files []durable.File,
	o Options) error {
	if from != nil {
		var names []string
		for _, p := range pinned {
			names = append(names, p.Name)
		}
		if o.Tree == "" {
			if err := from.declare(w, names); err != nil {
				return err
			}
		}
		more, err := adoptionFiles(w, from, pinned, o.WriteConfig, o.Program)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return nil
	}
	if _, err := w.Commit(ctx, files); err != nil {
		return err
	}
	for _, p := range pinned {
		p.Written = true
	}
	return nil
}

// setTree returns text, of hallmark.toml, with dir as the tree of the one server that names has, and takes it for the
// project's.
func setTree(w *workspace.Workspace, text string, names []string, dir string) ([]byte, error) {
	if len(names) != 1 {
		return nil, evidence.Errorf(evidence.Validation, "--tree", "name that server, as in 'hallmark pin NAME --tree "+
			dir+"'", errors.New("it is the directory of one server"))
	}
	config, err := workspace.SetTree([]byte(text), names[0], dir)
	if err != nil {
		return nil, err
	}
	w.Config, err = project.ParseConfig(config)
	return config, err
}

// Pin resolves, verifies, starts and captures the server, asks for consent, and adds its entry to the
// workspace's lock and approvals. It returns the files beside the lock that change; the caller
// writes these, the lock and the approvals. A dry run returns none.
func (p *Pinning) Pin(ctx context.Context) (files []durable.File, err error) {
	if err := p.begin(); err != nil {
		return nil, err
	}
	err = p.resolve(ctx)
	prog := p.found.Program
	if prog != nil {
		defer prog.Close()
	}
	if err != nil {
		return nil, err
	}
	prog.Values = p.Declared.Environment
	if len(p.given) > 0 && prog.Remote == nil {
		prog.Values = p.given
		maps.Copy(prog.Values, p.Declared.Environment)
	}
	p.report = append(p.report, prog.Report...)
	p.Result.Preview = kind.PreviewOf(p.Workspace.Host, p.Declared)
	if entry := p.Result.Entry; len(p.Result.Preview.Hosts) == 0 {
		p.Result.Preview.Hosts = kind.Of(entry.Source).Hosts(p.Workspace.Host, entry)
	}
	if p.Declared.Record == "" {
		p.addRollback()
	}
	adm, err := p.judge(nil)
	if err != nil {
		return nil, err
	}
	if err := p.requireConsentToStart(prog); err != nil {
		if p.Options.Dry && errors.Is(err, errNotStarted) { // what is known without a start is shown all the same
			p.Result.Unseen = true
			_, err = p.Options.Confirm(&p.Result)
		}
		return nil, err
	}
	found, err := prog.Capture(ctx, p.Workspace, p.Declared, adm, p.Options.Capture)
	if err != nil {
		return nil, explainLater(err, p.Declared, p.found.Later)
	}
	if err := p.lockShown(found); err != nil {
		return nil, err
	}
	claim, observed := p.compareSurface()
	p.Result.Runtime = prog.Runtime
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	return p.confirm(claim, observed)
}

// begin sets what is known of the server before it is resolved.
func (p *Pinning) begin() (err error) {
	name := p.Declared.Name
	p.Result.Name = name
	if before, ok := p.Workspace.Lock.Server(name); ok {
		p.Result.Before = &before
	}
	if p.Result.Weaker, err = Weakenings(p.Workspace, p.Logs, name, p.Declared.Launch()); err != nil {
		return err
	}
	p.Result.Entry.Launch = p.Declared.Launch()
	if len(p.given) == 0 {
		p.given = givenVariables(p.Workspace, p.Declared)
	}
	return nil
}

// compareSurface enters the surface that the server showed, and adds evidence of it against the one that is locked. It
// returns what that compares.
func (p *Pinning) compareSurface() (claim evidence.Claim, observed evidence.Observed) {
	name, entry, shown := p.Declared.Name, &p.Result.Entry, p.Result.Surface
	entry.Surface, entry.APISurface, entry.SurfaceItems = shown.Digest(), shown.APISurface(), shown.ItemDigests()
	observed = evidence.Observed{Digests: []digest.Digest{shown.Digest()}, Size: int64(len(shown.Canonical())),
		From: "the server's answers"}
	claim = evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock,
		Where: project.LockFile}
	if b := p.Result.Before; b != nil {
		claim.Want = []digest.Digest{b.Surface}
		p.Result.Changes = SurfaceChanges(p.Workspace, name, shown)
		p.Result.Same = !entry.Source.Remote() && sameArtifacts(*b, *entry) && !evidence.Same(b.Surface, entry.Surface)
	}
	p.report = append(p.report, evidence.Compare(claim, observed))
	return claim, observed
}

// confirm asks for consent to what was found, and judges the answer. Unless in a dry run it then adds the entry to the
// lock and the approvals, and returns the files beside the lock. Claim and observed are about the surface.
func (p *Pinning) confirm(claim evidence.Claim, observed evidence.Observed) ([]durable.File, error) {
	name, shown := p.Declared.Name, p.Result.Surface
	answer, err := p.Options.Confirm(&p.Result)
	if err != nil || p.Options.Dry {
		return nil, err
	}
	more, err := p.answerEvidence(answer, claim, observed)
	if err != nil {
		return nil, err
	}
	adm, err := p.judge(more)
	if err != nil {
		return nil, err
	}
	if err := p.Workspace.Lock.Add(adm, name, p.Result.Entry, shown); err != nil {
		return nil, err
	}
	p.Workspace.Lock.Renew() // also where the entry is the one that an older lock has
	p.approve()
	return workspace.FilesBeside(p.Workspace, name, p.Result.Before, shown, p.found.Closure), nil
}

// lockShown takes over what the server showed, without the items that vary: of the same bytes, those that were locked
// as varying do so still. It fails if no tool is left.
func (p *Pinning) lockShown(shown *program.Shown) error {
	entry := &p.Result.Entry
	if b := p.Result.Before; b != nil && !entry.Source.Remote() && sameArtifacts(*b, *entry) {
		if err := shown.Withhold(b.Varying, p.Declared.Excluded()); err != nil {
			return err
		}
	}
	p.Result.Surface, p.Result.Varying = shown.Surface, shown.Varying
	entry.Varying = slices.Sorted(maps.Keys(shown.Varying))
	if !slices.ContainsFunc(shown.Surface.Items(), func(i surface.Item) bool { return i.Kind == surface.KindTool }) {
		return shown.ToolsError(p.Declared.Name)
	}
	return nil
}

// explainLater adds to the error of a server that does not start that a dependency is of a later major version than it
// was written for, and the argument of uvx that keeps an earlier one.
func explainLater(err error, declared project.Server, later []closure.LaterMajor) error {
	problem := new(evidence.Error)
	if len(later) == 0 || declared.Command == "" || !errors.As(err, &problem) || problem.Kind != evidence.Operation {
		return err
	}
	explained := *problem
	var named, with []string
	for _, l := range later {
		named = append(named, l.String())
		with = append(with, fmt.Sprintf(`"--with", "%s<%d"`, l.Name, l.Before))
	}
	explained.Hint = fmt.Sprintf("it requires %s; if it was written for an earlier version, put %s before its own "+
		"arguments in %s and pin it again; else, %s", strings.Join(named, ", and "), strings.Join(with, ", "),
		project.ConfigFile, problem.Hint)
	return &explained
}

// answerEvidence returns evidence of a person's answer to what was shown, and of what standing
// consent does not cover, such as a surface that changed although the bytes did not: claim and
// observed compare it.
func (p *Pinning) answerEvidence(answer host.Consent, claim evidence.Claim, observed evidence.Observed) (
	evidence.Report, error) {
	name := p.Declared.Name
	more := evidence.Report{ConsentEvidence(name, answer, p.Result.Consent())}
	if answer == host.StandingConsent {
		gone, err := p.goneEvidence()
		if err != nil {
			return nil, err
		}
		more = append(more, gone...)
		more = append(more, p.weakenedEvidence()...)
	}
	if p.found.Claimed != nil {
		more = append(more, claimedToolsEvidence(name, p.Result.Claimed, p.Result.Entry.APISurface, answer))
	}
	alarming := ""
	if p.Result.Same {
		alarming = "the same bytes show another surface"
	} else if gone := p.removedItems(); p.Upgrade && len(gone) > 0 {
		alarming = "no client is shown any more: " + surface.Escape(evidence.NameSome(gone, 20))
	}
	if alarming != "" {
		// The bytes are the approved ones, but the model would be shown something else, or what was
		// approved is missing: standing consent does not cover that.
		claim.Authority = evidence.Machine
		alarm := evidence.Compare(claim, observed)
		alarm.Reason = alarming
		if answer == host.InformedConsent {
			alarm = evidence.Waive(claim, observed, alarming+", which was accepted")
		}
		more = append(more, alarm)
	}
	return more, nil
}

// approve adds this machine's approval of the entry.
func (p *Pinning) approve() {
	name, entry := p.Declared.Name, &p.Result.Entry
	before := p.Workspace.Approvals.Servers[name]
	var extra [][]string // approved with this launch line, and no other
	if b := p.Result.Before; b != nil && evidence.Same(b.Launch.Digest(), entry.Launch.Digest()) {
		extra = before.Extra
	}
	approval := project.Approval{
		Entry: entry.Approvable(), Path: p.Path, Runtime: p.Result.Runtime, Made: before.Made,
		At: p.Workspace.Host.Now().UTC(), Facet: entry.Launch.Facet, AcceptedLog: p.Logs.FindAccepted(entry.Record),
		Extra: extra, Launch: &entry.Launch,
	}
	for platform, tree := range p.found.Trees {
		approval.Remember(*entry.Closure, platform, tree)
	}
	p.Workspace.Approvals.Servers[name] = approval
	delete(p.Workspace.Approvals.Unlocked, name)
}

// SurfaceChanges returns the differences between the locked surface of name and s. It returns none
// if the stored surface cannot be read; 'check' reports that.
func SurfaceChanges(w *workspace.Workspace, name string, s *surface.Surface) []surface.Change {
	old := workspace.LockedSurface(w, name)
	if old == nil {
		return nil
	}
	return surface.Diff(old, s)
}
