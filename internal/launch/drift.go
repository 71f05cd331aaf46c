package launch

import (
	"os"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/guard/drift"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// noteDrift notes drift in the state directory, for check and review. A note stays until
// a person reviewed it: a server that behaves the next time has not taken it back. Drift
// is enforced by the guard; a note that cannot be written costs the report only.
func (l *Launch) noteDrift(r drift.Report) {
	items := map[string]project.DriftItem{}
	for _, key := range r.Absent {
		items[key] = project.DriftItem{Reason: drift.NotShown, Want: l.Entry.SurfaceItems[key]}
	}
	if len(r.Drift) == 0 && !l.mayWriteNotice(len(items)) {
		return
	}
	for _, d := range r.Drift {
		items[d.Key] = project.DriftItem{Reason: d.Reason, Want: d.Want, Got: d.Got}
	}
	var canonical []byte
	if s, err := surface.New(r.Listing); err == nil {
		canonical = s.Canonical()
	}
	l.WriteNote(items, canonical)
}

// mayWriteNotice reports whether to write a notice of n items that were not shown. A notice never
// replaces a note of drift. If n is 0, an earlier notice is removed.
func (l *Launch) mayWriteNotice(n int) bool {
	note, err := l.Workspace.DriftNote(l.Declared.Name, *l.Entry)
	switch {
	case err != nil || note != nil && !note.OnlyNotice(drift.NotShown):
		return false
	case n == 0 && note != nil:
		os.Remove(l.Workspace.DriftPath(l.Declared.Name))
	}
	return n > 0
}

// WriteNote writes down which items drifted, and the surface that was seen, nil if it has no
// canonical form.
func (l *Launch) WriteNote(items map[string]project.DriftItem, canonical []byte) {
	note := project.DriftNote{Server: l.Declared.Name, At: l.Workspace.Host.Now().UTC(), Locked: l.Entry.Surface,
		Items: items, Surface: canonical}
	data, err := note.Encode()
	if err == nil {
		err = os.MkdirAll(l.Workspace.State, 0o700)
	}
	if err == nil {
		err = durable.WriteFile(l.Workspace.DriftPath(l.Declared.Name), data, 0o600)
	}
	if err != nil {
		l.Workspace.Host.Logger.Warn("noting drift", "server", l.Declared.Name, "error", err)
	}
}
