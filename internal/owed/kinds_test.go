package owed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/project"
)

// entriesByKind are the members of an entry that differ by its kind.
var entriesByKind = map[project.ServerKind]string{
	project.KindCommand: `"ref": "file:a", LAUNCH`,
	project.KindHTTP: `"ref": "https://mcp.example.com/", "artifacts": {},
		"launch": {"url": "https://mcp.example.com/", "arguments": [], "variables": [], "on_drift": "withhold"}`,
	project.KindNPM:   `"ref": "npm:a@1.0.0", "entry": "node_modules/a/a.js", "closure": CLOSURE, LAUNCH`,
	project.KindPyPI:  `"ref": "pypi:a==1.0/a-1.0-py3-none-any.whl", "entry": "a:main", "closure": CLOSURE, LAUNCH`,
	project.KindGo:    `"ref": "go:example.com/a@v1.0.0", "entry": "example.com/a", "closure": CLOSURE, LAUNCH`,
	project.KindImage: `"ref": "oci:registry.example.com/a@SOME", "digest": "SOME", LAUNCH`,
	project.KindArtifact: `"ref": "@acme/notes@1.0.0", "entry": "a.js", "runtime": "node",
		"record": {"registry": "registry.example.com", "name": "@acme/notes", "version": "1.0.0", "document": "SOME"},
		"launch": {"source": "@acme/notes@1.0.0", "arguments": [], "variables": [], "on_drift": "withhold"}`,
}

// An entry of each kind owes its surface, and its closure if the kind has one, whatever the entry itself says.
func TestEntryOfEachKindOwesItsFiles(t *testing.T) {
	for _, kind := range project.ServerKinds() {
		text, ok := entriesByKind[kind]
		if !ok {
			t.Errorf("nothing says what an entry of kind %s owes", kind)
			continue
		}
		if launch := `"launch": {"command": "./a", "arguments": [], "variables": [], "on_drift": ` +
			`"withhold"}`; strings.Contains(text, "LAUNCH") {
			ref, _, _ := strings.Cut(strings.TrimPrefix(text, `"ref": "`), `"`)
			text = strings.Replace(text, "LAUNCH", launch+fmt.Sprintf(`, "artifacts": {%q: "SOME"}`, ref), 1)
		} else if kind == project.KindArtifact {
			text += `, "artifacts": {"@acme/notes@1.0.0": "SOME"}`
		}
		want := []string{"hallmark.surfaces/a.json document lock by lock"}
		if engines := kind.Engines(); len(engines) > 0 {
			text = strings.Replace(text, "CLOSURE",
				fmt.Sprintf(`{"engine": %q, "lock": "SOME", "trees": {"linux/amd64": "SOME"}}`, engines[0]), 1)
			want = append(want, "hallmark.closures/a.json document lock by lock")
		}
		b := locked(t, "",
			fmt.Sprintf(`"servers": {"a": {"source": %q, %s, "arguments": [], "variables": [], "api_surface": "SOME", "surface": "SOME",
			"surface_items": {}, "approved_at": "2026-01-01T00:00:00Z"}}`, kind, text))
		entry, _ := b.Lock.Server("a")
		if got := owing(b.files("a", entry)); !slices.Equal(got, want) {
			t.Errorf("%s: owes %q, want %q", kind, got, want)
		}
	}
}
