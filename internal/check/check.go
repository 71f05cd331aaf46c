// Package check verifies a lock and the store without starting servers. Only the option Surface
// starts them, to compare what they show now with the lock. It also explains a lock claim by claim, lists all that is
// pinned as a software bill of materials ([MakeSBOM]), compares a project with a commit ([CompareCommit]), and examines
// what this machine lacks ([Examine]).
package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say how to check.
type Options struct {
	Offline   bool // do not ask the registry
	Log       trail.Options
	Surface   bool          // start the servers and compare what they show with the lock
	TrustLock bool          // start those too whose entries this machine has not approved
	Strict    bool          // refuse what hallmark.toml opts out of, and what clients read or run and no lock covers
	Capture   time.Duration // as of [PinOptions]
}

// Result is the result of [Check].
type Result struct {
	policy.Verdict
	Entries int      // servers and facets that are declared or locked
	Sound   int      // those of which nothing is refused, neither left unlocked nor facets whose contents are not here
	Waived  []string // opt-outs of hallmark.toml, each with the server that it is about
	Unseen  []string // what was not looked at, and why
	Each    []Entry  // all of them, servers first
}

// Entry is a server or a facet that is declared or locked.
type Entry struct {
	Name, What string          // What is its artifact, "" if it is not locked
	Report     evidence.Report // all that was found out about it
	Sound      bool            // it is among those that [Result.Sound] counts
	failed     bool            // it was not looked at to the end
}

// Check verifies the whole lock. Of each server it compares the declaration with the entry, the
// files beside the lock, its files or its tree in the store, the proof that its record is in the
// registry's log, this machine's approval, and drift that a guard noted. Of each facet it compares
// the declaration, the contents in the store, the proof and the installed files. Unless offline it
// asks the registry whether it still serves the locked records, whether its log continues the one
// that was seen, and what the log holds about the records since; and the package registries whether
// the locked versions were taken back. With o.Surface it starts each server.
func Check(ctx context.Context, h *host.Host, dir string, o Options) (out Result, err error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return out, err
	}
	defer done()
	logs := w.Logs(o.Log)
	demands, err := w.Demands(logs)
	if err != nil {
		return out, err
	}
	warnOfAge(w)
	if !o.Offline {
		if err := requireConsent(h, w); err != nil {
			return out, err
		}
	}
	c := &checker{
		w: w, logs: logs, demands: demands, o: o, names: demands.Servers(), out: &out,
		settings: policy.Settings{RequireApproval: o.Surface, RefuseWaived: o.Strict},
	}
	absent, err := c.checkFiles(ctx)
	if err != nil {
		return out, err
	}
	w.Release() // all files are read
	if out.Unseen, err = w.NestedProjects(ctx); err != nil {
		return out, err
	}
	out.Unseen = slices.Concat(out.Unseen, w.DroppedNames(demands), absent)
	if o.Offline {
		c.noteUnasked()
	} else if err := c.askRegistries(ctx); err != nil {
		return out, err
	}
	err = c.recaptureSound(ctx)
	c.judge()
	return out, err
}

// requireConsent fails if nobody consented to a host that is asked about the lock or its advisories.
func requireConsent(h *host.Host, w *workspace.Workspace) error {
	uses := w.LockHosts()
	if needsAdvisories(w) {
		uses = append(uses, w.AdvisoryHosts()...)
	}
	return h.RequireHostConsent(uses...)
}

// A checker is one call of [Check], with what it has found so far.
type checker struct {
	w        *workspace.Workspace
	logs     *trail.Logs
	demands  owed.Demands
	o        Options
	settings policy.Settings
	names    []string // of the servers
	sound    []int    // servers of which nothing is refused, to be started
	report   evidence.Report
	out      *Result
}

// checkFiles compares servers, facets and the files beside the lock with the lock. It returns, for people, of which
// facets nothing is installed, and what clients read that is of none.
func (c *checker) checkFiles(ctx context.Context) (absent []string, err error) {
	servers := make([]evidence.Report, len(c.names))
	if err := host.ForEach(runtime.GOMAXPROCS(0), len(c.names), func(i int) (err error) {
		name := c.names[i]
		servers[i], err = checkServer(ctx, c.w, c.logs, name, c.o)
		servers[i] = c.demands.Server(name).Settle(servers[i]).About(c.w.ServerEntry(name))
		return err
	}); err != nil {
		return nil, err
	}
	for i := range servers {
		c.addServer(i, servers[i])
	}
	each, report, absent, err := checkFacets(ctx, c.w, c.logs, c.demands, c.o.Strict)
	if err != nil {
		return nil, err
	}
	c.out.Each = append(c.out.Each, each...)
	leftover, err := workspace.LeftoverFiles(c.w, workspace.MissedEntries(c.names, servers))
	if err != nil {
		return nil, err
	}
	c.report = slices.Concat(slices.Concat(servers...), report, leftover)
	return absent, nil
}

// addServer adds the server with index i and its report to the result, and to the sound ones if it may be started.
func (c *checker) addServer(i int, report evidence.Report) {
	name := c.names[i]
	entry, locked := c.w.Lock.Server(name)
	if locked && c.o.Surface {
		rest := slices.DeleteFunc(slices.Clone(report), isDrift)
		if policy.Judge(policy.Check, c.settings, rest).Allowed() {
			c.sound = append(c.sound, i)
		}
	}
	c.out.Each = append(c.out.Each, Entry{Name: name, What: entry.Ref, Report: placeAt(report, declaredAt(c.w, name))})
}

// noteUnasked adds to the result what would be asked of the registries and is not, offline.
func (c *checker) noteUnasked() {
	if c.w.Registry() != nil {
		c.out.Unseen = append(c.out.Unseen, "the registry and its log (--offline)")
	}
	if from := c.w.Config.Policy.AdvisoriesURL(); from != "" && needsAdvisories(c.w) {
		c.out.Unseen = append(c.out.Unseen, "advisories of "+from+" (--offline)")
	}
}

// askRegistries compares the lock with what its registry, the registry's log and the package registries say now.
func (c *checker) askRegistries(ctx context.Context) error {
	servers, facets := c.out.Each[:len(c.names)], c.out.Each[len(c.names):]
	more, err := checkLog(ctx, c.w, c.logs, servers, facets)
	if err != nil {
		return err
	}
	c.report = append(c.report, more...)
	more, unseen, err := checkReleases(ctx, c.w, servers)
	if err != nil {
		return err
	}
	c.report, c.out.Unseen = append(c.report, more...), append(c.out.Unseen, unseen...)
	return nil
}

// recaptureSound starts the sound servers, and compares what they show with the lock. One that fails does not stop the
// others: all errors are joined.
func (c *checker) recaptureSound(ctx context.Context) error {
	var problems []error
	for _, i := range c.sound {
		more, err := recapture(ctx, c.w, c.logs, c.names[i], c.o)
		c.report = append(c.report, placeAt(more, declaredAt(c.w, c.names[i]))...)
		entry := &c.out.Each[i]
		entry.Report, entry.failed = append(entry.Report, more...), err != nil
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// judge judges all that was found, and counts the entries that are sound.
func (c *checker) judge() {
	report := placeAt(dropRepeated(c.report), evidence.Place{File: project.LockFile})
	c.out.Verdict = policy.Judge(policy.Check, c.settings, report)
	c.out.count(c.settings, len(c.names))
}

// warnOfAge reports what a lock of an older version lacks, and which command renews it.
func warnOfAge(w *workspace.Workspace) {
	if v := w.Lock.Version(); v == 1 {
		w.Host.Logger.Warn(
			fmt.Sprintf("%s has lockfile_version %d, which does not name the logs that its proofs are of; "+
				"'hallmark install' writes version %d", project.LockFile, v, project.LockVersion))
	}
}

// count reports how many of the examined entries, of which the first are servers, are sound, what is
// waived, and what was not examined on this machine.
func (out *Result) count(settings policy.Settings, servers int) {
	out.Entries = len(out.Each)
	of := map[string][]string{} // by subject of a waiver, the servers that it is about
	for i := range out.Each {
		entry := &out.Each[i]
		entry.Report = dropRepeated(entry.Report)
		open := entry.failed // or it needs no entry, or its contents are not here
		for _, e := range entry.Report {
			open = open || e.Scheme == evidence.FacetTar && e.Outcome == evidence.Unverifiable
			if !policy.IsWaiver(e) {
				continue
			}
			open = open || e.Scheme == evidence.Launch && e.Authority == evidence.Lock
			if i < servers && e.Authority == evidence.Verify { // its subject is a file
				of[e.Subject] = append(of[e.Subject], entry.Name)
			}
		}
		if entry.Sound = !open && policy.Judge(policy.Check, settings, entry.Report).Allowed(); entry.Sound {
			out.Sound++
		}
	}
	for _, f := range out.Verdict.Findings {
		e := f.Evidence
		switch {
		case policy.IsWaiver(e):
			text := facets.WaiverText(e)
			if all := of[e.Subject]; e.Authority == evidence.Verify && len(all) > 0 {
				text, of[e.Subject] = all[0]+": "+text, all[1:]
			}
			out.Waived = append(out.Waived, text)
		case IsUnseen(f):
			what := e.Subject
			if e.Scheme == evidence.FacetTar {
				what += ", and what it brings along"
			}
			out.Unseen = append(out.Unseen, what+" (not on this machine)")
		}
	}
}

// IsUnseen reports whether f is about something that is not on this machine, which is no fault.
func IsUnseen(f policy.Finding) bool {
	return f.Evidence.Outcome == evidence.Unverifiable && f.Evidence.Cause == evidence.NotFound &&
		f.Class == evidence.OK
}

// Remarks returns what a person should know beside the entries that are sound: the findings that are
// allowed and no match, and neither among Waived nor among Unseen.
func (out Result) Remarks() (all []policy.Finding) {
	for _, f := range out.Verdict.Findings {
		if f.Class == evidence.OK && f.Evidence.Outcome != evidence.Match && !policy.IsWaiver(f.Evidence) &&
			!IsUnseen(f) {
			all = append(all, f)
		}
	}
	return all
}

// declaredAt returns where a server is declared; the zero value if it no longer is.
func declaredAt(w *workspace.Workspace, name string) evidence.Place {
	s, ok := w.Config.Servers[name]
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

// placeAt adds a place to the evidence that has none.
func placeAt(report evidence.Report, at evidence.Place) evidence.Report {
	for i := range report {
		if report[i].Place.File == "" {
			report[i].Place = at
		}
	}
	return report
}

// dropRepeated removes from report, whose slice it reuses, what a later row repeats: a proof is
// verified as it lies in the lock and again as the log returns it now, and drift that was noted may
// be seen again; and that advisories cannot be read is said once for all servers, and then names none.
func dropRepeated(report evidence.Report) evidence.Report {
	type row struct {
		subject   string
		scheme    evidence.Scheme
		authority evidence.Authority
		outcome   evidence.Outcome
		advisory  string
	}
	rowOf := func(e *evidence.Evidence) (r row, repeats bool) {
		r = row{subject: e.Subject, scheme: e.Scheme, authority: e.Authority, outcome: e.Outcome}
		if e.Authority == evidence.Advisories {
			r.advisory = e.Observed.Text + e.Reason
			return r, true
		}
		return r, e.Authority == evidence.Log || e.Scheme == evidence.LogKey || e.Scheme == evidence.Surface
	}
	last := map[row]int{}
	for i := range report {
		if r, repeats := rowOf(&report[i]); repeats {
			if before, ok := last[r]; ok && report[before].Of != report[i].Of {
				report[i].Of = evidence.Entry{}
			}
			last[r] = i
		}
	}
	n := 0
	for i := range report {
		if r, repeats := rowOf(&report[i]); !repeats || last[r] == i {
			report[n] = report[i]
			n++
		}
	}
	return report[:n]
}

// checkServer compares a declared or locked server with its entry and its files, and starts
// nothing.
func checkServer(ctx context.Context, w *workspace.Workspace, logs *trail.Logs, name string,
	o Options) (evidence.Report, error) {
	declared, ok := w.LockedServer(name)
	if mine := w.Config.Servers[name]; !ok && mine.Facet != "" {
		declared, ok = mine, true // which is not locked
	}
	entry, locked := w.Lock.Server(name)
	switch {
	case !ok && locked: // that nothing declares it is what it owes
		stored, err := workspace.ReadStored(w, name, entry)
		if err != nil {
			return nil, err
		}
		return stored.Report, nil
	case !ok:
		return nil, nil
	}
	if !locked {
		return checkUnlocked(w, declared), nil
	}
	report := append(evidence.Report{
		workspace.LaunchEvidence(w, declared, &entry), workspace.ApprovalEvidence(w, name, entry, o.TrustLock),
	}, workspace.AnyArgumentsEvidence(declared)...)
	report = append(report, workspace.InnerEvidence(declared, entry.Arguments, nil)...)
	stored, err := workspace.ReadStored(w, name, entry)
	if err != nil {
		return nil, err
	}
	report = append(report, stored.Report...)
	proof, err := logs.LockedProof(entry.Record)
	if err != nil {
		return nil, err
	}
	report = append(report, proof...)
	approval := w.Approvals.Servers[name]
	more, err := kind.Of(entry.Source).Check(ctx, kind.Locked{
		Workspace: w, Logs: logs, Server: declared, Entry: entry, Approval: approval, Closure: stored.Closure,
		TrustLock: o.TrustLock, Offline: o.Offline,
	})
	if err != nil {
		return nil, err
	}
	drift, err := driftEvidence(w, name, entry)
	return slices.Concat(report, more, drift), err
}

// checkUnlocked looks at a declared server that has no entry.
func checkUnlocked(w *workspace.Workspace, declared project.Server) evidence.Report {
	report := evidence.Report{workspace.LaunchEvidence(w, declared, nil)}
	if declared.Unlocked {
		report[0] = workspace.WaiveUnlocked(report[0])
	} else {
		report = append(report, workspace.InnerEvidence(declared, nil, nil)...)
	}
	return slices.Concat(report, workspace.AnyArgumentsEvidence(declared),
		program.VerifyEvidence(w, declared, w.Host.Getenv("PATH"), "", nil))
}

// driftEvidence returns what a guard noted about name.
func driftEvidence(w *workspace.Workspace, name string, entry project.ServerLock) (evidence.Report, error) {
	note, err := w.DriftNote(name, entry)
	if note == nil || err != nil {
		return nil, err
	}
	var report evidence.Report
	for _, key := range slices.Sorted(maps.Keys(note.Items)) {
		item := note.Items[key]
		c := evidence.Claim{Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock,
			Where: project.LockFile + ", surface_items"}
		if !item.Want.IsZero() {
			c.Want = []digest.Digest{item.Want}
		}
		o := evidence.Observed{From: "the server's answers at " + note.At.Format("2006-01-02 15:04:05Z")}
		switch item.Reason {
		case guard.NotShown:
			report = append(report, launch.NotShownEvidence(c, o))
			continue
		case guard.Gone:
			report = append(report, evidence.CannotVerify(c, evidence.NotFound, item.Reason))
			continue
		}
		if item.Got.IsZero() || item.Reason == guard.Duplicate {
			report = append(report, evidence.CannotVerify(c, evidence.Ambiguous, item.Reason))
			continue
		}
		o.Digests = []digest.Digest{item.Got}
		e := evidence.Compare(c, o)
		e.Reason = item.Reason
		report = append(report, e)
	}
	return report, nil
}

// recapture starts a locked server from the verified bytes, as run does, and compares what it shows
// now with the lock. It notes drift for review.
func recapture(ctx context.Context, w *workspace.Workspace, logs *trail.Logs, name string,
	o Options) (evidence.Report, error) {
	declared, _ := w.LockedServer(name)
	entry, _ := w.Lock.Server(name)
	l := &launch.Launch{
		Workspace: w, Logs: logs, Options: launch.RunOptions{TrustLock: o.TrustLock, LogKey: o.Log.Key},
		Declared: declared, Entry: &entry,
	}
	seen, err := l.Capture(ctx, o.Capture, nil)
	if err != nil {
		return nil, err
	}
	report, items := launch.SurfaceEvidence(name, entry, seen, declared.Excluded())
	if len(items) > 0 {
		l.WriteNote(items, seen.Surface.Canonical())
	}
	return report.About(w.ServerEntry(name)), nil
}
