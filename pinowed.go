package hallmark

import (
	"cmp"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/owed"
	"github.com/hallmark-mcp/hallmark/project"
)

// gone is evidence of what was accepted and is not there to compare with: the entry, the
// surface that a person reads, or the log that the entry was accepted with. Consent that was
// given beforehand is to a change that shows, and removing what it would show against must
// gain nothing.
func (p *pinning) gone() (evidence.Report, error) {
	name := p.declared.Name
	books, err := p.w.books()
	if err != nil {
		return nil, err
	}
	expected := slices.DeleteFunc(books.Server(name).Of(evidence.Launch, evidence.Document, evidence.LogKey), func(x owed.Expectation) bool {
		if x.Scheme == evidence.LogKey {
			return x.By != evidence.Machine
		}
		return x.By == evidence.Project || x.Authority != evidence.Lock // that an entry is owed, or is of another registry, is why it is made
	})
	var found evidence.Report
	if p.out.Before != nil {
		stored, err := p.w.readStored(name, *p.out.Before)
		if err != nil {
			return nil, err
		}
		found = append(stored.report, p.w.launchEvidence(p.declared, p.out.Before))
	}
	settled := expected.Settle(found)
	for i := range settled {
		if settled[i].Outcome == evidence.Missing && settled[i].Scheme != evidence.LogKey {
			settled[i].Fix = "restore it from version control; or consent to what is shown: at a terminal, or with --approve and the digest that is shown as consent"
		}
	}
	return settled, nil
}

// weakened is evidence of what was demanded when the server was accepted, and is declared no
// more: consent that was given beforehand is not consent to that.
func (p *pinning) weakened() (report evidence.Report) {
	fix := "at a terminal, or with --approve and the digest that is shown as consent"
	if p.declared.Facet != "" { // 'install' pins it, which takes no digest
		fix = "at a terminal; or give up what was accepted with 'hallmark unpin " + p.declared.Name + "'"
	}
	for _, x := range p.out.Weaker {
		report = append(report, evidence.Miss(evidence.Claim{
			Subject: p.declared.Name + ": " + x.Key, Scheme: evidence.Launch, Authority: evidence.Lock, Text: x.Was, Where: "what was accepted",
		}, evidence.Lock, x.String(),
			"restore it in "+project.ConfigFile+"; or consent to what is shown: "+fix))
	}
	return report
}

// weaker is what the lock's entry of a server demands, or this machine approved, and a launch
// line does not; and what was demanded of the log of its registry, and hallmark.toml does not.
func (w *workspace) weaker(name string, now project.LaunchLock) (all []project.Weakening, _ error) {
	if entry, ok := w.lock.Server(name); ok {
		all = entry.Launch.Weaker(now)
	}
	if approved := w.approvals.Servers[name].Launch; approved != nil {
		for _, x := range approved.Weaker(now) {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	if now.Server == "" && now.Source == "" {
		return all, nil // that no registry vouches for it is among these
	}
	rules := w.config.Registry
	log := project.AcceptedLog{LogKey: cmp.Or(w.logOptions.Key, rules.LogKey), Quorum: rules.Quorum, Witnesses: rules.Witnesses, MaxAge: rules.MaxAge}
	if log.LogKey == "" {
		logs, err := w.knownLogs()
		if err != nil {
			return nil, err
		}
		if logs != nil {
			log.LogKey = logs.Registries[rules.Name()].Key
		}
	}
	return append(all, w.approvals.Servers[name].AcceptedLog.Weaker(log)...), nil
}
