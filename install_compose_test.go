package hallmark

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/project"
)

// put publishes an archive of a facet with these files.
func (w *facetWorld) put(name string, files map[string]string) {
	w.t.Helper()
	data := packed(w.t, files)
	sender := &client.Client{Base: w.registry.URL}
	if _, err := sender.PublishArchive(w.t.Context(), "facet", name,
		client.Upload{Body: bytes.NewReader(data), Size: int64(len(data))}); err != nil {
		w.t.Fatal(err)
	}
}

// want declares facets in place of those of hallmark.toml.
func (w *facetWorld) want(lines string) {
	text := w.read(project.ConfigFile)
	from, to := strings.Index(text, "[facets]\n")+len("[facets]\n"), strings.Index(text, "[adapters]")
	w.write(project.ConfigFile, text[:from]+lines+text[to:])
}

// A facet brings along others at exact versions, or parts of them: they are confirmed,
// locked and installed like those that are declared, and go with what brought them.
func TestComposition(t *testing.T) {
	w := newFacetWorld(t) // with kit 1.0.0
	w.publish("1.1.0", "Second.\n")
	w.put("tools", map[string]string{
		"facet.json": `{"name":"tools","version":"1.0.0","agents":{"one":{"description":"d"},` +
			`"two":{"description":"d"}},"commands":{"go":{"description":"d"}}}`,
		"agents/one.md": "1", "agents/two.md": "2", "commands/go.md": "3",
	})
	w.put("suite", map[string]string{
		"facet.json": `{"name":"suite","version":"1.0.0","facets":["kit@1.0.0",{"name":"tools","version":"1.0.0",` +
			`"agents":["one"]}]}`,
	})
	w.put("more", map[string]string{
		"facet.json": `{"name":"more","version":"1.0.0","facets":["suite@1.0.0",{"name":"tools","version":"1.0.0",` +
			`"commands":["go"]}]}`,
	})
	w.want("suite = \"*\"\n")
	out := w.must(w.install(facets.Options{}))
	if len(out.Facets) != 3 || len(out.Files) != 2 || w.read("tools/skills/greet/SKILL.md") != "First.\n" ||
		w.read("tools/agents/one.md") != "1" || w.read("tools/agents/two.md") != "" {
		t.Fatalf("%+v", out)
	}
	suite := w.entry("suite")
	if len(suite.Composes) != 2 || suite.Composes["kit"] != "1.0.0" || w.entry("kit").Proof == "" ||
		w.entry("tools").Version != "1.0.0" {
		t.Errorf("%+v", suite)
	}
	lock := w.read(project.LockFile)
	w.requests.Store(0)
	w.must(w.install(facets.Options{Frozen: true, Offline: true}))
	w.must(w.install(facets.Options{}))
	if w.requests.Load() != 0 || w.read(project.LockFile) != lock {
		t.Errorf("%d requests", w.requests.Load())
	}

	// Two that bring along parts of one get both parts, over several steps.
	w.want("more = \"*\"\n")
	out = w.must(w.install(facets.Options{}))
	if len(out.Facets) != 4 || w.read("tools/commands/go.md") != "3" || w.read("tools/agents/one.md") != "1" {
		t.Errorf("%+v", out)
	}
	// What nobody brings along any more is neither locked nor installed.
	w.want("kit = \"1.0.*\"\n")
	out = w.must(w.install(facets.Options{}))
	if len(out.Deleted) != 2 || strings.Contains(w.read(project.LockFile), "suite") ||
		w.read("tools/skills/greet/SKILL.md") == "" {
		t.Errorf("%+v", out)
	}
	lock = w.read(project.LockFile)

	w.put("broken",
		map[string]string{
			"facet.json": `{"name":"broken","version":"1.0.0","facets":[{"name":"tools","version":"1.0.0",` +
				`"agents":["nine"]}]}`})
	w.put("lost", map[string]string{"facet.json": `{"name":"lost","version":"1.0.0","facets":["gone@1.0.0"]}`})
	for name, c := range map[string]struct {
		want  string
		class evidence.Class
		text  string
	}{
		"another version": {"kit = \"1.1.0\"\nsuite = \"*\"\n", evidence.Refused,
			"suite@1.0.0 brings along version 1.0.0, and hallmark.toml wants 1.1.0"},
		"no such part":  {"broken = \"*\"\n", evidence.Validation, "has no agent nine, which broken@1.0.0 wants of it"},
		"no such facet": {"lost = \"*\"\n", evidence.Refused, "no confirmation"},
	} {
		w.want(c.want)
		_, err := w.install(facets.Options{})
		if err == nil || evidence.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
		if w.read(project.LockFile) != lock {
			t.Errorf("%s: the lock changed", name)
		}
	}
}

// A chain of facets that bring each other along, which a registry can make up without an
// end, is followed for a while and no longer.
func TestEndlessComposition(t *testing.T) {
	w := newFacetWorld(t)
	chain := func(i int, more string) {
		w.put(fmt.Sprintf("link-%d", i), map[string]string{
			"facet.json": fmt.Sprintf(
				`{"name":"link-%d","version":"1.0.0","commands":{"c%d":{"description":"d"}}%s}`, i, i, more),
			fmt.Sprintf("commands/c%d.md", i): "x",
		})
	}
	for i := range facets.MaxDepth + 1 {
		chain(i, fmt.Sprintf(`,"facets":["link-%d@1.0.0"]`, i+1))
	}
	chain(facets.MaxDepth+1, "")
	w.want("link-0 = \"*\"\n")
	_, err := w.install(facets.Options{})
	w.refused(evidence.Refused, err, "brought along by link-16@1.0.0", "more than 16 times")
	for _, file := range []string{project.LockFile, "tools/commands/c1.md"} {
		if w.read(file) != "" {
			t.Errorf("%s was written", file)
		}
	}
	w.want("link-1 = \"*\"\n")
	if out := w.must(w.install(facets.Options{})); len(out.Facets) != facets.MaxDepth+1 {
		t.Errorf("%d facets", len(out.Facets))
	}
}
