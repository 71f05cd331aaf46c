package hallmark

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// prepareBare prepares a server that is not locked. That needs an opt-out which a person can
// see, and this machine's approval of the launch line; a verify block is enforced.
func (l *launch) prepareBare(ctx context.Context) (prog *program, adm policy.Admitted, err error) {
	if l.declared.Type == "http" && !l.o.Settings.RequireLock {
		return nil, adm, unpinnedRemote(l.declared)
	}
	approval, approved := l.w.approvals.Unlocked[l.declared.Name]
	if !approved {
		approval.Path = l.w.host.Getenv("PATH")
	}
	l.report = l.owed.Settle(append(l.report, l.unlockedEvidence()))
	if _, err := l.judge(nil); err != nil {
		return nil, adm, err
	}
	// Opening and hashing starts nothing: a claim that does not hold is said beside an approval
	// that is not there.
	l.report = append(l.report, l.bareApproval(approval))
	l.report = append(l.report, l.argumentsEvidence(approval)...)
	if prog, err = l.w.commandProgram(ctx, l.declared, nil, approval.Path, approval.Runtime); err != nil {
		return prog, adm, err
	}
	l.report = append(l.report, prog.report...)
	if approved {
		l.report = append(l.report, forgottenRuntime(l.declared.Name, approval, prog)...)
	}
	if l.declared.Verify == nil {
		// Of what nothing was compared with: an interpreter is compared with the approved one.
		at := slices.IndexFunc(prog.report, func(e evidence.Evidence) bool { return e.Subject == prog.own })
		l.report = append(l.report, evidence.Compare(evidence.Claim{
			Subject: prog.report[at].Observed.From, Scheme: evidence.File, Authority: evidence.Verify,
		}, prog.report[at].Observed))
	}
	adm, err = l.judge(nil)
	return prog, adm, err
}

// unlockedEvidence is evidence of why a server may be started though no lock entry holds what
// it is: somebody opted out, where others see it, or claims its bytes in a verify block.
func (l *launch) unlockedEvidence() evidence.Evidence {
	e := l.w.launchEvidence(l.declared, nil)
	if l.declared.Command == "" {
		return e // nothing else says which bytes those are
	}
	switch why := l.declared.WhyUnlocked(); {
	case l.named:
		return evidence.Waive(e.Claim, e.Observed, "named on the command line")
	case why != "":
		return evidence.Waive(e.Claim, e.Observed, why)
	case l.o.Unlocked:
		return evidence.Waive(e.Claim, e.Observed, "--unlocked")
	}
	return e
}

// bareApproval says whether this machine approved the launch line of a server that is not
// locked.
func (l *launch) bareApproval(a project.Approval) evidence.Evidence {
	c := evidence.Claim{Subject: l.declared.Name, Scheme: evidence.Approval, Authority: evidence.Machine, Where: "what was approved on this machine"}
	o := evidence.Observed{Digests: []digest.Digest{l.declared.Launch().Digest()}, From: fmt.Sprintf("%s line %d", project.ConfigFile, l.declared.Line)}
	if l.named {
		return evidence.Waive(c, o, "named on the command line")
	}
	if !a.Entry.IsZero() {
		c.Want = []digest.Digest{a.Entry}
	}
	e := evidence.Compare(c, o)
	e.Fix = "run 'hallmark review " + l.declared.Name + "'"
	if l.o.Unlocked {
		e.Fix = "run 'hallmark review --unlocked " + l.declared.Name + "'"
	}
	return e
}

// argumentsEvidence says whether this machine approved the arguments that are given for the
// server besides those of its declaration: whoever writes the client's file writes them.
func (l *launch) argumentsEvidence(a project.Approval) evidence.Report {
	if len(l.o.Arguments) == 0 {
		return nil
	}
	d := project.ExtraDigest(l.o.Arguments)
	c := argumentsClaim(l.declared.Name)
	o := evidence.Observed{Text: fmt.Sprintf("%q", l.o.Arguments), Digests: []digest.Digest{d}, From: "the command line"}
	switch {
	case l.declared.Extra != "":
		return evidence.Report{evidence.Waive(c, o, argumentsWaived(l.declared))}
	case l.o.TrustLock:
		return evidence.Report{evidence.Waive(c, o, "--trust-lock")}
	case a.Approved(l.o.Arguments):
		c.Want = []digest.Digest{d}
	}
	e := evidence.Compare(c, o)
	e.Fix = "run 'hallmark review " + l.declared.Name + " -- " + quoteArguments(l.o.Arguments) + "'; 'extra_arguments = \"any\"' in its table lets all pass"
	return evidence.Report{e}
}

// argumentsClaim is that this machine approved the arguments that come after those of a
// server's declaration.
func argumentsClaim(server string) evidence.Claim {
	return evidence.Claim{Subject: server + ", arguments after --", Scheme: evidence.Launch, Authority: evidence.Machine, Where: "what was approved on this machine"}
}

// argumentsWaived is why such arguments need no approval; "" if they do.
func argumentsWaived(s project.Server) string {
	if s.Extra == "" {
		return ""
	}
	return fmt.Sprintf("extra_arguments = %q in %s", s.Extra, project.ConfigFile)
}

// forgottenRuntime is evidence of an interpreter that an approval must have named, and does
// not: whatever starts a server was shown when it was approved.
func forgottenRuntime(name string, a project.Approval, p *program) evidence.Report {
	if a.Runtime != nil || p == nil || p.runtime == nil {
		return nil
	}
	return evidence.Report{evidence.Miss(evidence.Claim{
		Subject: p.runtime.Path, Scheme: evidence.File, Authority: evidence.Machine, Where: "what was approved on this machine",
	}, evidence.Machine, "the approval of "+name+" does not say which program starts it", "run 'hallmark review "+name+"'")}
}

// quoteArguments writes arguments as a shell takes them, for a hint that is a command.
func quoteArguments(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = surface.Escape(a)
		if a == "" || strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:@,+") != "" {
			words[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(words[i]) + `"`
		}
	}
	return strings.Join(words, " ")
}
