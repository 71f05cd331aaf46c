package facets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
)

// A facet gives nothing that git would take for a repository, where it would ask it which
// program to start: under no name, and not in parts.
func TestNoRepositoryIsInstalled(t *testing.T) {
	for _, files := range [][]string{
		{".git/config"}, {".GIT/HEAD"}, {"sub/.git/config"}, {".git"}, {"git~1/config"}, {"GIT~2/config"},
		{".g\u200cit/config"}, {".git\u200d/config"}, {".g\u0131t/config"}, {".hg/hgrc"},
		{"HEAD", "config", "objects/x", "refs/x"}, {"deep/er/HEAD", "deep/er/objects/x", "deep/er/refs/x"},
		{"head", "Objects/x", "REFS/x"}, {"HEAD", "commondir"},
		{"b\u202etxt.md"}, {"a\u00ad.md"}, {"a\u3164.md"}, {"\u13a0.md", "\uab70.md"},
	} {
		p := hosttest.NewFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"claude-code\"]\n")
		p.Write("kit/facet.json",
			fmt.Sprintf(`{"name":"kit","version":"1.0.0","skills":{"s":{"description":"d","files":["%s"]}}}`,
				strings.Join(files, `","`)))
		p.Write("kit/skills/s/SKILL.md", "s")
		for _, f := range files {
			p.Write("kit/skills/s/"+f, "x")
		}
		_, err := p.Install(facets.Options{})
		if evidence.ClassOf(err) != evidence.Validation {
			t.Errorf("%q: %v", files, err)
		}
		for _, f := range files {
			if p.Read(".claude/skills/s/"+f) != "" {
				t.Errorf("%q was written", f)
			}
		}
	}
}

// A project's own configuration does not choose such a place either.
func TestTargetIsNoRepository(t *testing.T) {
	for _, dir := range []string{".git/hooks", ".GIT/hooks", "git~1/hooks", "x/.git", ".hg", "a/../b", "", "."} {
		p := hosttest.NewFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"dir:"+dir+"\"]\n")
		if _, err := p.Install(facets.Options{}); evidence.ClassOf(err) != evidence.Validation ||
			!strings.Contains(err.Error(), "target") {
			t.Errorf("%q: %v", dir, err)
		}
	}
	// Two targets, neither of which makes one alone, do so together.
	p := hosttest.NewFacetProject(t,
		"[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"dir:p\", \"dir:p/skills/s/refs\"]\n")
	p.Write("kit/facet.json",
		`{"name":"kit","version":"1.0.0","skills":{"s":{"description":"d","files":["HEAD","objects/x"]}}}`)
	for _, f := range []string{"SKILL.md", "HEAD", "objects/x"} {
		p.Write("kit/skills/s/"+f, "x")
	}
	if _, err := p.Install(facets.Options{}); evidence.ClassOf(err) != evidence.Refused ||
		!strings.Contains(err.Error(), "repository") {
		t.Error(err)
	}
}
