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
		`{"name":"kit","source":"a\\b"}`, `{"name":"kit","source":{"source":"url"}}`, `{"name":"kit","source":{"source":"npm","package":"x"}}`,
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
