package facet

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

// Manifests and lists of plugins that are written to cost time, or to lead elsewhere, end in an error or in nothing.
func TestHostileManifests(t *testing.T) {
	var paths []string
	for i := range 50_000 {
		paths = append(paths, fmt.Sprintf(`"./a%d"`, i))
	}
	many := "[" + strings.Join(paths, ",") + "]"
	dir := func(files map[string]string) Dir {
		d := Dir{Open: func(p string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[p])), nil }}
		for p, text := range files {
			d.Files = append(d.Files, tree.File{Path: p, Size: int64(len(text))})
		}
		return d
	}
	for _, member := range taken {
		d := dir(map[string]string{PluginFile: `{"name":"kit","` + member + `":` + many + `}`, "skills/a/SKILL.md": "A\n"})
		if _, err := Wrap(d, ""); err == nil || !strings.Contains(err.Error(), "the limit is 1000") {
			t.Errorf("%s: %v", member, err)
		}
		if items, err := List(d); err != nil || len(items) != 2 {
			t.Errorf("%s: %+v, %v", member, items, err)
		}
	}
	for _, entry := range []string{
		`7`, `{}`, `{"name":"kit","source":"../up"}`, `{"name":"kit","source":"/abs"}`, `{"name":"kit","source":"file:///x"}`,
		`{"name":"kit","source":"a\\b"}`, `{"name":"kit","source":{"source":"url"}}`,
		`{"name":7,"source":{"source":"npm","package":"x"}}`, `{"name":"kit","source":{"source":{}}}`,
		`{"name":"kit","source":{"source":"git-subdir","url":"https://git.example.com/x","path":"../up"}}`, `{"name":7,"source":"./kit"}`,
		`{"name":"kit","source":"./kit","strict":false,"skills":{"a":"b"}}`, `{"name":"kit","source":[]}`,
	} {
		d := dir(map[string]string{marketFiles[0]: `{"plugins":[` + entry + `],"metadata":[]}`, "skills/a/SKILL.md": "A\n"})
		items, err := List(d)
		if err != nil || len(items) != 1 || items[0].Path != "skills/a" {
			t.Errorf("%s: %+v, %v", entry, items, err)
		}
	}
	var entries []string
	for i := range 5000 {
		entries = append(entries, fmt.Sprintf(`{"name":"kit-%d","source":{"source":"github","repo":"a/b"},"skills":%s}`, i, `["./a"]`))
	}
	d := dir(map[string]string{marketFiles[0]: `{"plugins":[` + strings.Join(entries, ",") + `]}`})
	if items, err := List(d); err != nil || len(items) != maxItems {
		t.Errorf("%d items, %v", len(items), err)
	}
}

// A skill that is there for several clients is one, if its files are; one that differs, has another name or cannot be
// wrapped is another.
func TestCopiesAreMarked(t *testing.T) {
	files := map[string]string{
		".agents/skills/a/SKILL.md": "---\nname: aa\n---\nA\n", ".agents/skills/a/x.md": "x",
		".claude/skills/a/SKILL.md": "---\nname: aa\n---\nA\n", ".claude/skills/a/x.md": "x",
		".cursor/skills/a/SKILL.md": "---\nname: aa\n---\nA\n", ".cursor/skills/a/x.md": "y",
		".gemini/skills/a/SKILL.md": "---\nname: bb\n---\nA\n", ".gemini/skills/a/x.md": "x",
		".qwen/skills/a/SKILL.md": "---\nname: aa\n---\nA\n", ".qwen/skills/a/x.md": "x",
	}
	d := Dir{Open: func(p string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[p])), nil },
		Links: map[string]string{".qwen/skills/a/up": "../../../x"}}
	for p, text := range files {
		d.Files = append(d.Files, tree.File{Path: p, Size: int64(len(text))})
	}
	items, err := List(d)
	if err != nil || len(items) != 5 {
		t.Fatalf("%+v, %v", items, err)
	}
	for i, want := range []bool{false, true, false, false, false} {
		if items[i].Copy != want {
			t.Errorf("%+v", items[i])
		}
	}
}
