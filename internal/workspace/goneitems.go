package workspace

import (
	"maps"
	"slices"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/guard"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// GoneEvidence returns evidence of the locked items that a capture found to be shown to no client
// any more, for all servers, as long as nobody reviewed that.
func GoneEvidence(w *Workspace) (report evidence.Report, err error) {
	for _, name := range w.Lock.Servers() {
		entry, _ := w.Lock.Server(name)
		note, err := w.DriftNote(name, entry)
		if err != nil {
			return report, err
		}
		if note == nil {
			continue
		}
		for _, key := range note.Keys(guard.Gone) {
			report = append(report, evidence.CannotVerify(evidence.Claim{
				Subject: name + ": " + key, Scheme: evidence.Surface, Authority: evidence.Lock,
				Want: []digest.Digest{entry.SurfaceItems[key]}, Where: project.LockFile + ", surface_items",
			}, evidence.NotFound, guard.Gone))
		}
	}
	return report, nil
}

// GoneItems returns the keys of the items of an entry, which may be nil, that no client is shown
// now. It ignores items of excluded kinds.
func GoneItems(entry *project.ServerLock, now *surface.Surface, excluded map[surface.Kind]bool) (gone []string) {
	if entry == nil {
		return nil
	}
	shown := now.ItemDigests()
	for _, key := range slices.Sorted(maps.Keys(entry.SurfaceItems)) {
		if _, ok := shown[key]; !ok && !excluded[surface.KindOf(key)] {
			gone = append(gone, key)
		}
	}
	return gone
}
