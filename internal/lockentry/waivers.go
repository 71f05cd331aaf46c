package lockentry

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// ArgumentsClaim is that this machine approved the arguments that come after those of a
// server's declaration.
func ArgumentsClaim(server string) evidence.Claim {
	return evidence.Claim{Subject: server + ", arguments after --", Scheme: evidence.Launch, Authority: evidence.Machine, Where: "what was approved on this machine"}
}

// WhyArgumentsWaived is why such arguments need no approval; "" if they do.
func WhyArgumentsWaived(s project.Server) string {
	if s.Extra == "" {
		return ""
	}
	return fmt.Sprintf("extra_arguments = %q in %s", s.Extra, project.ConfigFile)
}

// What hallmark.toml opts out of is evidence like any other: it is judged, counted and named, and
// refused by who asks for that.

// WaiveUnlocked is e, which says that a server has no entry, of one that is declared unlocked.
func WaiveUnlocked(e evidence.Evidence) evidence.Evidence {
	out := evidence.Waive(e.Claim, e.Observed, "unlocked = true in "+project.ConfigFile)
	out.Fix = WaiverFix("unlocked", e.Subject)
	return out
}

// WaiverFix says to whom no opt-out is good enough how to do without it.
func WaiverFix(key, server string) string {
	return "take " + key + " out of its table in " + project.ConfigFile + ", and run 'hallmark pin " + server + "'"
}

// AnyArgumentsEvidence is evidence that a server takes arguments which nobody approved.
func AnyArgumentsEvidence(s project.Server) evidence.Report {
	why := WhyArgumentsWaived(s)
	if why == "" {
		return nil
	}
	e := evidence.Waive(ArgumentsClaim(s.Name), evidence.Observed{}, why)
	e.Fix = WaiverFix("extra_arguments", s.Name)
	return evidence.Report{e}
}
