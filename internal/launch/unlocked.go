package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/kind"
	"github.com/hallmark-mcp/hallmark/internal/program"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// prepareUnlocked prepares a server that is not locked. That needs an opt-out that a person can
// see, and this machine's approval of the launch line; a verify block is enforced.
func (l *Launch) prepareUnlocked(ctx context.Context) (prog *program.Program, adm policy.Admitted, err error) {
	if l.Declared.Remote() && !l.Options.Settings.RequireLock {
		return nil, adm, refuseUnpinned(l.Declared)
	}
	approval, approved := l.Workspace.Approvals.Unlocked[l.Declared.Name]
	if !approved {
		approval.Path = l.Workspace.Host.Getenv("PATH")
	}
	l.report = l.expectations.Settle(append(l.report, l.unlockedEvidence()))
	if _, err := l.judge(nil); err != nil {
		return nil, adm, err
	}
	// Opening and hashing starts nothing, so report a claim that does not hold together with a
	// missing approval.
	l.report = append(l.report, l.launchLineEvidence(approval))
	l.report = append(l.report, l.argumentsEvidence(approval)...)
	l.report = append(l.report, l.innerEvidence()...)
	if prog, err = openNamed(ctx, l.Workspace, l.Declared, approval, process.Open); err != nil {
		return prog, adm, err
	}
	l.report = append(l.report, prog.Report...)
	if approved {
		l.report = append(l.report, runtimeEvidence(l.Declared.Name, approval, prog)...)
	}
	if l.Declared.Verify == nil {
		// This evidence has no claim to compare with. An interpreter is compared with the approved
		// one.
		at := slices.IndexFunc(prog.Report, func(e evidence.Evidence) bool { return e.Subject == prog.OwnKey })
		unclaimed := evidence.Compare(evidence.Claim{
			Subject: prog.Report[at].Observed.From, Scheme: evidence.File, Authority: evidence.Verify,
		}, prog.Report[at].Observed)
		unclaimed.Reason = "neither " + project.LockFile + " nor a verify block says which bytes it has; " +
			"'hallmark pin " +
			l.Declared.Name + "' locks them"
		l.report = append(l.report, unclaimed)
	}
	adm, err = l.judge(nil)
	return prog, adm, err
}

// openNamed is [kind.OpenNamed], whose refusal comes behind a verify block that the bytes contradict: a launcher
// that must not be started may have been exchanged too, which is worse.
func openNamed(ctx context.Context, w *workspace.Workspace, s project.Server, approval project.Approval,
	open process.Opener) (*program.Program, error) {
	prog, err := kind.OpenNamed(ctx, w, s, approval, open)
	if evidence.ClassOf(err) == evidence.Refused {
		v := policy.Judge(policy.Bare, policy.Settings{},
			program.VerifyEvidence(w, s, approval.Path, "", nil).About(w.ServerEntry(s.Name)))
		if v.Class() == evidence.Integrity {
			err = errors.Join(v.Err(), err)
		}
	}
	return prog, err
}

// refuseUnpinned refuses a server that is reached by its URL: without a lock not even its surface
// is known.
func refuseUnpinned(s project.Server) error {
	return evidence.Errorf(evidence.Refused, s.Name, "run 'hallmark pin "+s.Name+"' first",
		fmt.Errorf("%s would be used without anything that it is compared with", s.URL))
}

// unlockedEvidence returns evidence of why a server may be started without a lock entry:
// hallmark.toml, which reviewers see, opts out, or claims its bytes in a verify block.
func (l *Launch) unlockedEvidence() evidence.Evidence {
	e := workspace.LaunchEvidence(l.Workspace, l.Declared, nil)
	if l.Declared.Command == "" {
		return e // nothing else says which bytes those are
	}
	switch why := l.Declared.WhyUnlocked(); {
	case l.fromCommandLine:
		return evidence.Waive(e.Claim, e.Observed, "named on the command line")
	case why != "":
		e = evidence.Waive(e.Claim, e.Observed, why)
	case l.Options.Unlocked:
		e = evidence.Waive(e.Claim, e.Observed, "--unlocked")
	default:
		return e
	}
	e.Fix = "run 'hallmark pin " + l.Declared.Name + "', which locks all that it runs, and what it shows"
	if l.Declared.Unlocked {
		e.Fix = workspace.WaiverFix("unlocked", l.Declared.Name)
	}
	return e
}

// launchLineEvidence says whether this machine approved the launch line of a server that is not
// locked.
func (l *Launch) launchLineEvidence(a project.Approval) evidence.Evidence {
	c := evidence.Claim{Subject: l.Declared.Name, Scheme: evidence.Approval, Authority: evidence.Machine,
		Where: "what was approved on this machine"}
	o := evidence.Observed{Digests: []digest.Digest{l.Declared.Launch().Digest()},
		From: fmt.Sprintf("%s line %d", project.ConfigFile, l.Declared.Line)}
	if l.fromCommandLine {
		return evidence.Waive(c, o, "named on the command line")
	}
	if !a.Entry.IsZero() {
		c.Want = []digest.Digest{a.Entry}
	}
	e := evidence.Compare(c, o)
	e.Fix = "run 'hallmark review " + l.Declared.Name + "'"
	if l.Options.Unlocked {
		e.Fix = "run 'hallmark review --unlocked " + l.Declared.Name + "'"
	}
	return e
}

// innerEvidence says whether the arguments may start another program. A verify block claims nothing of
// such a program; who leaves the server unlocked has been told that nothing of it is verified.
func (l *Launch) innerEvidence() evidence.Report {
	report := workspace.InnerEvidence(l.Declared, nil, l.Options.Arguments)
	if l.Declared.Unlocked || l.Options.Unlocked || l.fromCommandLine {
		for i, e := range report {
			report[i] = evidence.Waive(e.Claim, e.Observed, e.Reason)
			report[i].Rule, report[i].Fix = e.Rule, e.Fix
		}
	}
	return report
}

// argumentsEvidence says whether this machine approved the arguments that the server gets in
// addition to those of its declaration. They come from the client's file, which others may write.
func (l *Launch) argumentsEvidence(a project.Approval) evidence.Report {
	if len(l.Options.Arguments) == 0 {
		return nil
	}
	d := project.ExtraDigest(l.Options.Arguments)
	c := workspace.ArgumentsClaim(l.Declared.Name)
	o := evidence.Observed{Text: fmt.Sprintf("%q", l.Options.Arguments), Digests: []digest.Digest{d},
		From: "the command line"}
	switch {
	case l.Declared.Extra != "":
		return evidence.Report{evidence.Waive(c, o, workspace.WhyArgumentsWaived(l.Declared))}
	case l.Options.TrustLock:
		return evidence.Report{evidence.Waive(c, o, "--trust-lock")}
	case a.Approved(l.Options.Arguments):
		c.Want = []digest.Digest{d}
	}
	e := evidence.Compare(c, o)
	e.Fix = "run 'hallmark review " + l.Declared.Name + " -- " + host.QuoteArguments(l.Options.Arguments) +
		"'; 'extra_arguments = \"any\"' in its table lets all pass"
	return evidence.Report{e}
}

// runtimeEvidence returns evidence of an interpreter that is missing from an approval: whatever
// starts a server was shown when it was approved, so the approval must name it.
func runtimeEvidence(name string, a project.Approval, p *program.Program) evidence.Report {
	if a.Runtime != nil || p == nil || p.Runtime == nil {
		return nil
	}
	return evidence.Report{evidence.Miss(evidence.Claim{
		Subject: p.Runtime.Path, Scheme: evidence.File, Authority: evidence.Machine,
		Where: "what was approved on this machine",
	}, evidence.Machine, "the approval of "+name+" does not say which program starts it", "run 'hallmark review "+name+
		"'")}
}
