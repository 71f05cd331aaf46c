package hallmark

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/machine"
)

// state returns the one file in a directory of the state, and its content.
func (p *facetProject) state(dir string) (name string, data []byte) {
	p.t.Helper()
	names, err := filepath.Glob(filepath.Join(p.host.Places.State, dir, "*.json"))
	if err != nil || len(names) != 1 {
		p.t.Fatalf("%s: %v %v", dir, names, err)
	}
	if data, err = os.ReadFile(names[0]); err != nil {
		p.t.Fatal(err)
	}
	return names[0], data
}

// asInstalledBefore makes the project one in which an older release installed the command of the kit for
// Codex: a file of another place, which receipt and digests name.
func (p *facetProject) asInstalledBefore(old, text string) {
	p.t.Helper()
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	receiptName, data := p.state("receipts")
	receipt, err := machine.ParseReceipt(data, dir)
	if err != nil {
		p.t.Fatal(err)
	}
	sumsName, data := p.state("materialized")
	sums, err := machine.ParseMaterialized(data, dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for i, asset := range receipt.Facets["kit"].Assets {
		if asset.Target == "codex" && asset.Type == "command" {
			for _, file := range asset.Files {
				delete(sums.Files, file)
				if err := os.Remove(p.path(file)); err != nil {
					p.t.Fatal(err)
				}
			}
			receipt.Facets["kit"].Assets[i].Files = []string{old}
		}
	}
	sums.Files[old] = digest.FromBytes([]byte(text))
	p.write(old, text)
	for name, encode := range map[string]func() ([]byte, error){receiptName: receipt.Encode, sumsName: sums.Encode} {
		data, err := encode()
		if err == nil {
			err = os.WriteFile(name, data, 0o600)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// Where a release has another place for a file than the one before, the old file goes by the receipt, also
// under a lock that does not change; one that was edited stays, and is named.
func TestMovedPlace(t *testing.T) {
	const old = ".agents/commands/wave.md"
	for _, o := range []facets.Options{{}, {Frozen: true}} {
		p := newFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"codex\"]\n")
		p.kit("kit", "1.0.0", "Hello.\n")
		p.must(p.install(facets.Options{}))
		p.asInstalledBefore(old, "---\nname: wave\n---\nWave.\n")
		out := p.must(p.install(o))
		if !slices.Equal(out.Deleted, []string{old}) || p.read(old) != "" || p.read(".agents/skills/wave/SKILL.md") == "" {
			t.Errorf("%+v", out)
		}
		if _, err := os.Stat(p.path(".agents/commands")); err == nil {
			t.Error("the directory is left")
		}
		if again := p.must(p.install(o)); len(again.Files)+len(again.Deleted) > 0 {
			t.Errorf("%+v", again)
		}
	}
	p := newFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"codex\"]\n")
	p.kit("kit", "1.0.0", "Hello.\n")
	p.must(p.install(facets.Options{}))
	p.asInstalledBefore(old, "Wave.\n")
	p.write(old, "My own.\n")
	if out := p.must(p.install(facets.Options{})); !slices.Equal(out.Kept, []string{old}) || p.read(old) != "My own.\n" {
		t.Errorf("%+v", out)
	}
}

// A script of a skill can be started, wherever its facet comes from; other files, and scripts that are of
// no skill, cannot.
func TestScriptsOfSkills(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	p := newFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"cursor\", \"dir:tools\"]\n")
	p.kit("kit", "1.0.0", "Hello.\n")
	p.write("kit/skills/greet/names.txt", "#!/bin/sh\necho hello\n")
	p.write("kit/agents/helper.md", "#!/bin/sh\n")
	p.must(p.install(facets.Options{}))
	modes := func() {
		t.Helper()
		for name, want := range map[string]fs.FileMode{
			".cursor/skills/greet/names.txt": 0o755, "tools/skills/greet/names.txt": 0o755,
			".cursor/skills/greet/SKILL.md": 0o644, "tools/skills/greet/SKILL.md": 0o644, "tools/agents/helper.md": 0o644,
		} {
			if info, err := os.Stat(p.path(name)); err != nil || info.Mode() != want {
				t.Errorf("%s: %v %v", name, info.Mode(), err)
			}
		}
	}
	modes()
	// As releases before this one wrote it; the lock does not change, and 'check' says nothing of modes.
	if err := os.Chmod(p.path("tools/skills/greet/names.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := p.must(p.install(facets.Options{Frozen: true})); !slices.Equal(out.Files, []string{"tools/skills/greet/names.txt"}) {
		t.Errorf("%+v", out)
	}
	modes()
	if out := p.must(p.install(facets.Options{})); len(out.Files) != 0 {
		t.Errorf("%+v", out)
	}
}

// A skill and a command of one name in one facet: where commands become skills, the skill has the name.
func TestSkillAndCommand(t *testing.T) {
	p := newFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\"claude-code\", \"codex\"]\n")
	p.write("kit/facet.json", `{"name":"kit","version":"1.0.0","skills":{"x":{"description":"d"}},
		"commands":{"x":{"description":"d"}}}`)
	p.write("kit/skills/x/SKILL.md", "Skill.\n")
	p.write("kit/commands/x.md", "Command.\n")
	out := p.must(p.install(facets.Options{}))
	if len(out.Files) != 3 || len(out.Notes) != 1 || out.Notes[0].Target != "codex" || out.Notes[0].Kind != "command" {
		t.Errorf("%+v", out)
	}
}
