package obtain_test

import (
	"bytes"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/trail"
)

// TestLook: what a registry shows of a facet before it is installed is that of its log and of its
// bytes, or is refused.
func TestLook(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	rules, err := trail.Rules(w.Dir, "")
	if err != nil {
		t.Fatal(err)
	}
	look := func() (*obtain.LookResult, error) {
		return obtain.Look(t.Context(), w.Host, rules, "kit@1.0.0", obtain.LookOptions{})
	}
	if info, err := look(); err != nil || info.Unproven != "" || info.Contents == nil || len(info.Contents.Members) == 0 {
		t.Fatalf("%v: %+v", err, info)
	}
	for name, change := range map[string]func(string, []byte) []byte{
		"content_integrity": hosttest.ChangeRecord(t, map[string]any{"content_integrity": hosttest.OtherSum}),
		"content_hash":      hosttest.ChangeRecord(t, map[string]any{"content_hash": hosttest.OtherSum}),
		"archive": func(path string, body []byte) []byte {
			if hosttest.IsArchive(path) {
				return hosttest.Flipped(bytes.Clone(body))
			}
			return body
		},
	} {
		w.Wire(change)
		if _, err := look(); err == nil || evidence.ClassOf(err) != evidence.Integrity {
			t.Errorf("%s: %v", name, err)
		}
	}
}
