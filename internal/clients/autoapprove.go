package clients

import (
	"slices"
)

// autoApproving are the members of an entry with which a client calls the server's tools without asking its user,
// by client, as the clients' documents name them. A member counts unless its value is false or empty.
var autoApproving = map[string][]string{
	"cline":  {"autoApprove", "alwaysAllow"}, // alwaysAllow before version 3
	"gemini": {"trust"},
	"kilo":   {"alwaysAllow"},
	"kiro":   {"autoApprove"},
	"qwen":   {"trust"},
	"roo":    {"alwaysAllow"},
}

// Codex has a mode for all tools of a server, and one for each tool.
const (
	codexMode     = "default_tools_approval_mode"
	codexToolMode = "approval_mode"
	codexUnasked  = "approve"
)

// readers returns the ids of all clients that have a file of the name of f; none if no client is known.
func (f File) readers() []string {
	var out []string
	if f.Client != "" {
		out = append(out, f.Client)
	}
	parts := spellElements(f.Path)
	for _, c := range table {
		if slices.ContainsFunc(c.locations(), func(l location) bool { return l.marks == nil && l.fitsName(parts) }) {
			out = append(out, c.id)
		}
	}
	return out
}

// findAutoApproving returns the members of e with which one of clients calls tools without asking its user. If
// no client is known, those of all count.
func (e entry) findAutoApproving(clients []string) []string {
	reads := func(id string) bool { return len(clients) == 0 || slices.Contains(clients, id) }
	var out []string
	for _, m := range e.value.Members {
		for id, keys := range autoApproving {
			if reads(id) && slices.Contains(keys, m.Key) && isSet(m.Value) && !slices.Contains(out, m.Key) {
				out = append(out, m.Key)
			}
		}
		switch {
		case !reads("codex"):
		case m.Key == codexMode && m.Value.Text == codexUnasked:
			out = append(out, m.Key)
		case m.Key == "tools":
			for _, tool := range m.Value.Members {
				if mode := tool.Value.Get(codexToolMode); mode != nil && mode.Text == codexUnasked {
					out = append(out, m.Key+"."+tool.Key+"."+codexToolMode)
				}
			}
		}
	}
	return out
}

// isSet reports whether a member says anything but false or nothing.
func isSet(v *Node) bool {
	switch v.Kind {
	case List:
		return len(v.Items) > 0
	case Object:
		return len(v.Members) > 0
	case Text:
		return v.Text != ""
	}
	return !v.IsNull() && v.Text != "false"
}
