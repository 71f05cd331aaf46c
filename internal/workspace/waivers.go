package workspace

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// ArgumentsClaim returns the claim that this machine approved the arguments that follow those of a
// server's declaration.
func ArgumentsClaim(server string) evidence.Claim {
	return evidence.Claim{Subject: server + ", arguments after --", Scheme: evidence.Launch,
		Authority: evidence.Machine, Where: "what was approved on this machine"}
}

// WhyArgumentsWaived returns why such arguments need no approval; "" if they do.
func WhyArgumentsWaived(s project.Server) string {
	if s.Extra == "" {
		return ""
	}
	return fmt.Sprintf("extra_arguments = %q in %s", s.Extra, project.ConfigFile)
}

// An opt-out of hallmark.toml is evidence like any other: it is judged, counted and named, and a
// strict policy refuses it.

// WaiveUnlocked waives e, which says that a server has no entry, if the server is declared
// unlocked.
func WaiveUnlocked(e evidence.Evidence) evidence.Evidence {
	out := evidence.Waive(e.Claim, e.Observed, "unlocked = true in "+project.ConfigFile)
	out.Fix = WaiverFix("unlocked", e.Subject)
	return out
}

// WaiverFix returns how to do without an opt-out, for users who accept none.
func WaiverFix(key, server string) string {
	return "take " + key + " out of its table in " + project.ConfigFile + ", and run 'hallmark pin " + server + "'"
}

// AnyArgumentsEvidence returns evidence that a server takes arguments which nobody approved.
func AnyArgumentsEvidence(s project.Server) evidence.Report {
	why := WhyArgumentsWaived(s)
	if why == "" {
		return nil
	}
	e := evidence.Waive(ArgumentsClaim(s.Name), evidence.Observed{}, why)
	e.Fix = WaiverFix("extra_arguments", s.Name)
	return evidence.Report{e}
}
