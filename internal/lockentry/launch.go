package lockentry

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// runsModule reports whether t is go run of one package of a module, without options: what
// they change is in no closure.
func runsModule(t launcher.Target, arguments []string) bool {
	return t.Opaque == "" && t.Wrapper == "" && t.Launcher == "go run" && len(t.Packages) == 1 && t.Packages[0].Ecosystem == launcher.Go &&
		len(arguments) > 1 && arguments[1] == t.Packages[0].Text
}

// RunsImage reports whether t is a container engine that is told to run one image.
func RunsImage(t launcher.Target) bool {
	return t.Opaque == "" && t.Wrapper == "" && len(t.Packages) == 1 && t.Packages[0].Repository() != ""
}

// TagOf is the tag by which an image is named.
func TagOf(named launcher.Package) string { return cmp.Or(named.Spec, "latest") }

// whyUntagged says of an image that is declared by its tag, if the entry does not: without it
// nobody would be told where the tag leads now.
func whyUntagged(s project.Server, locked *project.ServerLock) string {
	if locked == nil || locked.Source != "image" {
		return ""
	}
	t := launcher.Parse(s.Command, s.Arguments)
	if !RunsImage(t) || t.Packages[0].Pinned() {
		return ""
	}
	if want := t.Packages[0].Repository() + ":" + TagOf(t.Packages[0]); locked.Image != want {
		return fmt.Sprintf("it names the image by the tag %s, and the entry %+q", want, locked.Image)
	}
	return ""
}

// LacksOnlyApproval reports whether nothing but a person's approval is missing of what was judged.
func LacksOnlyApproval(v policy.Verdict) bool {
	refused := v.Refused()
	for _, f := range refused {
		e := f.Evidence
		if e.Authority != evidence.Machine || e.Outcome != evidence.Absent || e.Scheme != evidence.Approval && e.Scheme != evidence.Launch {
			return false
		}
	}
	return len(refused) > 0
}

// LaunchEvidence compares how a server is declared with how it was when it was locked.
func LaunchEvidence(w *workspace.Workspace, s project.Server, locked *project.ServerLock) evidence.Evidence {
	c := evidence.Claim{Subject: s.Name, Scheme: evidence.Launch, Authority: evidence.Lock, Where: project.LockFile}
	if locked != nil {
		c.Want = []digest.Digest{locked.Launch.Digest()}
	}
	if s.Line == 0 && s.Facet == "" {
		return evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{s.Launch().Digest()}, From: "the command line"})
	}
	from := fmt.Sprintf("%s line %d", project.ConfigFile, s.Line)
	if s.Line == 0 {
		from = "the facet " + s.Facet
	}
	e := evidence.Compare(c, evidence.Observed{Digests: []digest.Digest{s.Launch().Digest()}, From: from})
	if why := whyUnbound(s, locked); why != "" && e.Outcome == evidence.Match {
		e.Outcome, e.Reason = evidence.Mismatch, why
	}
	return e
}

// ApprovalEvidence says whether this machine approved the entry.
func ApprovalEvidence(w *workspace.Workspace, name string, entry project.ServerLock, trustLock bool) evidence.Evidence {
	c := evidence.Claim{Subject: name, Scheme: evidence.Approval, Authority: evidence.Machine, Where: "what was approved on this machine"}
	o := evidence.Observed{Digests: []digest.Digest{entry.Approvable()}, From: "the entry of " + project.LockFile}
	if a, ok := w.Approvals.Servers[name]; ok {
		c.Want = []digest.Digest{a.Entry}
	}
	e := evidence.Compare(c, o)
	if e.Outcome != evidence.Match && trustLock {
		return evidence.Waive(c, o, "--trust-lock")
	}
	return e
}

// Downloads reports whether t is a launcher that downloads packages which can be pinned:
// npx one of npm, uvx and pipx one of PyPI with what comes along, go run one of a module.
func Downloads(t launcher.Target, arguments []string) bool {
	if runsModule(t, arguments) {
		return true
	}
	if t.Opaque != "" || t.Wrapper != "" || t.File != "" || len(t.Packages) == 0 {
		return false
	}
	switch t.Launcher {
	case "npx":
		return len(t.Packages) == 1 && t.Packages[0].Ecosystem == launcher.NPM
	case "uvx", "uv tool run", "pipx run":
		return !slices.ContainsFunc(t.Packages, func(p launcher.Package) bool { return p.Ecosystem != launcher.PyPI })
	}
	return false
}
