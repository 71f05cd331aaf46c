package hallmark

import (
	"bytes"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/catalog"
	"github.com/hallmark-mcp/hallmark/internal/trail"
)

// TestLook: what a registry shows of a facet before it is installed is that of its log and of its
// bytes, or is refused.
func TestLook(t *testing.T) {
	w := newFacetWorld(t)
	rules, err := trail.Rules(w.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	look := func() (*catalog.Info, error) {
		return catalog.Look(t.Context(), w.host, rules, "kit@1.0.0", catalog.Options{})
	}
	if info, err := look(); err != nil || info.Unproven != "" || info.Contents == nil || len(info.Contents.Members) == 0 {
		t.Fatalf("%v: %+v", err, info)
	}
	for name, change := range map[string]func(string, []byte) []byte{
		"content_integrity": changeRecord(t, map[string]any{"content_integrity": otherSum}),
		"content_hash":      changeRecord(t, map[string]any{"content_hash": otherSum}),
		"archive": func(path string, body []byte) []byte {
			if isArchive(path) {
				return flipped(bytes.Clone(body))
			}
			return body
		},
	} {
		w.wire(change)
		if _, err := look(); err == nil || evidence.ClassOf(err) != evidence.Integrity {
			t.Errorf("%s: %v", name, err)
		}
	}
}
