package policy

import (
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// hint says what to do next about refused evidence in a flow, or "".
type hint func(Flow, evidence.Evidence) string

// always gives text, whatever the outcome.
func always(text string) hint { return func(Flow, evidence.Evidence) string { return text } }

// on gives text for one outcome only.
func on(outcome evidence.Outcome, text string) hint {
	return when(func(e evidence.Evidence) bool { return e.Outcome == outcome }, always(text))
}

// isMismatch reports whether evidence is of what was claimed otherwise.
func isMismatch(e evidence.Evidence) bool { return e.Outcome == evidence.Mismatch }

// in gives h in one of the flows that share a row.
func in(flow Flow, h hint) hint {
	return func(f Flow, e evidence.Evidence) string {
		if f != flow {
			return ""
		}
		return h(f, e)
	}
}

// when gives h for evidence that fits.
func when(fits func(evidence.Evidence) bool, h hint) hint {
	return func(flow Flow, e evidence.Evidence) string {
		if !fits(e) {
			return ""
		}
		return h(flow, e)
	}
}

// first gives the first text among hints that is not empty; a nil hint has none.
func first(hints ...hint) hint {
	return func(flow Flow, e evidence.Evidence) string {
		for _, h := range hints {
			if h == nil {
				continue
			}
			if text := h(flow, e); text != "" {
				return text
			}
		}
		return ""
	}
}

// undecided is the hint for evidence that could not be verified, under any scheme.
var undecided = first(
	when(func(e evidence.Evidence) bool { return e.Cause == evidence.Unreachable },
		on(evidence.Unverifiable, "nothing was decided; try again when the server can be reached")),
	when(func(e evidence.Evidence) bool { return e.Cause == evidence.Malformed },
		on(evidence.Unverifiable, "a digest is written sha256:<64 hex digits>")))

// missing is the hint for evidence of what was not found, if nothing else is said of it.
var missing = when(func(e evidence.Evidence) bool { return e.Cause == evidence.NotFound },
	on(evidence.Unverifiable, "is this version published, and is its file still there?"))

// namelessCommand matches a command that is about one entry of a lock, where a hint does not name it.
var namelessCommand = spelling.Form(`'hallmark (pin|review|unpin|upgrade|remove)'( for this server)?`)

// nameEntry gives the commands of a hint the name of the server or facet that they are about, as without one they are
// about all. The names of entries need no quotes on a command line.
func nameEntry(text string, of evidence.Entry) string {
	return namelessCommand().ReplaceAllStringFunc(text, func(found string) string {
		command, name := namelessCommand().FindStringSubmatch(found)[1], of.Server
		switch command {
		case "upgrade", "remove": // 'upgrade' of all servers asks for each
			name = of.Facet
		}
		if name == "" {
			return found
		}
		named := "hallmark " + command + " " + name
		return "'" + named + "'"
	})
}
