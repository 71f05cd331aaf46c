package facets

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// reviewChanges demands consent to what a command would change of facets that somebody accepted before,
// as what a model is to read changes with them, and to what runs anew of those that were wrapped,
// no matter who changed their declaration or directory. All of it is shown, and asked about once. The verdict is about
// everything that was found until then, and the answer.
func (a *Assembly) reviewChanges(ctx context.Context, r *facetRequest, out *Installation) (policy.Verdict, error) {
	replaces := r.replaces(a.Workspace.Lock) && slices.ContainsFunc(out.Facets, Change.differs)
	runs := r.newRuns(out.Facets)
	placed := slices.ContainsFunc(out.Facets, func(c Change) bool { return len(c.Placed) > 0 })
	if a.o.Frozen || !replaces && !placed && len(runs) == 0 {
		return out.Verdict, nil
	}
	asked := runs
	if placed {
		asked = slices.DeleteFunc(slices.Clone(out.Facets), func(c Change) bool {
			return len(c.Placed)+len(c.Runs) == 0
		})
	}
	if replaces {
		asked = out.Facets
	}
	if slices.ContainsFunc(asked, func(c Change) bool { return c.Before != nil }) {
		if err := a.compareTexts(ctx, asked); err != nil {
			return out.Verdict, err
		}
	}
	consent := host.NoConsent
	if a.o.Confirm != nil {
		var err error
		if consent, err = a.o.Confirm(asked); err != nil {
			return out.Verdict, err
		}
	}
	switch {
	case a.o.Dry:
		return out.Verdict, nil
	case (replaces || placed) && consent == host.NoConsent:
		return out.Verdict, r.noConsentError(a.Workspace, asked)
	}
	report := out.Verdict.Report()
	for _, c := range runs {
		text, err := json.Marshal([]any{c.Runs, c.Parts})
		if err != nil {
			return out.Verdict, err
		}
		report = append(report, pin.ConsentEvidence(c.After.Subject(c.Name), consent, digest.FromBytes(text)))
	}
	v := policy.Judge(policy.Install, a.Settings(), report)
	return v, v.Err()
}

// replaces reports whether a command takes contents of facets that are locked with others. Whoever
// adds a facet that is not locked asked for it by its name.
func (r *facetRequest) replaces(l *project.Lock) bool {
	return r.upgrade || slices.ContainsFunc(r.add, func(f project.Facet) bool {
		_, locked := l.Facet(f.Name)
		return locked
	})
}

// newRuns are the facets of which something runs, and of that something is new or changed, or that were
// named by this very command; and those that come from elsewhere, of which it names one and gets several things.
func (r *facetRequest) newRuns(all []Change) (runs []Change) {
	for _, c := range all {
		i := slices.IndexFunc(r.add, func(f project.Facet) bool { return f.Name == c.Name })
		several := i >= 0 && len(c.Parts) > 1 && r.add[i].URL() != ""
		if len(c.Runs) > 0 && (i >= 0 || c.changesRuns()) || several {
			runs = append(runs, c)
		}
	}
	return runs
}

// noConsentError is the error for changes that nobody consented to. Its hint names the commands that
// show them again and take them. Tags that were moved are drift.
func (r *facetRequest) noConsentError(w *workspace.Workspace, all []Change) error {
	if err := r.movedTagsError(all); err != nil {
		return err
	}
	var changed []string
	for _, c := range all {
		if c.differs() {
			changed = append(changed, c.Name)
		}
	}
	subject := changed[0]
	if n := len(changed); n > 1 {
		subject = evidence.Count(n, "facet")
	}
	return evidence.Errorf(evidence.Refused, subject,
		r.withFlag(w, "--dry-run")+" shows what changes, and "+r.withFlag(w, "--yes")+" consents to it",
		errors.New("would be changed, and nobody consented; nothing was written"))
}
