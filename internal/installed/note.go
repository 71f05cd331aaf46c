package installed

import (
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
)

// Note says what a target does not get of a deliverable of a facet, or gets in another way. It decides
// nothing, and its text may have what a publisher wrote.
type Note struct {
	Facet  string // "NAME@VERSION"; "" for servers, which have an entry of their own
	Target string
	Kind   string // "skill", "agent", "command" or "server"
	Name   string
	Text   string
}

// newNote is a note about a deliverable.
func newNote(of string, t Target, d facet.Deliverable, text string) Note {
	return Note{Facet: of, Target: t.Name, Kind: string(d.Kind), Name: d.Name, Text: text}
}

// kindServer is the kind of a note about a server.
const kindServer = "server"

// ServerNotes are about the targets that read no servers from a project, by the name of each server that
// facets declare and that clients are to start.
func ServerNotes(w *workspace.Workspace, names []string) (notes []Note) {
	for _, t := range Adapters(w) {
		for _, name := range names {
			if !t.StartsServers() {
				notes = append(notes, Note{Target: t.Name, Kind: kindServer, Name: name,
					Text: "is not started, as the client reads no servers from a project; add 'hallmark run NAME' to " +
						"the user's own"})
			}
		}
	}
	return notes
}

// ReadLocked are the locked facets with the files that clients are to have of them, as far as their contents are in the
// store; nothing is audited.
func ReadLocked(w *workspace.Workspace) (*LockedFacets, error) {
	l, err := openLocked(w)
	if err == nil {
		l.files, err = l.expectedFiles()
	}
	return l, err
}

// Notes are those about the locked facets whose contents are in the store, as far as these are what the
// lock says.
func Notes(w *workspace.Workspace) ([]Note, error) {
	l, err := openLocked(w)
	if err != nil {
		return nil, err
	}
	return l.notes(), nil
}

// openLocked are the locked facets, with what is in the store of them as it was locked.
func openLocked(w *workspace.Workspace) (*LockedFacets, error) {
	st, err := w.Host.Store()
	if err != nil {
		return nil, err
	}
	l := &LockedFacets{Workspace: w}
	for _, name := range w.Lock.Facets() {
		entry, _ := w.Lock.Facet(name)
		f := lockedFacet{name: name, entry: entry, read: func(member string) ([]byte, error) {
			return st.ReadFile(entry.Integrity, member, maxMarkdown)
		}}
		if data, err := f.read(facet.ManifestFile); err == nil &&
			evidence.Same(entry.Assets[facet.ManifestFile], digest.FromBytes(data)) {
			f.manifest, _ = facet.ParseManifest(data) // 'check' says what is wrong with it
		}
		l.facets = append(l.facets, f)
	}
	return l, nil
}

// notes are those about the facets whose manifest is known.
func (l *LockedFacets) notes() (notes []Note) {
	for _, f := range l.facets {
		if f.manifest == nil {
			continue
		}
		selection, of := l.selection(f.name), f.entry.Subject(f.name)
		chosen := selection.Of(f.manifest)
		for _, d := range Placed(f.manifest, l.Workspace.Config.Facets[f.name]) {
			if !selection.Has(d) {
				continue
			}
			for _, target := range Adapters(l.Workspace) {
				for _, text := range target.Notes(chosen, d) {
					notes = append(notes, newNote(of, target, d, text))
				}
				for _, place := range target.Places(chosen, d) {
					if !place.IsRendered() || d.Kind == facet.KindCommand && target.Elsewhere(chosen, d) != nil {
						continue
					}
					r, err := f.render(target, place, d)
					if err != nil { // 'check' says so
						continue
					}
					for _, text := range r.Notes {
						notes = append(notes, newNote(of, target, d, text))
					}
				}
			}
		}
	}
	return notes
}
