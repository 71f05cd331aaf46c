package facets_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
)

// state returns the one file in a directory of the state, and its content.
func state(p *hosttest.FacetProject, dir string) (name string, data []byte) {
	p.T.Helper()
	names, err := filepath.Glob(filepath.Join(p.Host.Places.State, dir, "*.json"))
	if err != nil || len(names) != 1 {
		p.T.Fatalf("%s: %v %v", dir, names, err)
	}
	if data, err = os.ReadFile(names[0]); err != nil {
		p.T.Fatal(err)
	}
	return names[0], data
}

// asInstalledBefore makes the project one in which an older release installed the command of the kit for
// Codex: a file of another place, which receipt and digests name.
func asInstalledBefore(p *hosttest.FacetProject, old, text string) {
	p.T.Helper()
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		p.T.Fatal(err)
	}
	receiptName, data := state(p, "receipts")
	receipt, err := machine.ParseReceipt(data, dir)
	if err != nil {
		p.T.Fatal(err)
	}
	sumsName, data := state(p, "materialized")
	sums, err := machine.ParseMaterialized(data, dir)
	if err != nil {
		p.T.Fatal(err)
	}
	for i, asset := range receipt.Facets["kit"].Assets {
		if asset.Target == "codex" && asset.Type == "command" {
			for _, file := range asset.Files {
				delete(sums.Files, file)
				if err := os.Remove(p.Path(file)); err != nil {
					p.T.Fatal(err)
				}
			}
			receipt.Facets["kit"].Assets[i].Files = []string{old}
		}
	}
	sums.Files[old] = digest.FromBytes([]byte(text))
	p.Write(old, text)
	for name, encode := range map[string]func() ([]byte, error){receiptName: receipt.Encode, sumsName: sums.Encode} {
		data, err := encode()
		if err == nil {
			err = os.WriteFile(name, data, 0o600)
		}
		if err != nil {
			p.T.Fatal(err)
		}
	}
}

// Where a release has another place for a file than the one before, the old file goes by the receipt, also
// under a lock that does not change; one that was edited stays, and is named.
func TestMovedPlace(t *testing.T) {
	const old = ".agents/commands/wave.md"
	for _, o := range []facets.Options{{}, {Frozen: true}} {
		p := hosttest.NewFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"codex\"]\n")
		p.Kit("kit", "1.0.0", "Hello.\n")
		p.Must(p.Install(facets.Options{}))
		asInstalledBefore(p, old, "---\nname: wave\n---\nWave.\n")
		out := p.Must(p.Install(o))
		if !slices.Equal(out.Deleted, []string{old}) || p.Read(old) != "" || p.Read(".agents/skills/wave/SKILL.md") == "" {
			t.Errorf("%+v", out)
		}
		if _, err := os.Stat(p.Path(".agents/commands")); err == nil {
			t.Error("the directory is left")
		}
		if again := p.Must(p.Install(o)); len(again.Files)+len(again.Deleted) > 0 {
			t.Errorf("%+v", again)
		}
	}
	p := hosttest.NewFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"codex\"]\n")
	p.Kit("kit", "1.0.0", "Hello.\n")
	p.Must(p.Install(facets.Options{}))
	asInstalledBefore(p, old, "Wave.\n")
	p.Write(old, "My own.\n")
	if out := p.Must(p.Install(facets.Options{})); !slices.Equal(out.Kept, []string{old}) || p.Read(old) != "My own.\n" {
		t.Errorf("%+v", out)
	}
}

// A script of a skill can be started, wherever its facet comes from; other files, and scripts that are of
// no skill, cannot.
func TestScriptsOfSkills(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	p := hosttest.NewFacetProject(t,
		"[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"cursor\", \"dir:tools\"]\n")
	p.Kit("kit", "1.0.0", "Hello.\n")
	p.Write("kit/skills/greet/names.txt", "#!/bin/sh\necho hello\n")
	p.Write("kit/agents/helper.md", "#!/bin/sh\n")
	p.Must(p.Install(facets.Options{}))
	modes := func() {
		t.Helper()
		for name, want := range map[string]fs.FileMode{
			".cursor/skills/greet/names.txt": 0o755, "tools/skills/greet/names.txt": 0o755,
			".cursor/skills/greet/SKILL.md": 0o644, "tools/skills/greet/SKILL.md": 0o644, "tools/agents/helper.md": 0o644,
		} {
			if info, err := os.Stat(p.Path(name)); err != nil || info.Mode() != want {
				t.Errorf("%s: %v %v", name, info.Mode(), err)
			}
		}
	}
	modes()
	// As releases before this one wrote it; the lock does not change, and 'check' says nothing of modes.
	if err := os.Chmod(p.Path("tools/skills/greet/names.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := p.Must(p.Install(facets.Options{Frozen: true})); !slices.Equal(out.Files,
		[]string{"tools/skills/greet/names.txt"}) {
		t.Errorf("%+v", out)
	}
	modes()
	if out := p.Must(p.Install(facets.Options{})); len(out.Files) != 0 {
		t.Errorf("%+v", out)
	}
}

// A skill and a command of one name in one facet: where commands become skills, the skill has the name.
func TestSkillAndCommand(t *testing.T) {
	p := hosttest.NewFacetProject(t,
		"[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"claude-code\", \"codex\"]\n")
	p.Write("kit/facet.json", `{"name":"kit","version":"1.0.0","skills":{"x":{"description":"d"}},
		"commands":{"x":{"description":"d"}}}`)
	p.Write("kit/skills/x/SKILL.md", "Skill.\n")
	p.Write("kit/commands/x.md", "Command.\n")
	out := p.Must(p.Install(facets.Options{}))
	if len(out.Files) != 3 || len(out.Notes) != 1 || out.Notes[0].Target != "codex" || out.Notes[0].Kind != "command" {
		t.Errorf("%+v", out)
	}
}
