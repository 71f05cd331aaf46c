package kind

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// advisoryEvidence says what is known against the packages of a server's closure that this system needs, by the
// database that [policy] of hallmark.toml names; it is nil if that names none. Of Python they are all packages, as
// nothing is started to find out which are needed. A database that cannot be read is evidence too.
func advisoryEvidence(ctx context.Context, w *workspace.Workspace, server string, c *project.Closure) (evidence.Report,
	error) {
	database, where, err := w.Advisories(ctx, c.Root.Kind())
	if err != nil {
		return unreadAdvisories(ctx, where, err)
	}
	if database == nil {
		return nil, nil
	}
	installed, err := closure.Installed(c, "")
	if err != nil { // it is installed elsewhere
		installed = c.Packages
	}
	var refs []artifact.Ref
	for _, p := range installed {
		if !p.Ref.IsZero() && !slices.Contains(refs, p.Ref) {
			refs = append(refs, p.Ref)
		}
	}
	found, err := database.Find(ctx, refs)
	if err != nil {
		return unreadAdvisories(ctx, where, err)
	}
	var report evidence.Report
	for _, a := range found {
		report = append(report, knownEvidence(a, server, where))
	}
	for _, scheme := range []evidence.Scheme{evidence.Advisory, evidence.Malware} {
		if slices.ContainsFunc(report, func(e evidence.Evidence) bool { return e.Scheme == scheme }) {
			continue
		}
		const nothing = "nothing known"
		claim := advisoryClaim(c.Root.String(), scheme)
		claim.Text = nothing
		e := evidence.Fact(claim, nothing) // one for all packages, of which there may be hundreds
		e.Observed.From = fmt.Sprintf("%s, about %s", where, evidence.Count(len(refs), "package"))
		report = append(report, e)
	}
	return report, nil
}

// advisoryClaim is what a database says of a subject.
func advisoryClaim(subject string, scheme evidence.Scheme) evidence.Claim {
	return evidence.Claim{Subject: subject, Scheme: scheme, Authority: evidence.Advisories,
		Where: project.ConfigFile + ", advisories"}
}

// knownEvidence is evidence of something known against a package that a server needs.
func knownEvidence(a workspace.Advisory, server, where string) evidence.Evidence {
	scheme, found := evidence.Advisory, "affected"
	if a.Malware() {
		scheme, found = evidence.Malware, "malicious"
	}
	e := evidence.Fact(advisoryClaim(a.Ref.String(), scheme), found+", needed by "+server)
	e.Observed.From = where
	e.Reason = document.Clip(a.ID, document.MaxReason)
	if a.Summary != "" {
		e.Reason += ": " + document.Clip(a.Summary, document.MaxReason)
	}
	switch {
	case a.Fixed != "":
		e.Reason += " (fixed in " + document.Clip(a.Fixed, document.MaxReason) + ")"
	case scheme == evidence.Advisory:
		e.Reason += " (no version is known to fix it)"
	}
	return e
}

// unreadAdvisories is evidence of a database that cannot be read: it may know something. A missing consent, and a
// command that was stopped, stay errors.
func unreadAdvisories(ctx context.Context, where string, err error) (evidence.Report, error) {
	if refusal := wire.NotAgreed(err); refusal != nil {
		return nil, refusal
	}
	if ctx.Err() != nil {
		return nil, err
	}
	cause, reason := evidence.Unreadable, err.Error()
	if unread := new(wire.Error); errors.As(err, &unread) {
		cause, reason = unread.Cause, document.Reason(unread)
	} else if errors.Is(err, fs.ErrNotExist) {
		cause, reason = evidence.NotFound, "there is no such file"
	}
	return evidence.Report{evidence.CannotVerify(advisoryClaim(where, evidence.Advisory), cause,
		document.Clip(reason, document.MaxReason))}, nil
}
