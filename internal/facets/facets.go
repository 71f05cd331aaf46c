// Package facets installs facets (skills, agents, commands and servers) into a project, removes and
// upgrades them, and compares installed files with the lock. An installation gathers all facets of
// hallmark.toml and those that they bring along, plans the files for each target, and writes
// everything in one step or nothing. A file that a user edited is kept unless forced. A project
// has at most 5000 facets, 16 deep.
package facets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/archive"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say how facets are installed.
type Options struct {
	Frozen  bool // hallmark.lock is the only authority, and is not written
	Offline bool // ask nobody
	Force   bool // overwrite and delete files that a user edited
	Dry     bool // find out what would be done, and write nothing
	Limits  archive.Limits
	Log     trail.Options
	Servers Servers
	// Progress is told of downloads; total is negative if it is unknown. May be nil.
	Progress func(what string, done, total int64)
}

// Assembly is all facets of a project on their way from their sources through the store.
type Assembly struct {
	*obtain.Sources
	o           Options
	anew        Anew
	readReceipt func() (*InstalledFiles, error)
	Pieces      map[string]*piece
}

// Anew says which facets are resolved anew, whatever the lock has. The zero value is none.
type Anew struct {
	All      bool
	Names    []string
	Declared string // by this very command, which accepts what the source has now
}

// includes reports whether a facet is resolved anew.
func (n Anew) includes(name string) bool {
	return n.All || slices.Contains(n.Names, name) || n.Declared != "" && n.Declared == name
}

// piece is a facet of an assembly: who wants it, and what of it; and its archive, once it was
// obtained.
type piece struct {
	*obtain.Archive                 // nil until it was obtained
	want            project.Facet   //
	by              []string        // the facets that bring it along; empty for one of hallmark.toml
	selection       *selection      // what of it is wanted; nil is all
	report          evidence.Report // also of one that could not be obtained
}

// version is the version of a facet, or that which is wanted as long as it was not obtained.
func (x *piece) version() string {
	if x.Archive == nil {
		return x.want.Requirement.String()
	}
	return x.Entry.Version
}

// NewAssembly opens the store for the facets of w.
func NewAssembly(w *workspace.Workspace, o Options, anew Anew) (*Assembly, error) {
	from, err := obtain.Open(w, w.Logs(o.Log), obtain.Options{Frozen: o.Frozen, Offline: o.Offline, Limits: o.Limits,
		Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	return &Assembly{Sources: from, o: o, anew: anew,
		readReceipt: sync.OnceValues(func() (*InstalledFiles, error) { return ReadReceipt(w) }),
		Pieces:      map[string]*piece{}}, nil
}

// Verdict is the judgement of everything.
func (a *Assembly) Verdict() policy.Verdict {
	report := a.LogReport()
	for _, name := range slices.Sorted(maps.Keys(a.Pieces)) {
		report = append(report, a.Pieces[name].report...)
	}
	return policy.Judge(policy.Install, a.Settings(), report)
}

// Gather obtains the facets of hallmark.toml, and then those that they bring along, until
// all are there. What went wrong with one does not keep others from being looked at: all
// is reported together.
func (a *Assembly) Gather(ctx context.Context) error {
	if a.o.Frozen {
		if err := a.demandCovered(ctx); err != nil {
			return err
		}
	} else if err := a.demandRemembered(); err != nil {
		return err
	}
	var round []*piece
	for _, name := range slices.Sorted(maps.Keys(a.Workspace.Config.Facets)) {
		round = append(round, &piece{want: a.Workspace.Config.Facets[name]})
	}
	for depth := 0; len(round) > 0; depth++ {
		if depth > MaxDepth {
			return evidence.Errorf(evidence.Refused, round[0].want.Name, "",
				fmt.Errorf("is brought along by %s, which is brought along, and so on for more than %d times",
					round[0].by[0], MaxDepth))
		}
		if n := len(a.Pieces) + len(round); n > maxFacets {
			return evidence.Errorf(evidence.Refused, project.ConfigFile, "",
				fmt.Errorf("comes to %d facets, more than %d", n, maxFacets))
		}
		if err := a.obtainAll(ctx, round); err != nil {
			return err
		}
		var err error
		if round, err = a.nextRound(round); err != nil {
			return err
		}
	}
	return nil
}

// What facets bring along is bounded: a registry can make up another one for each that is
// asked for, and its log prove them all.
const (
	maxFacets = 5000
	MaxDepth  = 16
)

// obtainWidth is how many facets are worked on at once.
func obtainWidth() int { return max(4, runtime.GOMAXPROCS(0)) }

// obtainAll obtains the facets of a round side by side, and joins their errors.
func (a *Assembly) obtainAll(ctx context.Context, round []*piece) error {
	errs := make([]error, len(round))
	host.ForEach(obtainWidth(), len(round), func(i int) error {
		x := round[i]
		x.Archive, x.report, errs[i] = a.Obtain(ctx, a.request(x.want))
		return nil // a failure must not keep the others from being obtained
	})
	for _, x := range round {
		a.Pieces[x.want.Name] = x
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// request is what is asked of the sources for a facet.
func (a *Assembly) request(f project.Facet) obtain.Request {
	r := obtain.Request{Want: f, Anew: a.anew.includes(f.Name), Declared: a.anew.Declared == f.Name}
	if entry, ok := a.Workspace.Lock.Facet(f.Name); ok {
		r.Locked = &entry
	}
	return r
}

// nextRound is what the facets of a round bring along and is not there yet.
func (a *Assembly) nextRound(round []*piece) ([]*piece, error) {
	var (
		next     []*piece
		problems []error
	)
	for _, x := range round {
		if a.o.Frozen { // the lock says what else is installed, or nobody does
			entry, _ := a.Workspace.Lock.Facet(x.want.Name)
			x.report = append(x.report, ComposedEvidence(x.Manifest, x.Subject(), entry))
			problems = append(problems, policy.Judge(policy.Install, a.Settings(), x.report).Err())
		}
		for _, c := range x.Manifest.Facets {
			other, ok := a.Pieces[c.Name]
			if !ok {
				if i := slices.IndexFunc(next, func(n *piece) bool { return n.want.Name == c.Name }); i >= 0 {
					other, ok = next[i], true
				}
			}
			if !ok {
				r, err := facet.ParseRequirement(c.Version)
				if err != nil {
					return nil, evidence.Errorf(evidence.Validation, x.Subject(), "", err)
				}
				other = &piece{want: project.Facet{Name: c.Name, Requirement: r}, selection: &selection{}}
				next = append(next, other)
			}
			if version := other.version(); version != c.Version {
				from := project.ConfigFile
				if len(other.by) > 0 {
					from = other.by[0]
				}
				problems = append(problems, &evidence.Error{
					Subject: c.Name, Kind: evidence.Refused,
					Err: fmt.Errorf("%s brings along version %s, and %s wants %s", x.Subject(), c.Version, from,
						version),
					Hint: "two versions of a facet cannot be installed side by side; choose versions that agree",
				})
				continue
			}
			other.by = append(other.by, x.Subject())
			other.selection.add(c)
		}
	}
	return next, errors.Join(problems...)
}

// demandRemembered demands what this machine remembers of servers, and what their entries owe: an
// installation that may write the lock must not go on as if nothing was ever there.
func (a *Assembly) demandRemembered() error {
	books, err := a.Books()
	if err != nil {
		return err
	}
	return demandServersRemembered(a.Workspace, books)
}

// demandCovered demands, before any request, that the lock has an entry for every facet that
// hallmark.toml declares and that those bring along, and no other.
func (a *Assembly) demandCovered(ctx context.Context) error {
	books, err := a.Books()
	if err != nil {
		return err
	}
	if err := demandServersCovered(ctx, a.Workspace, a.Logs, a.o.Offline, books); err != nil {
		return err
	}
	var report evidence.Report
	for _, name := range slices.Sorted(maps.Keys(a.Workspace.Config.Facets)) {
		entry, ok := a.Workspace.Lock.Facet(name)
		report = append(report, obtain.SourceEvidence(a.Workspace.Config.Registry, a.Workspace.Config.Facets[name],
			entry, ok))
	}
	for _, name := range books.Facets() {
		entry, locked := a.Workspace.Lock.Facet(name)
		brought := BroughtEvidence(a.Workspace, books.Bringing(name), name, entry, locked)
		if _, declared := a.Workspace.Config.Facets[name]; !declared && locked && len(brought) == 0 {
			c := obtain.SourceClaim(name)
			c.Text = entry.Source.String() + " " + entry.Version
			e := evidence.Fact(c, "no longer declared")
			e.Observed.From = project.ConfigFile
			brought = append(brought, e)
		}
		report = append(report, brought...)
	}
	var expected owed.List
	for _, name := range books.Facets() {
		expected = append(expected, books.Facet(name).Of(evidence.Source)...)
	}
	return policy.Judge(policy.Install, a.Settings(), expected.Settle(report)).Err()
}

// BroughtEvidence compares the entry of a facet with what the locked facets that bring it along
// say of it: a facet names another as NAME@VERSION of the registry, and nothing but a line of
// hallmark.toml makes a directory or a repository of it.
func BroughtEvidence(w *workspace.Workspace, others []string, name string, entry project.FacetLock,
	locked bool) (report evidence.Report) {
	_, declared := w.Config.Facets[name]
	for _, other := range others {
		by, _ := w.Lock.Facet(other)
		version := by.Composes[name]
		var e evidence.Evidence
		if declared && locked { // which says where it is from
			c := obtain.SourceClaim(name)
			c.Text = "version " + entry.Version
			e = evidence.Fact(c, "version "+version)
		} else {
			r, _ := facet.ParseRequirement(version)
			e = obtain.SourceEvidence(w.Config.Registry, project.Facet{Name: name, Requirement: r}, entry, locked)
		}
		e.Observed.From = "the entry of " + other
		report = append(report, e)
	}
	return report
}

// selection is the part of a facet that is wanted by those that bring it along.
type selection struct {
	all   bool
	names map[facet.Kind]map[string]bool
}

func (p *selection) add(c facet.Composed) {
	if p == nil || p.all {
		return // declared in hallmark.toml, which wants all of it
	}
	if c.TakesAll() {
		p.all = true
		return
	}
	if p.names == nil {
		p.names = map[facet.Kind]map[string]bool{facet.KindSkill: {}, facet.KindAgent: {}, facet.KindCommand: {}}
	}
	for kind, names := range map[facet.Kind][]string{facet.KindSkill: c.Skills, facet.KindAgent: c.Agents,
		facet.KindCommand: c.Commands} {
		for _, name := range names {
			p.names[kind][name] = true
		}
	}
}

func (p *selection) has(d facet.Deliverable) bool {
	return p == nil || p.all || p.names[d.Kind][d.Name]
}
