package hallmark

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// What hallmark.toml opts out of is evidence like any other: it is judged, counted and named, and
// refused by who asks for that.

// unlockedWaived is e, which says that a server has no entry, of one that is declared unlocked.
func unlockedWaived(e evidence.Evidence) evidence.Evidence {
	out := evidence.Waive(e.Claim, e.Observed, "unlocked = true in "+project.ConfigFile)
	out.Fix = waivedFix("unlocked", e.Subject)
	return out
}

// waivedFix says to whom no opt-out is good enough how to do without it.
func waivedFix(key, server string) string {
	return "take " + key + " out of its table in " + project.ConfigFile + ", and run 'hallmark pin " + server + "'"
}

// anyArguments is evidence that a server takes arguments which nobody approved.
func anyArguments(s project.Server) evidence.Report {
	why := argumentsWaived(s)
	if why == "" {
		return nil
	}
	e := evidence.Waive(argumentsClaim(s.Name), evidence.Observed{}, why)
	e.Fix = waivedFix("extra_arguments", s.Name)
	return evidence.Report{e}
}

// waivers are the opt-outs of hallmark.toml that still stand, by server.
func (w *workspace) waivers() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(w.config.Servers)) {
		s := w.config.Servers[name]
		var report evidence.Report
		if _, locked := w.lock.Server(name); !locked && s.Unlocked {
			report = append(report, unlockedWaived(w.launchEvidence(s, nil)))
		}
		report = append(report, anyArguments(s)...)
		for _, e := range report {
			out = append(out, waiverText(e))
		}
		if s.Verify == nil || s.Verify.Type != project.VerifyNone {
			continue
		}
		for _, e := range w.verifyBlock(s, w.host.Getenv("PATH"), "", nil) {
			out = append(out, name+": "+waiverText(e))
		}
	}
	return out
}

// waiverText says in one line what is waived, and why if somebody said so.
func waiverText(e evidence.Evidence) string {
	text := e.Subject + ": " + string(e.Scheme)
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text
}
