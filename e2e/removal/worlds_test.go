package removal

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/gittest"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// removalWorlds are the machines on which the campaign is led; those that need a platform add
// themselves.
var removalWorlds = map[string]func(*testing.T) *removalWorld{"facets": newRemovedFacets, "sources": newRemovedSources,
	"plugins":   newRemovedPlugins,
	"externals": newRemovedExternals,
	"monitor":   newRemovedMonitor, "journal": newRemovedJournal, "signature": newRemovedSignature}

// removalCampaigns are led in another way: what is removed is not in files of the machine.
var removalCampaigns = map[string]func(*testing.T, *harmlessTable, *seenMembers){"database": leadDatabase,
	"answers": leadAnswers}

// TestRemovals is the removal campaign (R10). It tries some of it, and 'make remove' everything.
func TestRemovals(t *testing.T) {
	table, seen := readHarmless(t), new(seenMembers)
	memory.Use(t)
	t.Run("worlds", func(t *testing.T) {
		for name, world := range removalWorlds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := world(t)
				w.name, w.table, w.seen = name, table, seen
				if w.commands == nil {
					w.commands = removalCommands()
				}
				w.campaign(w.commands)
			})
		}
		for name, lead := range removalCampaigns {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				lead(t, table, seen)
			})
		}
	})
	if !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		checkMembers(t, seen)
	}
	if sample.Whole() {
		for _, row := range table.unused() {
			t.Errorf("%s says why %s may be removed, and nothing needs that", harmlessFile, row)
		}
	}
}

// newRemovedFacets has facets of a registry with a log, one of which brings another along.
func newRemovedFacets(t *testing.T) *removalWorld {
	w := hosttest.NewFacetWorld(t)
	w.Put("tools", map[string]string{
		"facet.json": `{"name":"tools","version":"1.0.0","agents":{"one":{"description":"d"},` +
			`"two":{"description":"d"}}}`,
		"agents/one.md": "1", "agents/two.md": "2",
	})
	w.Put("suite", map[string]string{
		"facet.json": `{"name":"suite","version":"1.0.0","commands":{"go":{"description":"d"}},` +
			`"facets":["tools@1.0.0"]}`,
		"commands/go.md": "3",
	})
	w.Want("suite = \"1.*\"\n")
	w.Must(w.Install(facets.Options{}))
	return &removalWorld{FacetProject: w.FacetProject}
}

// newRemovedSources has facets of a repository and of a directory.
func newRemovedSources(t *testing.T) *removalWorld {
	w := gittest.New(t, `, branch = "main" }
ours = { path = "../ours"`)
	w.Push(".", "1.0.0", "Of a repository.\n")
	w.Write("../ours/facet.json", `{"name":"ours","version":"1.0.0","commands":{"stop":{"description":"d"}}}`)
	w.Write("../ours/commands/stop.md", "Stop.\n")
	w.Must(w.Install(facets.Options{}))
	return &removalWorld{FacetProject: w.FacetProject}
}

// newRemovedPlugins has a plugin that a trusted key signed, installed from its zip.
func newRemovedPlugins(t *testing.T) *removalWorld {
	r := hosttest.NewPluginRoom(t)
	state := filepath.Join(filepath.Dir(r.Dir), "state")
	if err := os.Rename(r.Host.Places.State, state); err != nil {
		t.Fatal(err)
	}
	r.Host.Places.State, r.Host.Places.Cache = state, filepath.Join(filepath.Dir(r.Dir), "cache")
	return removalOf(r, r.Install(r.Zip, plugin.Flags{RequireSignatures: true}), plugin.Flags{})
}

// newRemovedExternals has a plugin with an external package beside it, and what says so, accepted by a lock.
func newRemovedExternals(t *testing.T) *removalWorld {
	r := hosttest.NewPluginRoom(t)
	state := filepath.Join(filepath.Dir(r.Dir), "state")
	if err := os.Rename(r.Host.Places.State, state); err != nil {
		t.Fatal(err)
	}
	r.Host.Places.State, r.Host.Places.Cache = state, filepath.Join(filepath.Dir(r.Dir), "cache")
	if err := os.Remove(hosttest.TrustedKeysOf(r.Host)); err != nil { // nothing here is signed
		t.Fatal(err)
	}
	sum := "sha512-" + strings.Repeat("A", 86) + "=="
	dir := filepath.Join(r.Dir, "ext@1.0.0")
	hosttest.WritePlugin(t, dir, "ext", map[string]any{"dependenciesPolicy": "external-allowed",
		"externalDependencies": []any{
			map[string]any{"name": "left", "version": "1.0.0", "integrity": sum}}}, map[string]string{
		"dist/index.js": "require('left')", "node_modules/left/index.js": "1",
		"node_modules/left/package.json": `{"name":"left","version":"1.0.0"}`,
		"node_modules/.package-lock.json": `{"name":"hallmark-closure","lockfileVersion":3,"requires":true,` +
			`"packages":{"node_modules/left":{"version":"1.0.0","integrity":"` + sum + `"}}}`})
	if _, err := plugins.Hash(t.Context(), dir, plugins.HashOptions{Write: true}); err != nil {
		t.Fatal(err)
	}
	flags := plugin.Flags{AllowRuntimeDeps: true, StrictIntegrity: true}
	in, err := plugins.Lock(t.Context(), r.Host, dir, plugins.Options{Flags: flags})
	if err == nil {
		err = in.Result.Verdict.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return removalOf(r, in.Path, flags)
}

// removal is the campaign on a machine with one plugin, which was installed there, under the flags of its host;
// without any it is signed.
func removalOf(r *hosttest.PluginRoom, installed string, flags plugin.Flags) *removalWorld {
	t, signed := r.T, flags
	signed.RequireSignatures = flags == plugin.Flags{}
	revalidate := func(flags plugin.Flags) func(*removalWorld, *host.Host, string) error {
		return func(_ *removalWorld, h *host.Host, _ string) error {
			_, err := r.Class(h, flags)
			return err
		}
	}
	verify := func(flags plugin.Flags) func(*removalWorld, *host.Host, string) error {
		return func(_ *removalWorld, h *host.Host, _ string) error {
			result, err := plugins.Verify(t.Context(), h, installed, plugins.Options{Flags: flags})
			if err == nil {
				err = result.Verdict.Err()
			}
			return err
		}
	}
	own := []string{"plugins/*/mcp-plugin.json", "plugins/*/dist/**", "plugins/*/mcp-plugin.sig",
		"state/trusted-keys.json"}
	return &removalWorld{FacetProject: &hosttest.FacetProject{T: t, Dir: r.Dir, Host: r.Host}, commands: []removalCommand{
		{name: "plugin revalidate", run: revalidate(flags)},
		{name: "plugin revalidate, signatures required", run: revalidate(signed)},
		{name: "plugin verify", uses: own[:3], run: verify(flags)},
		{name: "plugin verify, signatures required", uses: own, run: verify(signed)},
		{name: "fresh plugin revalidate", fresh: true, run: revalidate(flags)},
	}}
}
