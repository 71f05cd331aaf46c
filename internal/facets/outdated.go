package facets

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// FacetStatus is a facet of a project beside what its source has now.
type FacetStatus struct {
	Name     string
	Declared string             // as hallmark.toml has it; empty if another facet brings it along
	Locked   *project.FacetLock // nil: not locked
	Wanted   string             // newest version that the declaration allows, or the commit; empty if it is not known
	Newest   string             // newest version of all
	Files    int                // that are installed here
	Present  int                // of those, how many are there
	Edited   int                // of those, how many are not what was written
	Servers  []ServerStatus     // that it declares and that are locked
}

// Listing is what a project declares or has locked.
type Listing struct {
	Facets []FacetStatus
	Waived []string         // what hallmark.toml opts out of, in the words of 'hallmark check'
	Notes  []installed.Note // what clients do not get of the facets whose contents are in the store
}

// List lists the facets that a project declares or has locked with their servers, and compares their files with what
// this machine wrote, without a request and without an audit of the store.
func List(ctx context.Context, h *host.Host, dir string) (Listing, error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return Listing{}, err
	}
	defer done()
	known, err := installed.ReadReceipt(w)
	if err != nil {
		return Listing{}, err
	}
	for _, e := range known.Report {
		h.Logger.Warn(e.Subject + " " + e.Reason)
	}
	all := facetStatus(w)
	servers := w.LockableServers()
	for i := range all {
		for _, s := range servers {
			if s.Facet == all[i].Name {
				all[i].Servers = append(all[i].Servers, serverStatus(w, s))
			}
		}
		here := machine.Receipt{Facets: map[string]machine.ReceiptOfFacet{"": known.Receipt.Facets[all[i].Name]}}
		for file := range here.Installed() { // of which several clients may read one
			all[i].Files++
			now, exists, err := installed.Digest(w, file)
			if err != nil || !exists {
				continue
			}
			all[i].Present++
			if before := known.Sums.Sum(file); !before.IsZero() && !evidence.Same(before, now) {
				all[i].Edited++
			}
		}
	}
	notes, err := installed.Notes(w)
	if err != nil {
		return Listing{}, err
	}
	var names []string
	for _, name := range w.Lock.Servers() {
		if entry, _ := w.Lock.Server(name); entry.Launch.Facet != "" {
			names = append(names, name)
		}
	}
	notes = append(notes, installed.ServerNotes(w, names)...)
	return Listing{Facets: all, Waived: waivers(w), Notes: notes}, nil
}

// facetStatus is the status of all facets that are declared or locked, as far as the project tells it.
func facetStatus(w *workspace.Workspace) []FacetStatus {
	names := slices.Concat(slices.Collect(maps.Keys(w.Config.Facets)), w.Lock.Facets())
	slices.Sort(names)
	var all []FacetStatus
	for _, name := range slices.Compact(names) {
		s := FacetStatus{Name: name}
		if f, ok := w.Config.Facets[name]; ok {
			s.Declared = f.String()
		}
		if entry, ok := w.Lock.Facet(name); ok {
			s.Locked = &entry
		}
		all = append(all, s)
	}
	return all
}

// Status is what the sources of a project's facets and servers have now. The verdict is
// about tags that were moved, of repositories and of images.
type Status struct {
	Facets  []FacetStatus
	Servers []ServerStatus
	Verdict policy.Verdict
}

// Outdated asks the sources of all facets and servers what they have now, and writes nothing. What
// was found is returned beside an error too.
func Outdated(ctx context.Context, h *host.Host, dir string) (Status, error) {
	w, done, err := workspace.Open(ctx, h, dir, false)
	if err != nil {
		return Status{}, err
	}
	all := facetStatus(w)
	done() // what follows may take long, and only reads
	uses := w.FacetHosts()
	servers := w.LockableServers()
	for _, s := range servers {
		uses = append(uses, w.ServerHosts(s)...)
	}
	if err := h.RequireHostConsent(uses...); err != nil {
		return Status{}, err
	}
	var (
		report   evidence.Report
		problems []error
	)
	for i, s := range all {
		f, declared := w.Config.Facets[s.Name]
		if !declared {
			continue // it has the version of the facet that brings it along
		}
		has, found, err := obtain.FindVersions(ctx, w, f, s.Locked)
		all[i].Wanted, all[i].Newest = has.Wanted, has.Newest
		report = append(report, found...)
		problems = append(problems, err)
	}
	out := Status{Facets: all}
	for _, server := range servers {
		s, _, err := findLatest(ctx, w, server, "")
		out.Servers = append(out.Servers, s)
		problems = append(problems, err)
		moved, err := imageEvidence(w, s)
		if err != nil {
			return out, err
		}
		report = append(report, moved...)
	}
	gone, err := workspace.GoneEvidence(w)
	if err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, policy.Judge(policy.Check, policy.Settings{}, gone).Err())
	out.Verdict = policy.Judge(policy.Install, policy.Settings{}, report)
	return out, errors.Join(append(problems, out.Verdict.Err())...)
}

// imageEvidence compares where the tag of an image leads now with what is locked. It is empty if no image is.
func imageEvidence(w *workspace.Workspace, s ServerStatus) (evidence.Report, error) {
	if s.Locked == nil || s.Locked.Image == "" || s.Wanted == "" {
		return nil, nil
	}
	now, err := digest.Parse(s.Wanted)
	if err != nil {
		return nil, err
	}
	e := kind.ImageTagEvidence(*s.Locked,
		evidence.Observed{Digests: []digest.Digest{now}, From: "where the tag leads now"})
	e.Of = w.ServerEntry(s.Name)
	return evidence.Report{e}, nil
}

// Rollback reports whether what an upgrade takes is older than what is locked.
func (s FacetStatus) Rollback() bool {
	return s.Outdated() && s.Locked != nil && s.Locked.Source.Kind.HasVersions() &&
		artifact.IsOlder("", s.Wanted, s.Locked.Version)
}

// Outdated reports whether there is something that an upgrade would take.
func (s FacetStatus) Outdated() bool {
	switch {
	case s.Wanted == "":
		return false
	case s.Locked == nil:
		return true
	}
	return s.Wanted != s.Locked.Revision()
}

// waivers are the opt-outs of hallmark.toml that still stand, by server.
func waivers(w *workspace.Workspace) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(w.Config.Servers)) {
		s := w.Config.Servers[name]
		var report evidence.Report
		if _, locked := w.Lock.Server(name); !locked && s.Unlocked {
			report = append(report, workspace.WaiveUnlocked(workspace.LaunchEvidence(w, s, nil)))
		}
		report = append(report, workspace.AnyArgumentsEvidence(s)...)
		for _, e := range report {
			out = append(out, WaiverText(e))
		}
		if s.Verify == nil || s.Verify.Type != project.VerifyNone {
			continue
		}
		for _, e := range program.VerifyEvidence(w, s, w.Host.Getenv("PATH"), "", nil) {
			out = append(out, name+": "+WaiverText(e))
		}
	}
	return out
}

// WaiverText says in one line what is waived, and the reason if one was given.
func WaiverText(e evidence.Evidence) string {
	text := e.Subject + ": " + string(e.Scheme)
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text
}
