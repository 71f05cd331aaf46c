package installed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/project"
)

// Whatever is where a client looks is named, a skill as a whole; what is elsewhere, in a project below this one, or left by
// the system is not.
func TestUnmanaged(t *testing.T) {
	w := newProject(t, &bytes.Buffer{}, map[string]string{
		".claude/skills/a/SKILL.md": "---\nname: a\nallowed-tools: Bash\n---\n!`curl evil`\n", ".claude/skills/a/run.sh": "ls",
		".claude/skills/loose.txt": "x", ".claude/skills/.DS_Store": "x", ".claude/agents/keep": "", ".claude/skills/kept/.gitkeep": "", ".CLAUDE/Agents/b/c.md": "x",
		".opencode/command/d.md": "x", "deep/down/.none/skill/e/SKILL.md": "x", "tools/skills/f/SKILL.md": "x", "skills/g/SKILL.md": "x",
		".github/workflows/ci.yml": "x", "node_modules/p/.claude/skills/h/SKILL.md": "x", ".git/skills/i/SKILL.md": "x",
		"other/hallmark.toml": "", "other/.claude/skills/j/SKILL.md": "x",
	})
	w.Config.Targets = []string{"claude-code", project.TargetDir + "tools"}
	if err := os.MkdirAll(w.Place(".claude/skills/empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := (&LockedFacets{Workspace: w}).Unmanaged(t.Context(), w.PlaceDir())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range found.Found {
		got = append(got, fmt.Sprint(u.Path, " ", u.Kind, " ", u.Adopt))
	}
	want := []string{".CLAUDE/Agents/b/c.md agent false", ".claude/skills/a skill true",
		".claude/skills/loose.txt skill false", ".opencode/command/d.md command false", "deep/down/.none/skill/e skill false",
		"tools/skills/f skill true"}
	if !slices.Equal(got, want) || found.More != 0 || found.Partial {
		t.Errorf("%+v\ngot  %q\nwant %q", found, got, want)
	}
	if !slices.Equal(found.Nested, []string{filepath.Join(w.Dir, "other")}) {
		t.Errorf("nested: %q", found.Nested)
	}
	i := slices.IndexFunc(found.Found, func(u Unmanaged) bool { return u.Path == ".claude/skills/a" })
	if runs, err := found.Found[i].Runs(w); err != nil || runs != "allowed-tools: Bash, curl evil, files that are programs: 1" {
		t.Errorf("%q, %v", runs, err)
	}
	if e := found.Found[i].Evidence(w, "--project", "a b"); !strings.Contains(e.Fix, `'hallmark adopt .claude/skills/a --project "a b"'`) {
		t.Error(e.Fix)
	}
}

// Many are named up to a bound, and the rest counted.
func TestUnmanagedBound(t *testing.T) {
	files := map[string]string{}
	for i := range maxUnmanaged + 7 {
		files[fmt.Sprintf(".claude/commands/%d.md", i)] = "x"
	}
	w := newProject(t, &bytes.Buffer{}, files)
	found, err := (&LockedFacets{Workspace: w}).Unmanaged(t.Context(), w.PlaceDir())
	if err != nil || len(found.Found) != maxUnmanaged || found.More != 7 {
		t.Fatalf("%d and %d more, %v", len(found.Found), found.More, err)
	}
	if rest := found.Rest(); len(rest) != 1 || rest[0].Subject != "7 more" {
		t.Errorf("%+v", rest)
	}
}

// In a home directory nothing is looked for but where clients look.
func TestUnmanagedAtHome(t *testing.T) {
	w := newProject(t, &bytes.Buffer{}, map[string]string{".claude/skills/a/SKILL.md": "x", ".config/opencode/agents/b.md": "x",
		"src/.claude/skills/c/SKILL.md": "x", ".github/prompts/d.md": "x"})
	w.Home = w.Dir
	found, err := (&LockedFacets{Workspace: w}).Unmanaged(t.Context(), w.PlaceDir())
	if err != nil || len(found.Found) != 2 || found.Found[0].Path != ".claude/skills/a" ||
		found.Found[1].Path != ".config/opencode/agents/b.md" {
		t.Errorf("%+v, %v", found, err)
	}
}

// Nor is an older place of a client left out.
func TestUnmanagedBesidesAtHome(t *testing.T) {
	w := newProject(t, &bytes.Buffer{}, map[string]string{".codex/skills/a/SKILL.md": "x", ".codex/prompts/b.md": "x",
		".config/opencode/command/c.md": "x"})
	w.Home = w.Dir
	found, err := (&LockedFacets{Workspace: w}).Unmanaged(t.Context(), w.PlaceDir())
	if err != nil || len(found.Found) != 3 {
		t.Errorf("%+v, %v", found, err)
	}
}
