package hallmark

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/machine"
	"github.com/hallmark-mcp/hallmark/project"
)

// A user's edits are kept and named, what was never ours is in the way, and --force is
// needed for either.
func TestEditedFiles(t *testing.T) {
	p := newFacetProject(t, localKit)
	p.kit("kit", "1.0.0", "Hello.\n")
	p.write("tools/commands/wave.md", "my own\n")
	before := p.all()
	_, err := p.install(facets.Options{})
	p.refused(evidence.Refused, err, "1 file that Hallmark did not write", "tools/commands/wave.md", "--force")
	if p.all() != before {
		t.Error("something was written")
	}
	p.must(p.install(facets.Options{Force: true}))

	const skill = "tools/skills/greet/SKILL.md"
	p.write(skill, "edited\n")
	out := p.must(p.install(facets.Options{}))
	if len(out.Kept) != 1 || out.Kept[0] != skill || len(out.Verdict.Warnings()) != 1 || p.read(skill) != "edited\n" {
		t.Errorf("%+v", out.Kept)
	}
	// Also when there is a new version, and when the facet is removed.
	p.kit("kit", "1.1.0", "Hello again.\n")
	out = p.must(p.install(facets.Options{}))
	if len(out.Kept) != 1 || p.read(skill) != "edited\n" ||
		!strings.Contains(p.read(".claude/skills/greet/SKILL.md"), "again") {
		t.Errorf("%+v", out)
	}
	out, err = facets.Remove(t.Context(), p.host, p.dir, []string{"kit"}, facets.Options{})
	p.must(out, err)
	if len(out.Kept) != 1 || p.read(skill) != "edited\n" || len(out.Deleted) != 7 {
		t.Errorf("%+v", out)
	}
	// From then on it is the user's.
	if receipts := p.receipt(); len(receipts.Facets) != 0 {
		t.Errorf("%+v", receipts)
	}
	if out = p.must(p.install(facets.Options{Force: true})); len(out.Deleted) != 0 || p.read(skill) != "edited\n" {
		t.Errorf("%+v", out)
	}

	// --force replaces and deletes.
	p = newFacetProject(t, localKit)
	p.kit("kit", "1.0.0", "Hello.\n")
	p.must(p.install(facets.Options{}))
	p.write(skill, "edited\n")
	if out = p.must(p.install(facets.Options{Force: true})); p.read(skill) != "# Greet\nHello.\n" ||
		len(out.Kept) != 0 {
		t.Errorf("%+v", out)
	}
	p.write(skill, "edited\n")
	out, err = facets.Remove(t.Context(), p.host, p.dir, []string{"kit"}, facets.Options{Force: true})
	p.must(out, err)
	if p.read(skill) != "" || len(out.Deleted) != 8 {
		t.Errorf("%+v", out)
	}
}

func (p *facetProject) receipt() *machine.Receipt {
	p.t.Helper()
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	data, err := os.ReadFile(p.receiptFile())
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := machine.ParseReceipt(data, dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *facetProject) receiptFile() string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.host.Places.State, "receipts", "project-*.json"))
	if err != nil || len(found) != 1 {
		p.t.Fatalf("receipts: %q %v", found, err)
	}
	return found[0]
}

// The receipt names assets and files and has no hashes; it alone authorises to delete.
func TestReceipt(t *testing.T) {
	p := newFacetProject(t, localKit)
	p.kit("kit", "1.0.0", "Hello.\n")
	p.must(p.install(facets.Options{}))
	r := p.receipt()
	kit := r.Facets["kit"]
	if len(kit.Assets) != 6 || kit.Version != "1.0.0" || kit.Assets[0].Scope != "project" ||
		kit.Assets[0].Type != "skill" || kit.Assets[0].Name != "greet" ||
		kit.Assets[0].Target != "claude-code" || len(kit.Assets[0].Files) != 2 {
		t.Errorf("%+v", kit)
	}
	data, err := os.ReadFile(p.receiptFile())
	if err != nil || strings.Count(string(data), "sha256") != 1 {
		t.Errorf("%v\n%s", err, data)
	}

	// A lock that says that things are installed deletes nothing, and neither does the list
	// of digests: only a receipt does, and one of this project.
	for name, change := range map[string]func(p *facetProject){
		"no receipt": func(p *facetProject) { os.Remove(p.receiptFile()) },
		"of another project": func(p *facetProject) {
			p.rewriteReceipt(func(r *machine.Receipt) { r.Project = "/elsewhere" })
		},
		"damaged": func(p *facetProject) { os.WriteFile(p.receiptFile(), []byte("{"), 0o600) },
		"outside": func(p *facetProject) {
			p.rewriteReceipt(func(r *machine.Receipt) { r.Facets["kit"].Assets[0].Files = []string{"../victim"} })
		},
	} {
		p := newFacetProject(t, localKit)
		p.kit("kit", "1.0.0", "Hello.\n")
		p.must(p.install(facets.Options{}))
		p.write("../victim", "precious\n")
		change(p)
		out, err := facets.Remove(t.Context(), p.host, p.dir, []string{"kit"}, facets.Options{Force: true})
		p.must(out, err)
		if len(out.Deleted) != 0 || p.read("tools/skills/greet/SKILL.md") == "" || p.read("../victim") != "precious\n" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// rewriteReceipt changes the receipt as whoever can write it does, with its own digest.
func (p *facetProject) rewriteReceipt(change func(*machine.Receipt)) {
	p.t.Helper()
	r := p.receipt()
	change(r)
	data, err := r.Encode()
	if err == nil {
		err = os.WriteFile(p.receiptFile(), data, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// A checkout can hold links; nothing is written, replaced or deleted through one.
func TestInstallThroughLinks(t *testing.T) {
	for _, link := range []string{".claude", "tools/skills", "tools/skills/greet"} {
		p := newFacetProject(t, localKit)
		p.kit("kit", "1.0.0", "Hello.\n")
		p.write("../outside/keep", "x")
		if err := os.MkdirAll(filepath.Dir(p.path(link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p.path("../outside"), p.path(link)); err != nil {
			t.Fatal(err)
		}
		_, err := p.install(facets.Options{Force: true})
		p.refused(evidence.Refused, err, link+": is not a plain directory")
		if entries, err := os.ReadDir(p.path("../outside")); err != nil || len(entries) != 1 ||
			p.read(project.LockFile) != "" {
			t.Errorf("%s: %v %v", link, entries, err)
		}
	}
	// A link in the place of a file is somebody's edit.
	p := newFacetProject(t, localKit)
	p.kit("kit", "1.0.0", "Hello.\n")
	p.must(p.install(facets.Options{}))
	p.write("../outside", "x")
	if err := errors.Join(os.Remove(p.path("tools/commands/wave.md")),
		os.Symlink(p.path("../outside"), p.path("tools/commands/wave.md"))); err != nil {
		t.Fatal(err)
	}
	if out := p.must(p.install(facets.Options{})); len(out.Kept) != 1 {
		t.Errorf("%+v", out)
	}
	p.must(p.install(facets.Options{Force: true}))
	if info, err := os.Lstat(p.path("tools/commands/wave.md")); err != nil || info.Mode()&fs.ModeSymlink != 0 ||
		p.read("../outside") != "x" {
		t.Errorf("%v %v %q", info, err, p.read("../outside"))
	}
}

// Each target gets the files where its client looks for them.
func TestTargets(t *testing.T) {
	for target, want := range map[string][]string{
		"claude-code": {".claude/skills/greet/SKILL.md", ".claude/skills/greet/names.txt", ".claude/agents/helper.md",
			".claude/commands/wave.md"},
		"codex": {".agents/skills/greet/SKILL.md", ".agents/skills/greet/names.txt", ".codex/agents/helper.toml",
			".agents/skills/wave/SKILL.md", ".agents/skills/wave/agents/openai.yaml"},
		"opencode": {".opencode/skills/greet/SKILL.md", ".opencode/skills/greet/names.txt",
			".opencode/agents/helper.md", ".opencode/commands/wave.md"},
		"cursor": {".cursor/skills/greet/SKILL.md", ".cursor/skills/greet/names.txt", ".cursor/agents/helper.md",
			".cursor/commands/wave.md"},
		"copilot": {".github/skills/greet/SKILL.md", ".github/skills/greet/names.txt", ".github/agents/helper.agent.md",
			".github/prompts/wave.prompt.md"},
		"vscode": {".github/skills/greet/SKILL.md", ".github/skills/greet/names.txt", ".github/agents/helper.agent.md",
			".github/prompts/wave.prompt.md"},
		"gemini": {".gemini/skills/greet/SKILL.md", ".gemini/skills/greet/names.txt", ".gemini/agents/helper.md",
			".gemini/commands/wave.toml"},
		"qwen": {".qwen/skills/greet/SKILL.md", ".qwen/skills/greet/names.txt", ".qwen/agents/helper.md",
			".qwen/commands/wave.md"},
		"amp": {".agents/skills/greet/SKILL.md", ".agents/skills/greet/names.txt", ".agents/skills/wave/SKILL.md"},
		"windsurf": {".windsurf/skills/greet/SKILL.md", ".windsurf/skills/greet/names.txt",
			".windsurf/workflows/wave.md"},
		"kiro": {".kiro/skills/greet/SKILL.md", ".kiro/skills/greet/names.txt", ".kiro/agents/helper.md",
			".kiro/steering/wave.md"},
		"zed": {".agents/skills/greet/SKILL.md", ".agents/skills/greet/names.txt", ".agents/skills/wave/SKILL.md"},
		"dir:a/b": {"a/b/skills/greet/SKILL.md", "a/b/skills/greet/names.txt", "a/b/agents/helper.md",
			"a/b/commands/wave.md"},
	} {
		p := newFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\""+target+"\"]\n")
		p.kit("kit", "1.0.0", "Hello.\n")
		out := p.must(p.install(facets.Options{}))
		if len(out.Files) != len(want) {
			t.Errorf("%s: %q", target, out.Files)
		}
		for _, name := range want {
			if p.read(name) == "" {
				t.Errorf("%s: no %s", target, name)
			}
		}
		if target == "codex" &&
			p.read(".codex/agents/helper.toml") !=
				"name = 'helper'\ndescription = 'Helps.'\ndeveloper_instructions = \"\"\"\nHelp.\n\"\"\"\n" {
			t.Errorf("%q", p.read(".codex/agents/helper.toml"))
		}
	}
	// Without a list, those whose clients are used in the project.
	p := newFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n")
	p.kit("kit", "1.0.0", "Hello.\n")
	if out := p.must(p.install(facets.Options{})); len(out.Targets) != 0 || len(out.Files) != 0 || !out.Written {
		t.Errorf("%+v", out)
	}
	p.write(".mcp.json", "{}")
	p.write(".cursor/x", "")
	if out := p.must(p.install(facets.Options{})); len(out.Targets) != 2 || len(out.Files) != 8 {
		t.Errorf("%+v", out)
	}
}

// All collisions are reported together, and nobody wins.
func TestCollisions(t *testing.T) {
	p := newFacetProject(t,
		"[facets]\na1 = { path = \"a\" }\nb1 = { path = \"b\" }\n[adapters]\ntargets = [\"dir:tools\"]\n")
	for _, name := range []string{"a", "b"} {
		p.write(name+"/facet.json", `{"name":"`+name+`1","version":"1.0.0","agents":{"x":{"description":"d"}},
			"`+map[string]string{"a": "skills", "b": "commands"}[name]+`":{"y":{"description":"d"}}}`)
		p.write(name+"/agents/x.md", "x")
		p.write(name+"/skills/y/SKILL.md", "y")
		p.write(name+"/commands/y.md", "y")
	}
	before := p.read(project.ConfigFile)
	_, err := p.install(facets.Options{Force: true})
	p.refused(evidence.Refused, err, "2 names", "agent x: a1@1.0.0, b1@1.0.0", "skill or command y: a1@1.0.0, b1@1.0.0")
	if p.read(project.ConfigFile) != before || p.read(project.LockFile) != "" || p.read("tools/agents/x.md") != "" {
		t.Error("something was written")
	}
}
