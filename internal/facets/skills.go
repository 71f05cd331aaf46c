package facets

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/wrap"
)

// Find is what is in a directory or a repository that a declaration without a name names: facets, skills and plugins.
// Nothing is written.
func Find(ctx context.Context, h *host.Host, dir string, f project.Facet, o Options) ([]wrap.Item, error) {
	if err := f.Check(); err != nil {
		return nil, evidence.Errorf(evidence.Validation, f.Git+f.Path, "", err)
	}
	w, done, err := workspace.OpenOrBegin(ctx, h, dir, false, true)
	if err != nil {
		return nil, err
	}
	defer done()
	if f.URL() != "" {
		w.NamedHost = host.HostOfURL(f.URL()) // named on the command line
	}
	return obtain.List(ctx, w, f, o.Offline)
}

// AddFound declares what [Find] found, all or none, and installs all. Names that publishers chose take the place of no
// facet from elsewhere.
func AddFound(ctx context.Context, h *host.Host, dir string, found []project.Facet, o Options) (*Installation, error) {
	return addFacets(ctx, h, dir, o, facetRequest{add: found, found: true})
}

// confirmRuns asks for consent to what runs of facets that are locked for the first time, or were named by this very
// command. The verdict is about everything that was found until then, and the answer.
func (r *facetRequest) confirmRuns(out *Installation, settings policy.Settings, o Options) (policy.Verdict, error) {
	var asked []Change
	for _, c := range out.Facets {
		added := slices.ContainsFunc(r.add, func(f project.Facet) bool { return f.Name == c.Name })
		if len(c.Runs) > 0 && (c.Before == nil || added) {
			asked = append(asked, c)
		}
	}
	if len(asked) == 0 || o.Dry || o.Frozen {
		return out.Verdict, nil
	}
	answer := host.NoConsent
	if o.Confirm != nil {
		var err error
		if answer, err = o.Confirm(out); err != nil {
			return out.Verdict, err
		}
	}
	report := out.Verdict.Report()
	for _, c := range asked {
		text, err := json.Marshal(c.Runs)
		if err != nil {
			return out.Verdict, err
		}
		report = append(report, pin.ConsentEvidence(c.After.Subject(c.Name), answer, digest.FromBytes(text)))
	}
	v := policy.Judge(policy.Install, settings, report)
	return v, v.Err()
}
