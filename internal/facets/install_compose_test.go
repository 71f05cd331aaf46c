package facets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// A facet brings along others at exact versions, or parts of them: they are confirmed,
// locked and installed like those that are declared, and go with what brought them.
func TestComposition(t *testing.T) {
	w := hosttest.NewFacetWorld(t) // with kit 1.0.0
	w.Publish("1.1.0", "Second.\n")
	w.Put("tools", map[string]string{
		"facet.json": `{"name":"tools","version":"1.0.0","agents":{"one":{"description":"d"},` +
			`"two":{"description":"d"}},"commands":{"go":{"description":"d"}}}`,
		"agents/one.md": "1", "agents/two.md": "2", "commands/go.md": "3",
	})
	w.Put("suite", map[string]string{
		"facet.json": `{"name":"suite","version":"1.0.0","facets":["kit@1.0.0",{"name":"tools","version":"1.0.0",` +
			`"agents":["one"]}]}`,
	})
	w.Put("more", map[string]string{
		"facet.json": `{"name":"more","version":"1.0.0","facets":["suite@1.0.0",{"name":"tools","version":"1.0.0",` +
			`"commands":["go"]}]}`,
	})
	w.Want("suite = \"*\"\n")
	out := w.Must(w.Install(facets.Options{}))
	if len(out.Facets) != 3 || len(out.Files) != 2 || w.Read("tools/skills/greet/SKILL.md") != "First.\n" ||
		w.Read("tools/agents/one.md") != "1" || w.Read("tools/agents/two.md") != "" {
		t.Fatalf("%+v", out)
	}
	suite := w.Entry("suite")
	if len(suite.Composes) != 2 || suite.Composes["kit"] != "1.0.0" || w.Entry("kit").Proof == "" ||
		w.Entry("tools").Version != "1.0.0" {
		t.Errorf("%+v", suite)
	}
	lock := w.Read(project.LockFile)
	w.Requests.Store(0)
	w.Must(w.Install(facets.Options{Frozen: true, Offline: true}))
	w.Must(w.Install(facets.Options{}))
	if w.Requests.Load() != 0 || w.Read(project.LockFile) != lock {
		t.Errorf("%d requests", w.Requests.Load())
	}

	// Two that bring along parts of one get both parts, over several steps.
	w.Want("more = \"*\"\n")
	out = w.Must(w.Install(facets.Options{}))
	if len(out.Facets) != 4 || w.Read("tools/commands/go.md") != "3" || w.Read("tools/agents/one.md") != "1" {
		t.Errorf("%+v", out)
	}
	// What nobody brings along any more is neither locked nor installed.
	w.Want("kit = \"1.0.*\"\n")
	out = w.Must(w.Install(facets.Options{}))
	if len(out.Deleted) != 2 || strings.Contains(w.Read(project.LockFile), "suite") ||
		w.Read("tools/skills/greet/SKILL.md") == "" {
		t.Errorf("%+v", out)
	}
	lock = w.Read(project.LockFile)

	// It stays remembered, so that it does not come back as another one, until a person forgets it.
	w.Want("kit = \"1.0.*\"\nsuite = \"*\"\n")
	if _, err := w.Install(facets.Options{}); evidence.ClassOf(err) != evidence.Refused ||
		!strings.Contains(err.Error(), "'hallmark forget suite'") {
		t.Errorf("it is declared again: %v", err)
	}
	if err := workspace.Forget(t.Context(), w.Host, w.Dir, []string{"suite"}); err != nil {
		t.Fatal(err)
	}

	w.Put("broken",
		map[string]string{
			"facet.json": `{"name":"broken","version":"1.0.0","facets":[{"name":"tools","version":"1.0.0",` +
				`"agents":["nine"]}]}`})
	w.Put("lost", map[string]string{"facet.json": `{"name":"lost","version":"1.0.0","facets":["gone@1.0.0"]}`})
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
		w.Want(c.want)
		_, err := w.Install(facets.Options{})
		if err == nil || evidence.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
		if w.Read(project.LockFile) != lock {
			t.Errorf("%s: the lock changed", name)
		}
	}
}

// A chain of facets that bring each other along, which a registry can make up without an
// end, is followed for a while and no longer.
func TestEndlessComposition(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	chain := func(i int, more string) {
		w.Put(fmt.Sprintf("link-%d", i), map[string]string{
			"facet.json": fmt.Sprintf(
				`{"name":"link-%d","version":"1.0.0","commands":{"c%d":{"description":"d"}}%s}`, i, i, more),
			fmt.Sprintf("commands/c%d.md", i): "x",
		})
	}
	for i := range facets.MaxDepth + 1 {
		chain(i, fmt.Sprintf(`,"facets":["link-%d@1.0.0"]`, i+1))
	}
	chain(facets.MaxDepth+1, "")
	w.Want("link-0 = \"*\"\n")
	_, err := w.Install(facets.Options{})
	w.Refused(evidence.Refused, err, "brought along by link-16@1.0.0", "more than 16 times")
	for _, file := range []string{project.LockFile, "tools/commands/c1.md"} {
		if w.Read(file) != "" {
			t.Errorf("%s was written", file)
		}
	}
	w.Want("link-1 = \"*\"\n")
	if out := w.Must(w.Install(facets.Options{})); len(out.Facets) != facets.MaxDepth+1 {
		t.Errorf("%d facets", len(out.Facets))
	}
}
