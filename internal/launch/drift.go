package launch

import (
	"os"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/surface"
)

// noteDrift stores drift in the state directory, for check and review. A note stays until a person
// reviews it: if the server behaves at the next start, the drift still happened. The guard
// withholds what drifted, so a failure to write the note only costs the report.
func (l *Launch) noteDrift(r guard.Report) {
	items := map[string]machine.DriftItem{}
	for _, key := range r.Absent {
		items[key] = machine.DriftItem{Reason: guard.NotShown, Want: l.Entry.SurfaceItems[key]}
	}
	if len(r.Drift) == 0 && !l.mayWriteNotice(len(items)) {
		return
	}
	for _, d := range r.Drift {
		items[d.Key] = machine.DriftItem{Reason: d.Reason, Want: d.Want, Got: d.Got}
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
	case err != nil || note != nil && !note.OnlyNotice(guard.NotShown):
		return false
	case n == 0 && note != nil:
		os.Remove(l.Workspace.DriftPath(l.Declared.Name))
	}
	return n > 0
}

// WriteNote stores which items drifted, and the surface that was seen, nil if it has no canonical
// form.
func (l *Launch) WriteNote(items map[string]machine.DriftItem, canonical []byte) {
	note := machine.DriftNote{Server: l.Declared.Name, At: l.Workspace.Host.Now().UTC(), Locked: l.Entry.Surface,
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
