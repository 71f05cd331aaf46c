package hallmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// CheckOptions say how to check.
type CheckOptions struct {
	Offline   bool // do not ask the registry
	Log       LogOptions
	Surface   bool          // start the servers and compare what they show with the lock
	TrustLock bool          // start those too whose entries this machine has not approved
	Strict    bool          // refuse what hallmark.toml opts out of
	Capture   time.Duration // as of [PinOptions]
}

// CheckResult is the result of [Check].
type CheckResult struct {
	policy.Verdict
	Entries int      // servers and facets that are declared or locked
	Sound   int      // those of which nothing is refused, and that are neither left unlocked nor facets whose contents are not here
	Waived  []string // opt-outs of hallmark.toml, each with the server that it is about
	Unseen  []string // what was not looked at, and why
}

// Check verifies the whole lock without starting any server, unless o.Surface: that each
// declaration has its entry and each entry its declaration, how each
// server is declared, its files beside the lock, its files or its tree in the store, the proof
// that its record is in the registry's log, this machine's approval, and drift that a
// guard noted; and of each facet how it is declared, its contents in the store, its proof
// and its installed files. Unless offline it asks the registry whether it still serves the records
// that were locked, whether its log continues the one that was seen, and what the log
// holds about the records since.
func Check(ctx context.Context, h *Host, dir string, o CheckOptions) (out CheckResult, err error) {
	w, done, err := openWorkspace(ctx, h, dir, false)
	if err != nil {
		return out, err
	}
	defer done()
	w.logOptions = o.Log
	books, err := w.books()
	if err != nil {
		return out, err
	}
	w.warnOfAge()
	if !o.Offline {
		if err := h.MayAsk(w.lockUses()...); err != nil {
			return out, err
		}
	}
	settings := policy.Settings{RequireApproval: o.Surface, RefuseWaived: o.Strict}
	var report evidence.Report
	var sound []string // servers of which nothing is refused, to be started
	names := books.Servers()
	servers := make([]evidence.Report, len(names))
	if err := spread(runtime.GOMAXPROCS(0), len(names), func(i int) (err error) {
		servers[i], err = w.check(ctx, names[i], o)
		servers[i] = books.Server(names[i]).Settle(servers[i])
		return err
	}); err != nil {
		return out, err
	}
	rows := 0
	for _, more := range servers {
		rows += len(more)
	}
	report = slices.Grow(report, rows)
	for i, name := range names {
		if _, locked := w.lock.Server(name); locked && o.Surface && policy.Judge(policy.Check, settings, slices.DeleteFunc(slices.Clone(servers[i]), isDrift)).Allowed() {
			sound = append(sound, name)
		}
		report = append(report, placed(servers[i], w.declaredAt(name))...)
	}
	facets, more, absent, err := w.checkFacets(ctx, books)
	if err != nil {
		return out, err
	}
	report = append(report, more...)
	if more, err = w.strays(missedEntries(names, servers)); err != nil {
		return out, err
	}
	report = append(report, more...)
	w.release() // all files are read
	if out.Unseen, err = w.nested(ctx); err != nil {
		return out, err
	}
	out.Unseen = slices.Concat(out.Unseen, w.dropped(books), absent)
	if !o.Offline {
		more, err := w.checkLog(ctx, w.lock.Servers())
		if err != nil {
			return out, err
		}
		report = append(report, more...)
	} else if w.registry() != nil {
		out.Unseen = append(out.Unseen, "the registry and its log (--offline)")
	}
	var problems []error
	if o.Surface {
		for _, name := range sound {
			more, err := w.recapture(ctx, name, o)
			report = append(report, placed(more, w.declaredAt(name))...)
			problems = append(problems, err)
		}
	}
	report = placed(once(report), evidence.Place{File: project.LockFile})
	out.Verdict = policy.Judge(policy.Check, settings, report)
	out.count(settings, names, servers, facets)
	return out, errors.Join(problems...)
}

// warnOfAge says what a lock of an older version lacks, and what renews it.
func (w *workspace) warnOfAge() {
	if v := w.lock.Version(); v < project.LockVersion {
		w.host.Logger.Warn(fmt.Sprintf("%s has lockfile_version %d, which does not name the logs that its proofs are of; 'hallmark install' writes version %d",
			project.LockFile, v, project.LockVersion))
	}
}

// count says how many of the entries that were looked at, servers by their names and facets, are
// sound, what is waived, and what was not looked at on this machine.
func (out *CheckResult) count(settings policy.Settings, names []string, servers, facets []evidence.Report) {
	of := map[string][]string{} // by subject of a waiver, the servers that it is about
	for i, report := range slices.Concat(servers, facets) {
		out.Entries++
		open := false // it needs no entry, or its contents are not here
		for _, e := range report {
			open = open || e.Scheme == evidence.FacetTar && e.Outcome == evidence.Unverifiable
			if !policy.IsWaiver(e) {
				continue
			}
			open = open || e.Scheme == evidence.Launch && e.Authority == evidence.Lock
			if i < len(names) && e.Authority == evidence.Verify { // its subject is a file
				of[e.Subject] = append(of[e.Subject], names[i])
			}
		}
		if !open && policy.Judge(policy.Check, settings, report).Allowed() {
			out.Sound++
		}
	}
	for _, f := range out.Verdict.Findings {
		e := f.Evidence
		switch {
		case policy.IsWaiver(e):
			text := waiverText(e)
			if all := of[e.Subject]; e.Authority == evidence.Verify && len(all) > 0 {
				text, of[e.Subject] = all[0]+": "+text, all[1:]
			}
			out.Waived = append(out.Waived, text)
		case e.Outcome == evidence.Unverifiable && e.Cause == evidence.NotFound && f.Class == evidence.OK:
			what := e.Subject
			if e.Scheme == evidence.FacetTar {
				what += ", and what it brings along"
			}
			out.Unseen = append(out.Unseen, what+" (not on this machine)")
		}
	}
}

// declaredAt is where a server is declared; the zero value if it no longer is.
func (w *workspace) declaredAt(name string) evidence.Place {
	s, ok := w.config.Servers[name]
	if !ok {
		return evidence.Place{}
	}
	return evidence.Place{File: project.ConfigFile, Line: s.Line}
}

// isDrift reports whether e is about a surface or a tag that moved: the server that was
// locked can still be started.
func isDrift(e evidence.Evidence) bool {
	return e.Scheme == evidence.Surface || e.Scheme == evidence.OCI
}

// placed is report with the place to point at, where it has none.
func placed(report evidence.Report, at evidence.Place) evidence.Report {
	for i := range report {
		if report[i].Place.File == "" {
			report[i].Place = at
		}
	}
	return report
}

// once is report, which it takes over, without what a later row says too: a proof is verified as it lies in the
// lock, and then as the log gives it now; drift that was noted may be seen again.
func once(report evidence.Report) evidence.Report {
	type row struct {
		subject   string
		scheme    evidence.Scheme
		authority evidence.Authority
		outcome   evidence.Outcome
	}
	of := func(e *evidence.Evidence) (r row, repeats bool) {
		return row{e.Subject, e.Scheme, e.Authority, e.Outcome}, e.Authority == evidence.Log || e.Scheme == evidence.LogKey || e.Scheme == evidence.Surface
	}
	last := map[row]int{}
	for i := range report {
		if r, repeats := of(&report[i]); repeats {
			last[r] = i
		}
	}
	n := 0
	for i := range report {
		if r, repeats := of(&report[i]); !repeats || last[r] == i {
			report[n] = report[i]
			n++
		}
	}
	return report[:n]
}

func (w *workspace) check(ctx context.Context, name string, o CheckOptions) (evidence.Report, error) {
	declared, ok := w.lockedServer(name)
	if mine := w.config.Servers[name]; !ok && mine.Facet != "" {
		declared, ok = mine, true // which is not locked
	}
	entry, locked := w.lock.Server(name)
	switch {
	case !ok && locked: // that nothing declares it is what it owes
		stored, err := w.readStored(name, entry)
		if err != nil {
			return nil, err
		}
		return stored.report, nil
	case !ok:
		return nil, nil
	}
	if !locked {
		e := w.launchEvidence(declared, nil)
		if declared.Unlocked {
			e = unlockedWaived(e)
		}
		return append(append(evidence.Report{e}, anyArguments(declared)...), w.verifyBlock(declared, w.host.Getenv("PATH"), "", nil)...), nil
	}
	report := append(evidence.Report{w.launchEvidence(declared, &entry), w.approvalEvidence(name, entry, o.TrustLock)}, anyArguments(declared)...)
	stored, err := w.readStored(name, entry)
	if err != nil {
		return nil, err
	}
	report = append(report, stored.report...)
	proof, err := w.lockedProof(entry.Record)
	if err != nil {
		return nil, err
	}
	report = append(report, proof...)
	approval := w.approvals.Servers[name]
	if entry.Source == "image" || entry.Closure != nil {
		report = append(report, w.verifyBlock(declared, cmp.Or(approval.Path, w.host.Getenv("PATH")), "", nil)...)
	}
	var more evidence.Report
	switch {
	case entry.Source == "http":
		more = evidence.Report{remoteEvidence(entry)}
	case entry.Source == "image":
		more, err = w.checkImage(ctx, declared, entry, approval, o.Offline)
	case entry.Source == project.KindArtifact:
		more, err = w.checkSource(ctx, name, entry, approval)
	case entry.Closure != nil:
		more, err = w.checkPackage(ctx, name, entry, approval)
	default:
		more, err = w.checkCommand(ctx, declared, entry, approval)
	}
	if err != nil {
		return nil, err
	}
	drift, err := w.driftEvidence(name, entry)
	return slices.Concat(report, more, drift), err
}

// checkPackage audits every tree of this kind of machine that is in the store.
func (w *workspace) checkPackage(ctx context.Context, name string, entry project.ServerLock, approval project.Approval) (evidence.Report, error) {
	st, err := w.host.store()
	if err != nil {
		return nil, err
	}
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(entry.Closure.Trees)) {
		if !strings.HasPrefix(key, runtime.GOOS+"/"+runtime.GOARCH+"+") {
			continue
		}
		want := entry.Closure.Trees[key]
		in, err := auditSlot(ctx, st, name, key, want)
		if err != nil {
			return nil, err
		}
		if in == nil {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: project.TreeSubject(name, key), Scheme: evidence.Tree, Authority: evidence.Lock,
				Want: []digest.Digest{want}, Where: project.LockFile,
			}, evidence.NotFound, "not in this machine's store; the next run fetches and verifies it"))
			continue
		}
		report = append(report, in.report...)
		if made := approval.Trees[key]; in.slot != nil && !made.IsZero() {
			claim := evidence.Claim{Subject: project.TreeSubject(name, key), Scheme: evidence.Tree}
			report = append(report, madeEvidence(claim, made, evidence.Observed{Digests: []digest.Digest{in.slot.Digest}, From: in.slot.Dir()}))
		}
	}
	if entry.Closure.Engine == project.EngineGo { // a toolchain is looked at when it builds
		return report, nil
	}
	return append(report, checkRuntime(name, approval)...), nil
}

// checkRuntime compares an interpreter with the one that was approved.
func checkRuntime(name string, approval project.Approval) evidence.Report {
	approved := approval.Runtime
	if approved == nil {
		return nil
	}
	p := &program{server: name}
	defer p.close()
	claim := evidence.Claim{
		Subject: approved.Path, Scheme: evidence.File, Authority: evidence.Machine,
		Want: []digest.Digest{approved.Digest}, Where: "what was approved on this machine",
	}
	image, err := guard.OpenImage(approved.Path)
	if err != nil {
		return evidence.Report{evidence.CannotVerify(claim, evidence.Unreadable, err.Error())}
	}
	p.exe = image
	p.useRuntime(image, approved.Version, approved)
	return p.report
}

func (w *workspace) checkCommand(ctx context.Context, s project.Server, entry project.ServerLock, approval project.Approval) (evidence.Report, error) {
	path := approval.Path
	if path == "" {
		path = w.host.Getenv("PATH")
	}
	p, err := w.lockedProgram(ctx, s, &entry, path, approval.Runtime)
	if p != nil {
		defer p.close()
	}
	if err != nil {
		c := evidence.Claim{
			Subject: entry.Ref, Scheme: evidence.File, Authority: evidence.Lock,
			Want: []digest.Digest{entry.Artifacts[entry.Ref]}, Where: project.LockFile,
		}
		if evidence.ClassOf(err) == evidence.Refused { // as run would
			c.Scheme, c.Want, c.Text = evidence.Unhashed, nil, "a program that 'run' would start"
		}
		return evidence.Report{evidence.CannotVerify(c, evidence.Unreadable, err.Error())}, nil
	}
	return append(p.report, missingArtifacts(entry, p)...), nil
}

// driftEvidence is what a guard noted about name.
func (w *workspace) driftEvidence(name string, entry project.ServerLock) (evidence.Report, error) {
	note, err := w.drift(name, entry)
	if note == nil || err != nil {
		return nil, err
	}
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(note.Items)) {
		item := note.Items[key]
		c := evidence.Claim{Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock, Where: project.LockFile + ", surface_items"}
		if !item.Want.IsZero() {
			c.Want = []digest.Digest{item.Want}
		}
		o := evidence.Observed{From: "the server's answers at " + note.At.Format("2006-01-02 15:04:05Z")}
		switch item.Reason {
		case guard.NotShown:
			report = append(report, notShown(c, o))
			continue
		case guard.Gone:
			report = append(report, evidence.CannotVerify(c, evidence.NotFound, item.Reason))
			continue
		}
		if item.Got.IsZero() || item.Reason == guard.Duplicate {
			report = append(report, evidence.CannotVerify(c, evidence.Malformed, item.Reason))
			continue
		}
		o.Digests = []digest.Digest{item.Got}
		e := evidence.Compare(c, o)
		e.Reason = item.Reason
		report = append(report, e)
	}
	return report, nil
}
