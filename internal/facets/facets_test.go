package facets_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

const localKit = "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"claude-code\", \"dir:tools\"]\n"

func TestInstallLocal(t *testing.T) {
	p := hosttest.NewFacetProject(t, localKit)
	p.Kit("kit", "1.0.0", "Say hello.\n")
	out := p.Must(p.Install(facets.Options{}))
	if len(out.Files) != 8 || !out.Written || out.Facets[0].Outcome != "installed" {
		t.Fatalf("%+v", out)
	}
	for name, want := range map[string]string{
		".claude/skills/greet/SKILL.md": "---\nname: greet\ndescription: \"Greets: \\\"all\\\".\"\n---\n\n# Greet\n" +
			"Say hello.\n",
		".claude/skills/greet/names.txt": "Ada\n",
		".claude/agents/helper.md":       "---\ndescription: \"Helps.\"\nname: helper\n---\nHelp.\n",
		".claude/commands/wave.md":       "---\nname: wave\ndescription: \"Waves.\"\n---\n\nWave.\n",
		"tools/skills/greet/SKILL.md":    "# Greet\nSay hello.\n",
		"tools/commands/wave.md":         "Wave.\n",
	} {
		if got := p.Read(name); got != want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, want)
		}
	}
	before := p.All()
	if out = p.Must(p.Install(facets.Options{Frozen: true, Offline: true})); out.Written ||
		out.Facets[0].Outcome != "unchanged" || p.All() != before {
		t.Errorf("a second install: %+v", out)
	}

	// The lock follows the directory, save under --frozen.
	p.Kit("kit", "1.1.0", "Say hello, twice.\n")
	lock := p.Read(project.LockFile)
	_, err := p.Install(facets.Options{Frozen: true})
	p.Refused(evidence.Integrity, err)
	if p.Read(project.LockFile) != lock || strings.Contains(p.Read("tools/skills/greet/SKILL.md"), "twice") {
		t.Error("a refused install changed something")
	}
	if out = p.Must(p.Install(facets.Options{})); out.Facets[0].Outcome != "updated" || len(out.Facets[0].Assets) != 2 {
		t.Errorf("%+v", out.Facets[0])
	}
	if !strings.Contains(p.Read("tools/skills/greet/SKILL.md"), "twice") || p.Read(project.LockFile) == lock {
		t.Error("not updated")
	}

	// Removal takes away what was installed, and directories with it.
	out, err = facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{})
	p.Must(out, err)
	if len(out.Deleted) != 8 || out.Facets[0].Outcome != "removed" {
		t.Errorf("%+v", out)
	}
	for _, name := range []string{".claude", "tools"} {
		if _, err := os.Stat(p.Path(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if strings.Contains(p.Read(project.ConfigFile), "kit =") || strings.Contains(p.Read(project.LockFile), "kit") {
		t.Error("still declared or locked")
	}
}

func admitAll(report evidence.Report) policy.Admitted {
	return policy.Judge(policy.Install, policy.Settings{}, report).Admitted()
}
