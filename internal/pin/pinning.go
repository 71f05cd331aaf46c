package pin

import (
	"errors"
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Pinning is one server that is being pinned.
type Pinning struct {
	Workspace *workspace.Workspace
	Logs      *trail.Logs
	Options   Options
	Declared  project.Server
	Path      string
	Result    Pinned
	report    evidence.Report
	found     kind.Resolved     // what it was resolved to
	given     map[string]string // values that its client gives it in variables
	Upgrade   bool              // another version than the locked one, which nobody named
}

// removedItems returns the keys of the locked items that no client is shown any more, also under no
// other name. It ignores items of excluded kinds.
func (p *Pinning) removedItems() (gone []string) {
	for _, key := range workspace.GoneItems(p.Result.Before, p.Result.Surface, p.Declared.Excluded()) {
		if slices.ContainsFunc(p.Result.Changes, func(c surface.Change) bool { return c.Item == key }) {
			gone = append(gone, key)
		}
	}
	return gone
}

// judge judges the evidence so far together with more.
func (p *Pinning) judge(more evidence.Report) (policy.Admitted, error) {
	report := append(slices.Clone(p.report), more...)
	if len(p.Workspace.Config.Servers) > 1 {
		report.About(p.Workspace.ServerEntry(p.Declared.Name))
	}
	v := policy.Judge(policy.Pin, p.Options.Settings, report)
	p.Result.Verdict = v
	return v.Admitted(), v.Err()
}

// requireConsentToStart fails if nobody consented to start the server, which shows its surface.
// Running a command in a checkout is no consent to start programs that the checkout names.
func (p *Pinning) requireConsentToStart(prog *program.Program) error {
	if p.Options.Start == nil || p.Declared.Remote() {
		return nil // it was asked before anything was sent
	}
	before := p.Result.Before
	if before != nil && workspace.IsApprovedAs(p.Workspace, p.Declared) && sameArtifacts(*before, p.Result.Entry) {
		return nil
	}
	p.Result.Runtime = prog.Runtime
	yes, err := p.Options.Start(&p.Result)
	if err == nil && !yes {
		err = evidence.Errorf(evidence.Refused, p.Declared.Name,
			"--start consents to that, and --yes to what is found as well",
			errNotStarted)
	}
	return err
}

// errNotStarted is of a server that nobody let start.
var errNotStarted = errors.New("needs your consent to be started, to see what it shows; nothing was started")

// sameArtifacts reports whether two entries run the same bytes.
func sameArtifacts(a, b project.ServerLock) bool {
	if !maps.EqualFunc(a.Artifacts, b.Artifacts, evidence.Same) || (a.Closure == nil) != (b.Closure == nil) {
		return false
	}
	return a.Closure == nil || evidence.Same(a.Closure.Lock, b.Closure.Lock)
}
