package hallmark

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Consent is a person's answer to what was shown.
type Consent int

// The answers.
const (
	No       Consent = iota
	Standing         // given beforehand, for whatever is found: --yes
	Given            // to exactly what was shown
)

// PinOptions say how to pin.
type PinOptions struct {
	Settings policy.Settings
	// Confirm shows what would be locked and asks for consent.
	Confirm func(*Pinned) (Consent, error)
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
	Log     LogOptions
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
func Pin(ctx context.Context, h *Host, dir string, names []string, o PinOptions) ([]*Pinned, error) {
	w, done, err := openProject(ctx, h, dir, true, !o.From.isZero())
	if err != nil {
		return nil, err
	}
	defer done()
	w.logOptions = o.Log
	var from *adoption
	if !o.From.isZero() {
		if from, names, err = w.adopt(o.From, names, o.WriteConfig); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		for _, name := range slices.Sorted(maps.Keys(w.config.Servers)) {
			if w.config.Servers[name].Facet == "" { // those are pinned by install
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
		if declared, err := w.server(name); err == nil {
			uses = append(uses, w.serverUses(declared)...)
		}
	}
	if err := h.MayAsk(uses...); err != nil {
		return nil, err
	}
	for _, name := range names {
		declared, err := w.server(name)
		if err != nil {
			return all, err
		}
		p := &pinning{w: w, o: o, declared: declared, path: h.Getenv("PATH")}
		more, err := p.pin(ctx)
		if p.out.Name != "" {
			all = append(all, &p.out)
		}
		if err != nil {
			return all, err
		}
		files = append(files, more...)
	}
	if len(files) == 0 {
		return all, nil
	}
	accepted, err := w.accepted()
	if err != nil {
		return all, err
	}
	files = append(files, accepted...)
	if from != nil {
		more, err := w.adopted(from, all, o.WriteConfig)
		if err != nil {
			return all, err
		}
		files = append(files, more...)
	}
	if err := w.replace(ctx, files); err != nil {
		return all, err
	}
	for _, p := range all {
		p.Written = true
	}
	return all, nil
}

// pinning is one server on its way into the lock.
type pinning struct {
	w        *workspace
	o        PinOptions
	declared project.Server
	path     string
	out      Pinned
	report   evidence.Report
	closure  []byte // to be stored, for a package
	upgrade  bool   // another version than the locked one, which nobody named
}

// removed are the keys of the locked items of kinds that are not excluded that no client is shown
// any more, under no other name either.
func (p *pinning) removed() (gone []string) {
	for _, key := range goneItems(p.out.Before, p.out.Surface, p.declared.Excluded()) {
		if slices.ContainsFunc(p.out.Changes, func(c surface.Change) bool { return c.Item == key }) {
			gone = append(gone, key)
		}
	}
	return gone
}

// judge admits what was gathered so far, together with more.
func (p *pinning) judge(more evidence.Report) (policy.Admitted, error) {
	v := policy.Judge(policy.Pin, p.o.Settings, append(slices.Clone(p.report), more...))
	p.out.Verdict = v
	return v.Admitted(), v.Err()
}

func (p *pinning) pin(ctx context.Context) (files []durable.File, err error) {
	name := p.declared.Name
	p.out.Name = name
	if before, ok := p.w.lock.Server(name); ok {
		p.out.Before = &before
	}
	if p.out.Weaker, err = p.w.weaker(name, p.declared.Launch()); err != nil {
		return nil, err
	}
	entry := &p.out.Entry
	entry.Launch = p.declared.Launch()
	prog, err := p.prepare(ctx)
	if prog != nil {
		defer prog.close()
	}
	if err != nil {
		return nil, err
	}
	prog.values = p.declared.Environment
	p.report = append(p.report, prog.report...)
	entry.Artifacts, entry.Ref = prog.artifacts, prog.own
	p.out.Preview = p.w.host.Preview(p.declared)
	p.out.Preview.Hosts = p.w.host.hostsOf(*entry, p.declared)
	if p.declared.Record == "" {
		p.rollback()
	}
	adm, err := p.judge(nil)
	if err != nil {
		return nil, err
	}
	if err := p.mayStart(prog); err != nil {
		return nil, err
	}
	shown, err := p.w.capture(ctx, p.declared, prog, adm, p.o.Capture)
	if err != nil {
		return nil, err
	}
	p.out.Surface = shown
	entry.Surface, entry.APISurface, entry.SurfaceItems = shown.Digest(), shown.APISurface(), shown.ItemDigests()
	observed := evidence.Observed{Digests: []digest.Digest{shown.Digest()}, Size: int64(len(shown.Canonical())), From: "the server's answers"}
	claim := evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock, Where: project.LockFile}
	if b := p.out.Before; b != nil {
		claim.Want = []digest.Digest{b.Surface}
		p.out.Changes = p.w.changes(name, shown)
		p.out.Same = entry.Source != "http" && sameArtifacts(*b, *entry) && !evidence.Same(b.Surface, entry.Surface)
	}
	p.report = append(p.report, evidence.Compare(claim, observed))
	p.out.Runtime = prog.runtime
	if _, err := p.judge(nil); err != nil {
		return nil, err
	}
	entry.ApprovedAt = p.w.host.Now().UTC()
	answer, err := p.o.Confirm(&p.out)
	if err != nil || p.o.Dry {
		return nil, err
	}
	more := evidence.Report{consentEvidence(name, answer, p.out.Consent())}
	if answer == Standing {
		gone, err := p.gone()
		if err != nil {
			return nil, err
		}
		more = append(more, gone...)
		more = append(more, p.weakened()...)
	}
	if entry.Source == project.KindArtifact {
		more = append(more, claimedEvidence(name, p.out.Claimed, entry.APISurface, answer))
	}
	alarming := ""
	if p.out.Same {
		alarming = "the same bytes show another surface"
	} else if gone := p.removed(); p.upgrade && len(gone) > 0 {
		alarming = "no client is shown any more: " + surface.Escape(strings.Join(gone, ", "))
	}
	if alarming != "" {
		// The bytes are those that were approved, and yet the model would be shown something
		// else, or what was approved is gone: nobody gave consent to that beforehand.
		claim.Authority = evidence.Machine
		alarm := evidence.Compare(claim, observed)
		alarm.Reason = alarming
		if answer == Given {
			alarm = evidence.Waive(claim, observed, alarming+", which was accepted")
		}
		more = append(more, alarm)
	}
	if adm, err = p.judge(more); err != nil {
		return nil, err
	}
	if err := p.w.lock.Add(adm, name, *entry, shown); err != nil {
		return nil, err
	}
	var trees map[string]digest.Digest
	if entry.Closure != nil {
		key := platform(entry.Closure.Engine, prog.runtime)
		trees = map[string]digest.Digest{key: entry.Closure.Trees[key]}
	}
	var extra [][]string // approved with this launch line, and no other
	if b := p.out.Before; b != nil && evidence.Same(b.Launch.Digest(), entry.Launch.Digest()) {
		extra = p.w.approvals.Servers[name].Extra
	}
	p.w.approvals.Servers[name] = project.Approval{
		Entry: entry.Approvable(), Path: p.path, Runtime: prog.runtime, Trees: trees, At: entry.ApprovedAt,
		Facet: entry.Launch.Facet, AcceptedLog: p.w.acceptedLog(entry.Record), Extra: extra, Launch: &entry.Launch,
	}
	delete(p.w.approvals.Unlocked, name)
	return p.w.beside(name, p.out.Before, shown, p.closure), nil
}

// mayStart is an error if nobody consented that the server is started, to see what it shows.
// That a person ran a command in a checkout is no consent to what the checkout names.
func (p *pinning) mayStart(prog *program) error {
	if p.o.Start == nil || prog.remote != nil {
		return nil // a server behind a URL was asked for before
	}
	if b := p.out.Before; b != nil && p.w.approvedAs(p.declared) && sameArtifacts(*b, p.out.Entry) {
		return nil
	}
	p.out.Runtime = prog.runtime
	yes, err := p.o.Start(&p.out)
	if err == nil && !yes {
		err = evidence.Errorf(evidence.Refused, p.declared.Name, "--start consents to that, and --yes to what is found as well",
			errors.New("would be started to see what it shows, and nobody consented; nothing was started"))
	}
	return err
}

// consentEvidence is evidence of a person's answer. It is bound to the digest of what
// was shown.
func consentEvidence(name string, answer Consent, shown digest.Digest) evidence.Evidence {
	c := evidence.Claim{Subject: name, Scheme: evidence.Approval, Authority: evidence.Machine}
	switch answer {
	case Standing:
		c.Want, c.Where = []digest.Digest{shown}, "--yes"
	case Given:
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
func (p *pinning) prepare(ctx context.Context) (*program, error) {
	s := p.declared
	if s.Type == "http" {
		return p.prepareRemote() // which asks before anything is sent
	}
	if s.Record != "" {
		r, err := p.w.recordNamed(ctx, s.Record)
		if err != nil {
			return nil, err
		}
		ref, args, variables, err := r.startable()
		if err != nil {
			return nil, err
		}
		p.out.Entry.Record = &r.lock
		p.report = append(p.report, r.report...)
		p.rollback()
		if _, err := p.judge(nil); err != nil {
			return nil, err // nothing is fetched for a record that is not accepted
		}
		for _, v := range variables {
			if !slices.Contains(s.Variables, v) {
				p.out.Wanted = append(p.out.Wanted, v) // which of the user's secrets it gets is the user's choice
			}
		}
		return p.preparePackage(ctx, r, asked{
			from: launcher.Ecosystem(ref.Kind()), name: ref.Name(), spec: ref.Version(), with: []string{ref.Name() + "==" + ref.Version()},
			args: append(args, s.Arguments...),
		})
	}
	if s.Source != "" {
		return p.prepareSource(ctx)
	}
	t := launcher.Parse(s.Command, s.Arguments)
	if runsImage(t) || downloads(t, s.Arguments) {
		p.report = append(p.report, p.w.verifyBlock(s, p.path, "", nil)...)
		if _, err := p.judge(nil); err != nil {
			return nil, err
		}
	}
	if runsImage(t) {
		return p.prepareImage(ctx, t)
	}
	if !downloads(t, s.Arguments) {
		p.out.Entry.Source = "command"
		p.out.Entry.Arguments, p.out.Entry.Variables = s.Launch().Arguments, s.Launch().Variables
		return p.w.lockedProgram(ctx, s, nil, p.path, nil)
	}
	// What npx or uvx itself is does not matter: it is never run.
	of := asked{from: t.Packages[0].Ecosystem, name: t.Packages[0].Name, spec: t.Packages[0].Spec, bin: t.Bin, args: t.Args}
	for _, named := range t.Packages {
		pinned := evidence.Claim{Subject: s.Name, Scheme: evidence.Pin, Authority: evidence.Caller, Text: named.Text, Where: project.ConfigFile}
		found := ""
		if named.Pinned() {
			found = named.Text
		}
		e := evidence.Fact(pinned, found)
		if found == "" {
			e.Reason = "the version is the newest that " + of.registry() + " finds now; write it into " + project.ConfigFile
		}
		p.report = append(p.report, e)
		of.with = append(of.with, named.Requirement())
	}
	return p.preparePackage(ctx, nil, of)
}

// changes are the differences between the locked surface of name and s. A stored
// surface that cannot be read shows none; 'check' reports it.
func (w *workspace) changes(name string, s *surface.Surface) []surface.Change {
	old := w.lockedSurface(name)
	if old == nil {
		return nil
	}
	return surface.Diff(old, s)
}

func (w *workspace) lockedSurface(name string) *surface.Surface {
	data, err := w.stored(w.surfacePath(name), maxSurface)
	if err != nil || data == nil {
		return nil
	}
	s, err := surface.Read(data)
	if err != nil {
		return nil
	}
	return s
}

// maxSurface bounds a file of hallmark.surfaces, in bytes.
const maxSurface = 256 << 20
