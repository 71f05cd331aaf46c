package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/installed"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxNotes bounds the notes that a person is shown: in more of them one goes unnoticed.
const maxNotes = 20

// noteJSON is a note about what a client does not get, or gets in another way.
type noteJSON struct {
	Facet  string `json:"facet,omitempty"` // "NAME@VERSION"; none for a server
	Target string `json:"target"`
	Kind   string `json:"kind"` // "skill", "agent", "command" or "server"
	Name   string `json:"name"`
	Note   string `json:"note"`
}

func notesResult(notes []installed.Note) []noteJSON {
	out := make([]noteJSON, len(notes))
	for i, n := range notes {
		out[i] = noteJSON{Facet: n.Facet, Target: n.Target, Kind: n.Kind, Name: n.Name, Note: n.Text}
	}
	return out
}

// showNotes prints a line for each target and text, with the names of all that it is about.
func showNotes(w io.Writer, notes []installed.Note) {
	type group struct{ target, kind, text string }
	var groups []group
	names := map[group][]string{}
	for _, n := range notes {
		g := group{n.Target, n.Kind, n.Text}
		if names[g] == nil {
			groups = append(groups, g)
		}
		if !slices.Contains(names[g], n.Name) {
			names[g] = append(names[g], n.Name)
		}
	}
	for i, g := range groups {
		if i == maxNotes {
			fmt.Fprintf(w, "note: and %d more of this kind; 'hallmark list --json' has all\n", len(groups)-i)
			return
		}
		fmt.Fprintf(w, "note: %s, %s %s: %s\n", surface.Escape(g.target), g.kind, surface.Escape(nameSome(names[g])),
			surface.Escape(g.text))
	}
}

// nameSome are names for people, the first of them if there are many.
func nameSome(names []string) string {
	const most = 5
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}
