package store

import (
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
)

// A sidecar whose own digest holds may still be anything.
func FuzzSidecar(f *testing.F) {
	const sum = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	f.Add([]byte(
		`{"schema":1,"integrity":"` + sum +
			`","ref":"npm:a@1.0.0","size":1,"created":"2026-01-31T12:00:00Z","files":{"a":{"sha256":"` + sum +
			`","size":1}}`))
	f.Add([]byte(`{"schema":1,"integrity":"` + sum + `","ref":"","size":0,"created":"2026-01-31T12:00:00Z","files":{}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		parseSidecar(body)
		whole := slices.Concat(body, []byte(selfBefore), []byte(digest.FromBytes(body).String()), []byte(selfAfter))
		c, err := parseSidecar(whole)
		if err != nil {
			return
		}
		if c.Integrity.Algorithm() != digest.SHA256 {
			t.Errorf("%s", c.Integrity)
		}
		if err := c.decodeFiles(); err == nil && c.Files == nil {
			t.Error("no files and no error")
		}
	})
}
