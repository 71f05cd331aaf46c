package kind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/project"
)

// releasesOf asks the package registry about versions of one package.
func releasesOf(ctx context.Context, h *host.Host, refs ...artifact.Ref) ([]fetch.Release, error) {
	return h.Fetch.Releases(ctx, refs...)
}

// ReleaseEvidence asks the package registry whether a version is still what its publisher wants to be used. It is nil
// for refs of kinds whose registries do not say. That a registry shows no package, and does not say why, is evidence
// too.
func ReleaseEvidence(ctx context.Context, h *host.Host, ref artifact.Ref) (evidence.Report, error) {
	if !fetch.HasReleases(ref.Kind()) {
		return nil, nil
	}
	all, err := releasesOf(ctx, h, ref)
	if unread := new(wire.Error); errors.As(err, &unread) && unread.Cause == evidence.NotFound {
		return evidence.Report{evidence.CannotVerify(statusClaim(ref), unread.Cause, document.Reason(unread))}, nil
	}
	if err != nil {
		return nil, err
	}
	return evidence.Report{statusEvidence(all[0])}, nil
}

// AskReleases asks the package registry about the version of an entry, and about another one of the same package. Both
// are nil where the registry does not say, or cannot be asked.
func AskReleases(ctx context.Context, h *host.Host, entry project.ServerLock, version string) (current,
	other *fetch.Release, err error) {
	ref, err := artifact.Parse(entry.Ref)
	if err != nil || !fetch.HasReleases(ref.Kind()) {
		return nil, nil, nil
	}
	refs := []artifact.Ref{ref}
	if next, err := ref.WithVersion(version); err == nil {
		refs = append(refs, next)
	}
	all, err := releasesOf(ctx, h, refs...)
	if unread := new(wire.Error); errors.As(err, &unread) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return &all[0], &all[len(all)-1], nil
}

func statusClaim(ref artifact.Ref) evidence.Claim {
	return evidence.Claim{Subject: ref.String(), Scheme: evidence.Status, Authority: evidence.Registry,
		Text: "published", Where: "the package registry"}
}

// statusEvidence says whether a version was taken back.
func statusEvidence(r fetch.Release) evidence.Evidence {
	switch {
	case r.Gone:
		e := evidence.Fact(statusClaim(r.Ref), "not there")
		e.Reason = "the registry has no such version any more"
		return e
	case r.Withdrawn != "":
		return evidence.Waive(statusClaim(r.Ref), evidence.Observed{Text: "withdrawn"},
			"its publisher says: "+document.Clip(r.Withdrawn, document.MaxReason))
	}
	return evidence.Fact(statusClaim(r.Ref), "published")
}

// ageEvidence says whether a version was published before the cutoff of min_age.
func ageEvidence(r fetch.Release, cutoff time.Time) evidence.Evidence {
	c := evidence.Claim{Subject: r.Ref.String(), Scheme: evidence.Age, Authority: evidence.Project,
		Text: "published before " + formatDay(cutoff), Where: project.ConfigFile + ", min_age"}
	switch {
	case r.Published.IsZero():
		return evidence.CannotVerify(c, evidence.NotFound, "the package registry does not say when it was published")
	case r.Published.After(cutoff):
		return evidence.Fact(c, "published "+formatDay(r.Published))
	}
	return evidence.Fact(c, c.Text)
}

func formatDay(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// askReleases asks the package registry about the version that is taken and the one that it replaces, and adds what it
// says to the result.
func (k ecosystem) askReleases(ctx context.Context, d Declaration, taken artifact.Ref, r *Resolved) error {
	if taken.IsZero() || k.releases == nil {
		return nil
	}
	refs, locked := []artifact.Ref{taken}, false
	if d.Before != nil {
		old, err := artifact.Parse(d.Before.Ref)
		same := err == nil && old.Kind() == taken.Kind() && old.Name() == taken.Name()
		if locked = same && old.Version() == taken.Version(); same && !locked {
			refs = append(refs, old)
		}
	}
	all, err := k.releases(ctx, d.Workspace.Host, refs...)
	unread := new(wire.Error)
	switch {
	case errors.As(err, &unread):
		r.Report = append(r.Report, evidence.CannotVerify(statusClaim(taken), unread.Cause, document.Reason(unread)))
		all = []fetch.Release{{Ref: taken}}
	case err != nil:
		return err
	case all[0].Gone && !locked:
		return nil // it never was there, as far as is known: the resolver says what it does not find
	default:
		r.Report = append(r.Report, statusEvidence(all[0]))
	}
	if r.Release = &all[0]; len(all) > 1 {
		r.Replaced = &all[1]
	}
	if cutoff := d.Workspace.Cutoff(); !cutoff.IsZero() {
		r.Report = append(r.Report, ageEvidence(*r.Release, cutoff))
	}
	return nil
}

// explainCutoff adds to an error of a resolver that it was not to take new versions.
func explainCutoff(err error, before time.Time) error {
	problem := new(evidence.Error)
	if before.IsZero() || !errors.As(err, &problem) || problem.Hint != "" {
		return err
	}
	explained := *problem
	explained.Hint = fmt.Sprintf("what was published after %s is left out, as min_age of %s says", formatDay(before),
		project.ConfigFile)
	return &explained
}
