package facets

import (
	"maps"
	"slices"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Assembly is all facets of a project on their way from their sources through the store.
type Assembly struct {
	*obtain.Sources
	o           Options
	anew        Anew
	adopted     map[string]digest.Digest // as in [installed.Mode]
	private     []string                 // as there
	sources     []string                 // as there
	readReceipt func() (*installed.Files, error)
	Pieces      map[string]*piece
}

// piece is a facet of an assembly: who wants it, and which parts; and its archive, once it was
// obtained.
type piece struct {
	*obtain.Archive                      // nil until it was obtained
	want            project.Facet        //
	by              []string             // the facets that bring it along; empty for one of hallmark.toml
	selection       *installed.Selection // the parts that are wanted; nil is all
	report          evidence.Report      // also of one that could not be obtained
}

// version is the version of a facet, or that which is wanted as long as it was not obtained.
func (x *piece) version() string {
	if x.Archive == nil {
		return x.want.Requirement.String()
	}
	return x.Entry.Version
}

// runs is what runs of a facet once it is installed for these targets: of one that was wrapped, or was until now. Where
// there are no targets it is what any client would run.
func (x *piece) runs(before *project.FacetLock, targets []installed.Target) ([]facet.Run, error) {
	wasWrapped := before != nil && before.Source.Wrapped != 0
	if x.Entry.Source.Wrapped == 0 && !wasWrapped {
		return nil, nil
	}
	if len(targets) == 0 {
		targets = installed.All()
	}
	return facet.Runs(x.Manifest, x.OpenAudited, installed.LiveFor(targets))
}

// NewAssembly opens the store for the facets of w.
func NewAssembly(w *workspace.Workspace, o Options, anew Anew) (*Assembly, error) {
	from, err := obtain.Open(w, w.Logs(o.Log), obtain.Options{Frozen: o.Frozen, Offline: o.Offline, Limits: o.Limits,
		Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	return &Assembly{Sources: from, o: o, anew: anew,
		readReceipt: sync.OnceValues(func() (*installed.Files, error) { return installed.ReadReceipt(w) }),
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

// PlanFiles finds out what has to be written and deleted for the chosen parts, as
// [installed.NewPlan] does.
func (a *Assembly) PlanFiles(adm policy.Admitted, parts []installed.Part) (*installed.Plan, error) {
	before, err := a.readReceipt()
	if err != nil {
		return nil, err
	}
	return installed.NewPlan(a.Workspace, before, adm, parts, installed.Mode{Frozen: a.o.Frozen, Force: a.o.Force,
		Keep: a.o.Keep, Adopted: a.adopted, Private: a.private, Sources: a.sources})
}
