package facets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

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
				other = &piece{want: project.Facet{Name: c.Name, Requirement: r}, selection: &installed.Selection{}}
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
			other.selection.Add(c)
		}
	}
	return next, errors.Join(problems...)
}
