package facet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

// TestCopiesByID: where the bytes of files have names, copies are found without reading more of them than SKILL.md.
func TestCopiesByID(t *testing.T) {
	files := map[string]string{
		"a/xx/SKILL.md": "x", "a/xx/big": "1", "b/xx/SKILL.md": "x", "b/xx/big": "1", "c/xx/SKILL.md": "x", "c/xx/big": "2",
		"d/xx/SKILL.md": "x", "d/xx/larger": "1",
	}
	var read []string
	d := Dir{Open: func(p string) (io.ReadCloser, error) {
		if read = append(read, p); path.Base(p) != SkillFile {
			return nil, fmt.Errorf("%s was read", p)
		}
		return io.NopCloser(strings.NewReader(files[p])), nil
	}, ID: func(p string) string { return files[p] }}
	for p, text := range files {
		d.Files = append(d.Files, tree.File{Path: p, Size: int64(len(text))})
	}
	items, err := List(d)
	var copies []string
	for _, item := range items {
		if item.Copy {
			copies = append(copies, item.Path)
		}
	}
	if err != nil || len(items) != 4 || !slices.Equal(copies, []string{"b/xx"}) {
		t.Errorf("%+v, %v", items, err)
	}
	if len(read) != 4 {
		t.Errorf("%q were read", read)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := ListContext(ctx, d); !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestLooseAssets: agents and commands that no plugin has are in the list, with what leads on, where there are skills
// beside them; a program's directory of that name, and those of a plugin, are none.
func TestLooseAssets(t *testing.T) {
	files := map[string]string{
		".claude/skills/one/SKILL.md": "---\nname: one\n---\nA\n", ".claude/agents/team/rev.md": "R",
		".claude/commands/go.md": "G", "src/commands/readme.md": "S", "agents/a.txt": "A",
		".kit/.claude-plugin/plugin.json": `{"name":"kit"}`, ".kit/agents/b.md": "B",
	}
	d := Dir{Open: func(p string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[p])), nil }}
	for p, text := range files {
		d.Files = append(d.Files, tree.File{Path: p, Size: int64(len(text))})
	}
	items, err := List(d)
	if err != nil || len(items) != 3 || items[2].Path != ".claude" || !items[2].Empty ||
		!strings.Contains(items[2].Why, "belong to no plugin; copy them into") {
		t.Fatalf("%+v, %v", items, err)
	}
}
