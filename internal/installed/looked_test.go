package installed

import (
	"path"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// Each directory in which a target looks is found by its name, and so is one of a client that is not known; others are not.
func TestLooksIn(t *testing.T) {
	for _, target := range table {
		for dir, kind := range target.KindDirs() {
			if got, ok := LooksIn(path.Dir(dir), path.Base(dir)); !ok || got != kind {
				t.Errorf("%s: %s, want %s", dir, got, kind)
			}
		}
	}
	for dir, want := range map[string]facet.Kind{
		".unheard-of/skills": facet.KindSkill, ".Claude/SKILLS": facet.KindSkill, ".x/agent": facet.KindAgent,
		".windsurf/workflows": facet.KindCommand, ".github/workflows": "", ".git/commands": "", "src/skills": "",
		"./skills": "", "../skills": "",
	} {
		hidden, name, _ := strings.Cut(dir, "/")
		if got, ok := LooksIn(hidden, name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
