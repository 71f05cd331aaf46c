package facets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Gather obtains the facets of hallmark.toml, and then those that they bring along, until all
// are there. A problem with one does not keep the others from being obtained: all problems are
// reported together.
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
		f := a.Workspace.Config.Facets[name]
		round = append(round, &piece{want: f, selection: installed.Chosen(f)})
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

// Limits on what facets bring along: a registry could make up another facet for each that is
// requested, with a valid proof of its log for every one.
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
	r := obtain.Request{Want: f, Anew: a.anew.includes(f.Name), KeepLocked: a.anew.Others,
		AcceptTag: slices.Contains(a.anew.Declared, f.Name) ||
			a.o.AcceptTag && slices.Contains(a.anew.Names, f.Name)}
	if entry, ok := a.Workspace.Lock.Facet(f.Name); ok {
		r.Locked = &entry
	}
	return r
}

// nextRound are the facets that those of a round bring along and that were not obtained yet.
func (a *Assembly) nextRound(round []*piece) ([]*piece, error) {
	var (
		next     []*piece
		problems []error
	)
	for _, x := range round {
		if a.o.Frozen { // only the lock may say what else is installed
			entry, _ := a.Workspace.Lock.Facet(x.want.Name)
			x.report = append(x.report, ComposedEvidence(x.Manifest, x.Subject(), entry))
			problems = append(problems, policy.Judge(policy.Install, a.Settings(), x.report).Err())
		}
		for _, c := range x.Manifest.Facets {
			other := a.findPiece(c.Name, next)
			if other == nil {
				r, err := artifact.ParseRequirement(c.Version)
				if err != nil {
					return nil, evidence.Errorf(evidence.Validation, x.Subject(), "", err)
				}
				other = &piece{want: project.Facet{Name: c.Name, Requirement: r}, selection: &installed.Selection{}}
				next = append(next, other)
			}
			if other.version() != c.Version {
				problems = append(problems, other.versionError(x.Subject(), c.Version))
				continue
			}
			other.by = append(other.by, x.Subject())
			other.selection.Add(c)
		}
	}
	return next, errors.Join(problems...)
}

// findPiece is the piece of a facet that was obtained already, or is to be next; nil if there is none.
func (a *Assembly) findPiece(name string, next []*piece) *piece {
	if x, ok := a.Pieces[name]; ok {
		return x
	}
	if i := slices.IndexFunc(next, func(n *piece) bool { return n.want.Name == name }); i >= 0 {
		return next[i]
	}
	return nil
}

// versionError is the error for a facet of which another one brings along another version.
func (x *piece) versionError(other, version string) error {
	from := project.ConfigFile
	if len(x.by) > 0 {
		from = x.by[0]
	}
	return &evidence.Error{
		Subject: x.want.Name, Kind: evidence.Refused,
		Err:  fmt.Errorf("%s brings along version %s, and %s wants %s", other, version, from, x.version()),
		Hint: "two versions of a facet cannot be installed side by side; choose versions that agree",
	}
}
