package pin

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/owed"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// goneEvidence returns evidence of what was accepted and is missing, so that nothing can be
// compared with it: the entry, the surface that a person reads, or the log that the entry was
// accepted with. Standing consent (--yes) covers only changes that are visible, so removing what
// they would be compared with must not help an attacker.
func (p *Pinning) goneEvidence() (evidence.Report, error) {
	name := p.Declared.Name
	demands, err := p.Workspace.Demands(p.Logs)
	if err != nil {
		return nil, err
	}
	expected := slices.DeleteFunc(demands.Server(name).Of(evidence.Launch, evidence.Document, evidence.LogKey),
		func(x owed.Expectation) bool {
			if x.Scheme == evidence.LogKey {
				return x.By != evidence.Machine
			}
			// an owed entry, or one of another registry, is the reason for this pin
			return x.By == evidence.Project || x.Authority != evidence.Lock
		})
	var found evidence.Report
	if p.Result.Before != nil {
		stored, err := workspace.ReadStored(p.Workspace, name, *p.Result.Before)
		if err != nil {
			return nil, err
		}
		found = append(stored.Report, workspace.LaunchEvidence(p.Workspace, p.Declared, p.Result.Before))
	}
	settled := expected.Settle(found)
	for i := range settled {
		if settled[i].Outcome == evidence.Missing && settled[i].Scheme != evidence.LogKey {
			settled[i].Fix = "restore it from version control; or consent to what is shown: " +
				"at a terminal, or with --approve and the digest that is shown as consent"
		}
	}
	return settled, nil
}

// weakenedEvidence returns evidence of demands that held when the server was accepted and are no
// longer declared. Standing consent does not cover that.
func (p *Pinning) weakenedEvidence() (report evidence.Report) {
	fix := "at a terminal, or with --approve and the digest that is shown as consent"
	if p.Declared.Facet != "" { // 'install' pins it, which takes no digest
		fix = "at a terminal; or give up what was accepted with 'hallmark unpin " + p.Declared.Name + "'"
	}
	for _, x := range p.Result.Weaker {
		report = append(report, evidence.Miss(evidence.Claim{
			Subject: p.Declared.Name + ": " + x.Key, Scheme: evidence.Launch, Authority: evidence.Lock, Text: x.Was,
			Where: "what was accepted",
		}, evidence.Lock, x.String(),
			"restore it in "+project.ConfigFile+"; or consent to what is shown: "+fix))
	}
	return report
}

// Weakenings returns the demands in the lock's entry of a server, or in this machine's approval,
// that a launch line lacks, and the accepted demands on the registry's log that hallmark.toml
// lacks.
func Weakenings(w *workspace.Workspace, logs *trail.Logs, name string, now project.LaunchLock) (
	all []project.Weakening, _ error) {
	if entry, ok := w.Lock.Server(name); ok {
		all = entry.Launch.Weaker(now)
	}
	if approved := w.Approvals.Servers[name].Launch; approved != nil {
		for _, x := range approved.Weaker(now) {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	if now.Server == "" && now.Source == "" {
		return all, nil // that no registry vouches for it is among these
	}
	log, err := logs.ReadDemanded()
	if err != nil {
		return nil, err
	}
	return append(all, w.Approvals.Servers[name].AcceptedLog.Weaker(log)...), nil
}
