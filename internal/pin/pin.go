// Package pin locks servers, and takes them over from the files of clients.
package pin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/local"
	"github.com/hallmark-mcp/hallmark/internal/lockentry"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/record"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Options say how to pin.
type Options struct {
	Settings policy.Settings
	// Confirm shows what would be locked and asks for consent.
	Confirm func(*Pinned) (host.Consent, error)
	// Begin is asked before a server that is reached by its URL is sent anything, unless this
	// machine approved it as it is declared. Nil is yes: the caller has asked.
	Begin func(project.Server) (bool, error)
	// Start is asked before the program of a server is started to see what it shows, with all
	// that is known of it by then: which program that is, a checkout says. It is not asked for
	// what this machine approved, as long as it is the same bytes. Nil is yes.
	Start func(*Pinned) (bool, error)
	// Capture is how long one start may take to show the whole surface; 0 is a minute.
	Capture time.Duration
	Dry     bool // ask, or rather show, and write nothing whatever the answer
	Log     trail.Options
	// AllowScripts are names of npm packages whose install scripts are run, besides those,
	// at exactly the same version, that were allowed when the lock was written.
	AllowScripts []string
	// From names files of clients, whose servers are pinned and declared in hallmark.toml;
	// zero: those that it declares already.
	From ClientFiles
	// WriteConfig makes the entries in those files start "hallmark run".
	WriteConfig bool
}

// Pinned is what [Pin] found out about one server.
type Pinned struct {
	Name     string
	Entry    project.ServerLock
	Before   *project.ServerLock // the entry that is replaced, or nil
	Verdict  policy.Verdict      // of all evidence; of all but the consent when it is asked for
	Surface  *surface.Surface
	Changes  []surface.Change    // since Before
	Weaker   []project.Weakening // what was accepted and is declared no more
	Runtime  *project.Runtime    // the interpreter of this machine, or nil
	Packages []string            // packages of the closure, "npm:name@version"
	Verified int                 // files of those that this platform needs, all of which were verified
	Moved    []string            // those that Before had not, or had with other bytes
	Scripts  []string            // packages whose install scripts were not run
	Wanted   []string            // variables that a record asks for and hallmark.toml does not declare
	Same     bool                // the same bytes as Before show another surface
	Claimed  digest.Digest       // api_surface that its publisher claims; zero if it claims none
	Preview  Preview             // what it gets, and where it comes from
	Written  bool
	Clients  []string // the files of clients that start it by hallmark run now
}

// Consent is the digest that consent is bound to.
func (p *Pinned) Consent() digest.Digest { return project.Consent(p.Entry, p.Runtime) }

// Pin locks the named servers of the project in dir, or all that it declares. For each
// it resolves the exact artifacts, fetches and hashes them, compares them with all that
// is claimed of them, starts the server to see its surface, and asks for consent. Then
// lock, surfaces, closures, this machine's approval and, where servers are taken over from
// files of clients, hallmark.toml and those files are written together, or nothing.
func Pin(ctx context.Context, h *host.Host, dir string, names []string, o Options) ([]*Pinned, error) {
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, true, !o.From.isZero())
	if err != nil {
		return nil, err
	}
	defer done()
	w.LogOptions = o.Log
	var from *adoption
	if !o.From.isZero() {
		if from, names, err = adopt(w, o.From, names, o.WriteConfig); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
			if w.Config.Servers[name].Facet == "" { // those are pinned by install
				names = append(names, name)
			}
		}
	}
	var (
		all   []*Pinned
		files []durable.File
	)
	slices.Sort(names)
	names = slices.Compact(names)
	var uses []consent.HostUse
	for _, name := range names {
		if declared, err := w.Server(name); err == nil {
			uses = append(uses, w.ServerHosts(declared)...)
		}
	}
	if err := h.MayAsk(uses...); err != nil {
		return nil, err
	}
	for _, name := range names {
		declared, err := w.Server(name)
		if err != nil {
			return all, err
		}
		p := &Pinning{Workspace: w, Options: o, Declared: declared, Path: h.Getenv("PATH")}
		more, err := p.Pin(ctx)
		if p.Result.Name != "" {
			all = append(all, &p.Result)
		}
		if err != nil {
			return all, err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return all, nil
	}
	accepted, err := lockFiles(w)
	if err != nil {
		return all, err
	}
	files = append(files, accepted...)
	if from != nil {
		more, err := adoptionFiles(w, from, all, o.WriteConfig)
		if err != nil {
			return all, err
		}
		files = append(files, more...)
	}
	if err := w.Replace(ctx, files); err != nil {
		return all, err
	}
	for _, p := range all {
		p.Written = true
	}
	return all, nil
}

// Pinning is one server on its way into the lock.
type Pinning struct {
	Workspace *workspace.Workspace
	Options   Options
	Declared  project.Server
	Path      string
	Result    Pinned
	report    evidence.Report
	closure   []byte // to be stored, for a package
	Upgrade   bool   // another version than the locked one, which nobody named
}

// removedItems are the keys of the locked items of kinds that are not excluded that no client is shown
// any more, under no other name either.
func (p *Pinning) removedItems() (gone []string) {
	for _, key := range lockentry.GoneItems(p.Result.Before, p.Result.Surface, p.Declared.Excluded()) {
		if slices.ContainsFunc(p.Result.Changes, func(c surface.Change) bool { return c.Item == key }) {
			gone = append(gone, key)
		}
	}
	return gone
}

// judge admits what was gathered so far, together with more.
func (p *Pinning) judge(more evidence.Report) (policy.Admitted, error) {
	v := policy.Judge(policy.Pin, p.Options.Settings, append(slices.Clone(p.report), more...))
	p.Result.Verdict = v
	return v.Admitted(), v.Err()
}

func (p *Pinning) Pin(ctx context.Context) (files []durable.File, err error) {
	name := p.Declared.Name
	p.Result.Name = name
	if before, ok := p.Workspace.Lock.Server(name); ok {
		p.Result.Before = &before
	}
	if p.Result.Weaker, err = Weakenings(p.Workspace, name, p.Declared.Launch()); err != nil {
		return nil, err
	}
	entry := &p.Result.Entry
	entry.Launch = p.Declared.Launch()
	prog, err := p.prepare(ctx)
	if prog != nil {
		defer prog.Close()
	}
	if err != nil {
		return nil, err
	}
	prog.Values = p.Declared.Environment
	p.report = append(p.report, prog.Report...)
	entry.Artifacts, entry.Ref = prog.Artifacts, prog.OwnKey
	p.Result.Preview = PreviewOf(p.Workspace.Host, p.Declared)
	p.Result.Preview.Hosts = entryHosts(p.Workspace.Host, *entry, p.Declared)
	if p.Declared.Record == "" {
		p.addRollback()
	}
	adm, err := p.judge(nil)
	if err != nil {
		return nil, err
	}
	if err := p.requireConsentToStart(prog); err != nil {
		return nil, err
	}
	shown, err := prog.Capture(ctx, p.Workspace, p.Declared, adm, p.Options.Capture)
	if err != nil {
		return nil, err
	}
	p.Result.Surface = shown
	entry.Surface, entry.APISurface, entry.SurfaceItems = shown.Digest(), shown.APISurface(), shown.ItemDigests()
	observed := evidence.Observed{Digests: []digest.Digest{shown.Digest()}, Size: int64(len(shown.Canonical())), From: "the server's answers"}
	claim := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock, Where: project.LockFile}
	if b := p.Result.Before; b != nil {
		claim.Want = []digest.Digest{b.Surface}
		p.Result.Changes = SurfaceChanges(p.Workspace, name, shown)
		p.Result.Same = entry.Source != "http" && sameArtifacts(*b, *entry) && !evidence.Same(b.Surface, entry.Surface)
	}
	p.report = append(p.report, evidence.Compare(claim, observed))
	p.Result.Runtime = prog.Runtime
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	entry.ApprovedAt = p.Workspace.Host.Now().UTC()
	answer, err := p.Options.Confirm(&p.Result)
	if err != nil || p.Options.Dry {
		return nil, err
	}
	more := evidence.Report{ConsentEvidence(name, answer, p.Result.Consent())}
	if answer == host.Standing {
		gone, err := p.goneEvidence()
		if err != nil {
			return nil, err
		}
		more = append(more, gone...)
		more = append(more, p.weakenedEvidence()...)
	}
	if entry.Source == project.KindArtifact {
		more = append(more, claimedToolsEvidence(name, p.Result.Claimed, entry.APISurface, answer))
	}
	alarming := ""
	if p.Result.Same {
		alarming = "the same bytes show another surface"
	} else if gone := p.removedItems(); p.Upgrade && len(gone) > 0 {
		alarming = "no client is shown any more: " + surface.Escape(strings.Join(gone, ", "))
	}
	if alarming != "" {
		// The bytes are those that were approved, and yet the model would be shown something
		// else, or what was approved is gone: nobody gave consent to that beforehand.
		claim.Authority = evidence.Machine
		alarm := evidence.Compare(claim, observed)
		alarm.Reason = alarming
		if answer == host.Given {
			alarm = evidence.Waive(claim, observed, alarming+", which was accepted")
		}
		more = append(more, alarm)
	}
	if adm, err = p.judge(more); err != nil {
		return nil, err
	}
	if err := p.Workspace.Lock.Add(adm, name, *entry, shown); err != nil {
		return nil, err
	}
	var trees map[string]digest.Digest
	if entry.Closure != nil {
		key := closure.PlatformKey(entry.Closure.Engine, prog.Runtime)
		trees = map[string]digest.Digest{key: entry.Closure.Trees[key]}
	}
	var extra [][]string // approved with this launch line, and no other
	if b := p.Result.Before; b != nil && evidence.Same(b.Launch.Digest(), entry.Launch.Digest()) {
		extra = p.Workspace.Approvals.Servers[name].Extra
	}
	p.Workspace.Approvals.Servers[name] = project.Approval{
		Entry: entry.Approvable(), Path: p.Path, Runtime: prog.Runtime, Trees: trees, At: entry.ApprovedAt,
		Facet: entry.Launch.Facet, AcceptedLog: p.Workspace.AcceptedLog(entry.Record), Extra: extra, Launch: &entry.Launch,
	}
	delete(p.Workspace.Approvals.Unlocked, name)
	return lockentry.FilesBeside(p.Workspace, name, p.Result.Before, shown, p.closure), nil
}

// requireConsentToStart is an error if nobody consented that the server is started, to see what it shows.
// That a person ran a command in a checkout is no consent to what the checkout names.
func (p *Pinning) requireConsentToStart(prog *program.Program) error {
	if p.Options.Start == nil || prog.Remote != nil {
		return nil // a server behind a URL was asked for before
	}
	if b := p.Result.Before; b != nil && isApprovedAs(p.Workspace, p.Declared) && sameArtifacts(*b, p.Result.Entry) {
		return nil
	}
	p.Result.Runtime = prog.Runtime
	yes, err := p.Options.Start(&p.Result)
	if err == nil && !yes {
		err = evidence.Errorf(evidence.Refused, p.Declared.Name, "--start consents to that, and --yes to what is found as well",
			errors.New("would be started to see what it shows, and nobody consented; nothing was started"))
	}
	return err
}

// ConsentEvidence is evidence of a person's answer. It is bound to the digest of what
// was shown.
func ConsentEvidence(name string, answer host.Consent, shown digest.Digest) evidence.Evidence {
	c := evidence.Claim{Subject: name, Scheme: evidence.Approval, Authority: evidence.Machine}
	switch answer {
	case host.Standing:
		c.Want, c.Where = []digest.Digest{shown}, "--yes"
	case host.Given:
		c.Want, c.Where = []digest.Digest{shown}, "the person at this machine"
	}
	return evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{shown}, From: "what is to be approved"})
}

// sameArtifacts reports whether two entries run the same bytes.
func sameArtifacts(a, b project.ServerLock) bool {
	if !maps.EqualFunc(a.Artifacts, b.Artifacts, evidence.Same) || (a.Closure == nil) != (b.Closure == nil) {
		return false
	}
	return a.Closure == nil || evidence.Same(a.Closure.Lock, b.Closure.Lock)
}

// prepare makes the server startable from verified bytes.
func (p *Pinning) prepare(ctx context.Context) (*program.Program, error) {
	s := p.Declared
	if s.Type == "http" {
		return p.prepareRemote() // which asks before anything is sent
	}
	if s.Record != "" {
		r, err := record.FetchNamed(ctx, p.Workspace, s.Record)
		if err != nil {
			return nil, err
		}
		ref, args, variables, err := r.StartablePackage()
		if err != nil {
			return nil, err
		}
		p.Result.Entry.Record = &r.Lock
		p.report = append(p.report, r.Report...)
		p.addRollback()
		if _, err := p.judge(nil); err != nil {
			return nil, err // nothing is fetched for a record that is not accepted
		}
		for _, v := range variables {
			if !slices.Contains(s.Variables, v) {
				p.Result.Wanted = append(p.Result.Wanted, v) // which of the user's secrets it gets is the user's choice
			}
		}
		return p.preparePackage(ctx, r, Request{
			From: launcher.Ecosystem(ref.Kind()), name: ref.Name(), spec: ref.Version(), requirements: []string{ref.Name() + "==" + ref.Version()},
			args: append(args, s.Arguments...),
		})
	}
	if s.Source != "" {
		return p.prepareSource(ctx)
	}
	t := launcher.Parse(s.Command, s.Arguments)
	if lockentry.RunsImage(t) || lockentry.Downloads(t, s.Arguments) {
		p.report = append(p.report, program.VerifyEvidence(p.Workspace, s, p.Path, "", nil)...)
		if _, err := p.judge(nil); err != nil {
			return nil, err
		}
	}
	if lockentry.RunsImage(t) {
		return p.prepareImage(ctx, t)
	}
	if !lockentry.Downloads(t, s.Arguments) {
		p.Result.Entry.Source = "command"
		p.Result.Entry.Arguments, p.Result.Entry.Variables = s.Launch().Arguments, s.Launch().Variables
		return local.OpenLocked(ctx, p.Workspace, s, nil, project.Approval{Path: p.Path})
	}
	// What npx or uvx itself is does not matter: it is never run.
	of := Request{From: t.Packages[0].Ecosystem, name: t.Packages[0].Name, spec: t.Packages[0].Spec, bin: t.Bin, args: t.Args}
	for _, named := range t.Packages {
		pinned := evidence.Claim{Subject: s.Name, Scheme: evidence.Pin, Authority: evidence.Caller, Text: named.Text, Where: project.ConfigFile}
		found := ""
		if named.Pinned() {
			found = named.Text
		}
		e := evidence.Fact(pinned, found)
		if found == "" {
			e.Reason = "the version is the newest that " + of.RegistryName() + " finds now; write it into " + project.ConfigFile
		}
		p.report = append(p.report, e)
		of.requirements = append(of.requirements, named.Requirement())
	}
	return p.preparePackage(ctx, nil, of)
}

// SurfaceChanges are the differences between the locked surface of name and s. A stored
// surface that cannot be read shows none; 'check' reports it.
func SurfaceChanges(w *workspace.Workspace, name string, s *surface.Surface) []surface.Change {
	old := lockentry.LockedSurface(w, name)
	if old == nil {
		return nil
	}
	return surface.Diff(old, s)
}
