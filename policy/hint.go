package policy

import "github.com/hallmark-mcp/hallmark/evidence"

// hint says what to do next about refused evidence in a flow, or "".
type hint func(Flow, evidence.Evidence) string

// always is the same text, whatever the outcome.
func always(text string) hint { return func(Flow, evidence.Evidence) string { return text } }

// on is a text about one outcome.
func on(outcome evidence.Outcome, text string) hint {
	return when(func(e evidence.Evidence) bool { return e.Outcome == outcome }, always(text))
}

// in is h in one flow, where several share a row.
func in(flow Flow, h hint) hint {
	return func(f Flow, e evidence.Evidence) string {
		if f != flow {
			return ""
		}
		return h(f, e)
	}
}

// when is h for evidence that fits.
func when(fits func(evidence.Evidence) bool, h hint) hint {
	return func(flow Flow, e evidence.Evidence) string {
		if !fits(e) {
			return ""
		}
		return h(flow, e)
	}
}

// first is what the first of some hints says that says anything; nil says nothing.
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

// undecided is about evidence that could not be verified, under any scheme.
var undecided = first(
	when(func(e evidence.Evidence) bool { return e.Cause == evidence.Unreachable },
		on(evidence.Unverifiable, "nothing was decided; try again when the server can be reached")),
	when(func(e evidence.Evidence) bool { return e.Cause == evidence.Malformed },
		on(evidence.Unverifiable, "a digest is written sha256:<64 hex digits>")))

// advise says what to do next about a finding that this row refuses: what the evidence itself
// says, what the row says, or what is said of its outcome or class under any scheme.
func (r rule) advise(flow Flow, f Finding) string {
	e := f.Evidence
	if next := e.Next(); next != "" {
		return next
	}
	switch flow {
	case Scan:
		return "" // its evidence says what to write
	case Plugin, Validate:
		return first(r.plugin)(flow, e)
	}
	text := first(r.hint, undecided)(flow, e)
	if text == "" && f.Class == evidence.Drift {
		text = "run 'hallmark review' for this server"
	}
	return text
}
