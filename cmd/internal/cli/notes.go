package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
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

// showNotes prints a line for each text, with all names and all targets that it is about.
func showNotes(w io.Writer, notes []installed.Note) {
	byTargets := groupNotes(notes, func(n installed.Note) (noteKey, string) {
		return noteKey{n.Kind, n.Name, n.Text}, n.Target
	})
	var merged []installed.Note
	for _, g := range byTargets {
		merged = append(merged, installed.Note{Kind: g.key[0], Name: g.key[1], Text: g.key[2],
			Target: strings.Join(g.values, ", ")})
	}
	groups := groupNotes(merged, func(n installed.Note) (noteKey, string) {
		return noteKey{n.Kind, n.Target, n.Text}, n.Name
	})
	for i, g := range groups {
		if i == maxNotes {
			fmt.Fprintf(w, "note: and %d more of this kind; 'hallmark list --json' has all\n", len(groups)-i)
			return
		}
		fmt.Fprintf(w, "note: %s %s for %s %s\n", g.key[0], surface.Escape(evidence.NameSome(g.values, 5)),
			surface.Escape(g.key[1]), surface.Escape(g.key[2]))
	}
}

// noteKey is what notes have in common: three texts.
type noteKey [3]string

// noteGroup are notes that differ in one text only.
type noteGroup struct {
	key    noteKey
	values []string
}

// groupNotes groups notes in the order of the first of each group.
func groupNotes(notes []installed.Note, split func(installed.Note) (key noteKey, value string)) (groups []noteGroup) {
	at := map[noteKey]int{}
	for _, n := range notes {
		key, value := split(n)
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, noteGroup{key: key})
		}
		if !slices.Contains(groups[i].values, value) {
			groups[i].values = append(groups[i].values, value)
		}
	}
	return groups
}
