package facets_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/project"
)

// A user's edits are kept and named, what was never ours is in the way, and --force is
// needed for either.
func TestEditedFiles(t *testing.T) {
	p := hosttest.NewFacetProject(t, localKit)
	p.Kit("kit", "1.0.0", "Hello.\n")
	p.Write("tools/commands/wave.md", "my own\n")
	before := p.All()
	_, err := p.Install(facets.Options{})
	p.Refused(evidence.Refused, err, "1 file that Hallmark did not write", "tools/commands/wave.md", "--force")
	if p.All() != before {
		t.Error("something was written")
	}
	p.Must(p.Install(facets.Options{Force: true}))

	const skill = "tools/skills/greet/SKILL.md"
	p.Write(skill, "edited\n")
	out := p.Must(p.Install(facets.Options{}))
	if len(out.Kept) != 1 || out.Kept[0] != skill || len(out.Verdict.Warnings()) != 1 || p.Read(skill) != "edited\n" {
		t.Errorf("%+v", out.Kept)
	}
	// Also when there is a new version, and when the facet is removed.
	p.Kit("kit", "1.1.0", "Hello again.\n")
	out = p.Must(p.Install(facets.Options{}))
	if len(out.Kept) != 1 || p.Read(skill) != "edited\n" ||
		!strings.Contains(p.Read(".claude/skills/greet/SKILL.md"), "again") {
		t.Errorf("%+v", out)
	}
	out, err = facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{})
	p.Must(out, err)
	if len(out.Kept) != 1 || p.Read(skill) != "edited\n" || len(out.Deleted) != 7 {
		t.Errorf("%+v", out)
	}
	// From then on it is the user's.
	if receipts := receipt(p); len(receipts.Facets) != 0 {
		t.Errorf("%+v", receipts)
	}
	if out = p.Must(p.Install(facets.Options{Force: true})); len(out.Deleted) != 0 || p.Read(skill) != "edited\n" {
		t.Errorf("%+v", out)
	}

	// --force replaces and deletes.
	p = hosttest.NewFacetProject(t, localKit)
	p.Kit("kit", "1.0.0", "Hello.\n")
	p.Must(p.Install(facets.Options{}))
	p.Write(skill, "edited\n")
	if out = p.Must(p.Install(facets.Options{Force: true})); p.Read(skill) != "# Greet\nHello.\n" ||
		len(out.Kept) != 0 {
		t.Errorf("%+v", out)
	}
	p.Write(skill, "edited\n")
	out, err = facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{Force: true})
	p.Must(out, err)
	if p.Read(skill) != "" || len(out.Deleted) != 8 {
		t.Errorf("%+v", out)
	}
}

func receipt(p *hosttest.FacetProject) *machine.Receipt {
	p.T.Helper()
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		p.T.Fatal(err)
	}
	data, err := os.ReadFile(receiptFile(p))
	if err != nil {
		p.T.Fatal(err)
	}
	r, err := machine.ParseReceipt(data, dir)
	if err != nil {
		p.T.Fatal(err)
	}
	return r
}

func receiptFile(p *hosttest.FacetProject) string {
	p.T.Helper()
	found, err := filepath.Glob(filepath.Join(p.Host.Places.State, "receipts", "project-*.json"))
	if err != nil || len(found) != 1 {
		p.T.Fatalf("receipts: %q %v", found, err)
	}
	return found[0]
}

// The receipt names assets and files and has no hashes; it alone authorises to delete.
func TestReceipt(t *testing.T) {
	p := hosttest.NewFacetProject(t, localKit)
	p.Kit("kit", "1.0.0", "Hello.\n")
	p.Must(p.Install(facets.Options{}))
	r := receipt(p)
	kit := r.Facets["kit"]
	if len(kit.Assets) != 6 || kit.Version != "1.0.0" || kit.Assets[0].Scope != "project" ||
		kit.Assets[0].Type != "skill" || kit.Assets[0].Name != "greet" ||
		kit.Assets[0].Target != "claude-code" || len(kit.Assets[0].Files) != 2 {
		t.Errorf("%+v", kit)
	}
	data, err := os.ReadFile(receiptFile(p))
	if err != nil || strings.Count(string(data), "sha256") != 1 {
		t.Errorf("%v\n%s", err, data)
	}

	// A lock that says that things are installed deletes nothing, and neither does the list
	// of digests: only a receipt does, and one of this project.
	for name, change := range map[string]func(p *hosttest.FacetProject){
		"no receipt": func(p *hosttest.FacetProject) { os.Remove(receiptFile(p)) },
		"of another project": func(p *hosttest.FacetProject) {
			rewriteReceipt(p, func(r *machine.Receipt) { r.Project = "/elsewhere" })
		},
		"damaged": func(p *hosttest.FacetProject) { os.WriteFile(receiptFile(p), []byte("{"), 0o600) },
		"outside": func(p *hosttest.FacetProject) {
			rewriteReceipt(p, func(r *machine.Receipt) { r.Facets["kit"].Assets[0].Files = []string{"../victim"} })
		},
	} {
		p := hosttest.NewFacetProject(t, localKit)
		p.Kit("kit", "1.0.0", "Hello.\n")
		p.Must(p.Install(facets.Options{}))
		p.Write("../victim", "precious\n")
		change(p)
		out, err := facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{Force: true})
		p.Must(out, err)
		if len(out.Deleted) != 0 || p.Read("tools/skills/greet/SKILL.md") == "" || p.Read("../victim") != "precious\n" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// rewriteReceipt changes the receipt as whoever can write it does, with its own digest.
func rewriteReceipt(p *hosttest.FacetProject, change func(*machine.Receipt)) {
	p.T.Helper()
	r := receipt(p)
	change(r)
	data, err := r.Encode()
	if err == nil {
		err = os.WriteFile(receiptFile(p), data, 0o600)
	}
	if err != nil {
		p.T.Fatal(err)
	}
}

// A checkout can hold links; nothing is written, replaced or deleted through one.
func TestInstallThroughLinks(t *testing.T) {
	for _, link := range []string{".claude", "tools/skills", "tools/skills/greet"} {
		p := hosttest.NewFacetProject(t, localKit)
		p.Kit("kit", "1.0.0", "Hello.\n")
		p.Write("../outside/keep", "x")
		if err := os.MkdirAll(filepath.Dir(p.Path(link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p.Path("../outside"), p.Path(link)); err != nil {
			t.Fatal(err)
		}
		_, err := p.Install(facets.Options{Force: true})
		p.Refused(evidence.Refused, err, link+": is not a plain directory")
		if entries, err := os.ReadDir(p.Path("../outside")); err != nil || len(entries) != 1 ||
			p.Read(project.LockFile) != "" {
			t.Errorf("%s: %v %v", link, entries, err)
		}
	}
	// A link in the place of a file is somebody's edit.
	p := hosttest.NewFacetProject(t, localKit)
	p.Kit("kit", "1.0.0", "Hello.\n")
	p.Must(p.Install(facets.Options{}))
	p.Write("../outside", "x")
	if err := errors.Join(os.Remove(p.Path("tools/commands/wave.md")),
		os.Symlink(p.Path("../outside"), p.Path("tools/commands/wave.md"))); err != nil {
		t.Fatal(err)
	}
	if out := p.Must(p.Install(facets.Options{})); len(out.Kept) != 1 {
		t.Errorf("%+v", out)
	}
	p.Must(p.Install(facets.Options{Force: true}))
	if info, err := os.Lstat(p.Path("tools/commands/wave.md")); err != nil || info.Mode()&fs.ModeSymlink != 0 ||
		p.Read("../outside") != "x" {
		t.Errorf("%v %v %q", info, err, p.Read("../outside"))
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
		p := hosttest.NewFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\""+target+"\"]\n")
		p.Kit("kit", "1.0.0", "Hello.\n")
		out := p.Must(p.Install(facets.Options{}))
		if len(out.Files) != len(want) {
			t.Errorf("%s: %q", target, out.Files)
		}
		for _, name := range want {
			if p.Read(name) == "" {
				t.Errorf("%s: no %s", target, name)
			}
		}
		if target == "codex" &&
			p.Read(".codex/agents/helper.toml") !=
				"name = 'helper'\ndescription = 'Helps.'\ndeveloper_instructions = \"\"\"\nHelp.\n\"\"\"\n" {
			t.Errorf("%q", p.Read(".codex/agents/helper.toml"))
		}
	}
	// Without a list, those whose clients are used in the project.
	p := hosttest.NewFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n")
	p.Kit("kit", "1.0.0", "Hello.\n")
	if out := p.Must(p.Install(facets.Options{})); len(out.Targets) != 0 || len(out.Files) != 0 || !out.Written {
		t.Errorf("%+v", out)
	}
	p.Write(".mcp.json", "{}")
	p.Write(".kiro/x", "")
	if out := p.Must(p.Install(facets.Options{})); len(out.Targets) != 2 || len(out.Files) != 8 {
		t.Errorf("%+v", out)
	}
}

// All collisions are reported together, and nobody wins.
func TestCollisions(t *testing.T) {
	p := hosttest.NewFacetProject(t,
		"[facets]\na1 = { path = \"a\" }\nb1 = { path = \"b\" }\n[adapters]\ntargets = [\"dir:tools\"]\n")
	for _, name := range []string{"a", "b"} {
		p.Write(name+"/facet.json", `{"name":"`+name+`1","version":"1.0.0","agents":{"x":{"description":"d"}},
			"`+map[string]string{"a": "skills", "b": "commands"}[name]+`":{"y":{"description":"d"}}}`)
		p.Write(name+"/agents/x.md", "x")
		p.Write(name+"/skills/y/SKILL.md", "y")
		p.Write(name+"/commands/y.md", "y")
	}
	before := p.Read(project.ConfigFile)
	_, err := p.Install(facets.Options{Force: true})
	p.Refused(evidence.Refused, err, "2 names", "agent x: a1@1.0.0, b1@1.0.0", "skill or command y: a1@1.0.0, b1@1.0.0")
	if p.Read(project.ConfigFile) != before || p.Read(project.LockFile) != "" || p.Read("tools/agents/x.md") != "" {
		t.Error("something was written")
	}
}
