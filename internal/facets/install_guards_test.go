package facets_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/obtain"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/project"
)

// That a file has the bytes which were installed here once does not make it ours: what no
// receipt names is not overwritten, and nothing of it is deleted.
func TestKnownButNotOurs(t *testing.T) {
	for name, change := range map[string]func(p *hosttest.FacetProject){
		"no receipt": func(p *hosttest.FacetProject) { os.Remove(receiptFile(p)) },
		"a receipt of another project": func(p *hosttest.FacetProject) {
			rewriteReceipt(p, func(r *machine.Receipt) { r.Project = "/elsewhere" })
		},
		"a receipt without the facet": func(p *hosttest.FacetProject) {
			rewriteReceipt(p, func(r *machine.Receipt) { delete(r.Facets, "kit") })
		},
	} {
		p := hosttest.NewFacetProject(t, localKit)
		p.Kit("kit", "1.0.0", "Hello.\n")
		p.Must(p.Install(facets.Options{}))
		change(p)
		p.Kit("kit", "1.1.0", "Hello again.\n")
		before := p.All()
		_, err := p.Install(facets.Options{})
		p.Refused(evidence.Refused, err, "2 files that Hallmark did not write", ".claude/skills/greet/SKILL.md",
			"tools/skills/greet/SKILL.md")
		if p.All() != before {
			t.Errorf("%s: something was written", name)
		}
		out := p.Must(p.Install(facets.Options{Force: true}))
		if len(out.Files) != 2 || !strings.Contains(p.Read("tools/skills/greet/SKILL.md"), "again") {
			t.Errorf("%s: %q", name, out.Files)
		}
	}
}

// materialized is the file that has the digests of what was installed.
func materialized(p *hosttest.FacetProject) string {
	p.T.Helper()
	found, err := filepath.Glob(filepath.Join(p.Host.Places.State, "materialized", "*.json"))
	if err != nil || len(found) != 1 {
		p.T.Fatalf("materialized: %q %v", found, err)
	}
	return found[0]
}

// An installed file of which no digest is known may be edited: it is neither replaced nor
// deleted without --force, and stays unknown until it is what is to be there.
func TestOursButUnknown(t *testing.T) {
	changed := []string{".claude/skills/greet/SKILL.md", "tools/skills/greet/SKILL.md"}
	for name, change := range map[string]func(p *hosttest.FacetProject){
		"none":    func(p *hosttest.FacetProject) { os.Remove(materialized(p)) },
		"damaged": func(p *hosttest.FacetProject) { os.WriteFile(materialized(p), []byte("{"), 0o600) },
	} {
		ready := func() *hosttest.FacetProject {
			p := hosttest.NewFacetProject(t, localKit)
			p.Kit("kit", "1.0.0", "Hello.\n")
			p.Must(p.Install(facets.Options{}))
			change(p)
			return p
		}
		p := ready()
		out, err := facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{})
		p.Must(out, err)
		if len(out.Kept) != 8 || len(out.Deleted) != 0 || p.Read(changed[1]) != "# Greet\nHello.\n" {
			t.Errorf("%s: removal keeps %q, deletes %q", name, out.Kept, out.Deleted)
		}

		p = ready()
		p.Kit("kit", "1.1.0", "Hello again.\n")
		for range 2 {
			if out := p.Must(p.Install(facets.Options{})); !slices.Equal(out.Kept, changed) || len(out.Files) != 0 ||
				p.Read(changed[1]) != "# Greet\nHello.\n" {
				t.Errorf("%s: keeps %q, writes %q", name, out.Kept, out.Files)
			}
		}
		if data, err := os.ReadFile(materialized(p)); err != nil || strings.Contains(string(data), "SKILL.md") ||
			!strings.Contains(string(data), "wave.md") {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
		out, err = facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{})
		p.Must(out, err)
		if !slices.Equal(out.Kept, changed) || len(out.Deleted) != 6 {
			t.Errorf("%s: removal keeps %q, deletes %q", name, out.Kept, out.Deleted)
		}

		p = ready()
		out, err = facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{Force: true})
		p.Must(out, err)
		if len(out.Deleted) != 8 || out.Verdict.Report().Count(evidence.Waived) != 8 {
			t.Errorf("%s: %q, %v", name, out.Deleted, out.Verdict.Report())
		}
	}
}

// --force is named in the report for what was edited, and for nothing else.
func TestForceOfUnedited(t *testing.T) {
	p := hosttest.NewFacetProject(t, localKit)
	p.Kit("kit", "1.0.0", "Hello.\n")
	p.Must(p.Install(facets.Options{}))
	p.Write("tools/commands/wave.md", "my own\n")
	out, err := facets.Remove(t.Context(), p.Host, p.Dir, []string{"kit"}, facets.Options{Force: true})
	p.Must(out, err)
	var forced []string
	for _, e := range out.Verdict.Report() {
		if e.Outcome == evidence.Waived {
			forced = append(forced, e.Subject)
		}
	}
	if !slices.Equal(forced, []string{"tools/commands/wave.md"}) || len(out.Deleted) != 8 {
		t.Errorf("forced %q, deleted %q", forced, out.Deleted)
	}
}

// The store may change between its audit and the moment at which a file is read to be
// written: the file is hashed once more, as it is and as a client wants it.
func TestStoreChangesAfterAudit(t *testing.T) {
	for _, c := range []struct{ target, file string }{
		{"dir:tools", "skills/greet/SKILL.md"}, {"dir:tools", "agents/helper.md"},
		{"claude-code", "skills/greet/SKILL.md"}, {"codex", "agents/helper.md"},
	} {
		p := hosttest.NewFacetProject(t, "[facets]\nkit = { path = \"kit\" }\n[adapters]\ntargets = [\""+c.target+"\"]\n")
		p.Kit("kit", "1.0.0", "Hello.\n")
		w, done, err := workspace.Open(t.Context(), p.Host, p.Dir, true)
		if err != nil {
			t.Fatal(err)
		}
		a, err := facets.NewAssembly(w, facets.Options{}, facets.Anew{})
		if err == nil {
			err = a.Gather(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		parts, err := a.Compose()
		if err != nil {
			t.Fatal(err)
		}
		adm := a.Verdict().Admitted()
		if _, err := a.PlanFiles(adm, parts); err != nil {
			t.Fatal(err)
		}
		p.Overwrite(p.SlotFile("content/"+c.file), hosttest.Flipped)
		_, err = a.PlanFiles(adm, parts)
		p.Refused(evidence.Integrity, err, "kit@1.0.0/"+c.file, "changed in the store after the audit")
		slot := a.Pieces["kit"].Slot
		if _, err := obtain.ReadManifest(slot, "kit", "1.0.0"); err != nil {
			t.Error(err)
		}
		p.Overwrite(p.SlotFile("content/facet.json"), hosttest.Flipped)
		_, err = obtain.ReadManifest(slot, "kit", "1.0.0")
		p.Refused(evidence.Integrity, err, "kit@1.0.0", "facet.json changed after the audit")
		done()
	}
}

// The manifest in the archive is the one that the registry shows, also of a facet that is
// locked: there the log has confirmed nothing in this operation.
func TestOtherManifestOfLocked(t *testing.T) {
	for _, o := range []facets.Options{{}, {Frozen: true}} {
		w := hosttest.NewFacetWorld(t)
		w.Must(w.Install(facets.Options{}))
		w.EmptyStore()
		before := w.Read(project.LockFile)
		w.Wire(hosttest.ChangeRecord(t, map[string]any{"manifest": map[string]any{"name": "kit", "version": "1.0.0"}}))
		_, err := w.Install(o)
		w.Refused(evidence.Integrity, err, "kit@1.0.0: document mismatch", "the registry's record, manifest")
		if found, _ := filepath.Glob(filepath.Join(w.Host.Places.Cache, "store", "sha256", "*", "*")); len(found) > 0 ||
			w.Read(project.LockFile) != before {
			t.Errorf("something was kept: %q", found)
		}
		w.Wire(nil)
		w.Must(w.Install(o))
	}
}

// A facet that is added without a requirement gets one for the versions that are to be
// compatible with the newest: before 1.0.0 those of one minor version.
func TestAddWithoutRequirement(t *testing.T) {
	for newest, want := range map[string]string{"0.3.1": "0.3.*", "0.0.2": "0.0.*", "1.4.2": "1.*", "10.0.0": "10.*"} {
		w := hosttest.NewFacetWorld(t)
		w.Put("tools",
			map[string]string{
				"facet.json":     `{"name":"tools","version":"` + newest + `","commands":{"go":{"description":"d"}}}`,
				"commands/go.md": "1"})
		out, err := facets.Add(t.Context(), w.Host, w.Dir, project.Facet{Name: "tools"}, facets.Options{})
		w.Must(out, err)
		config, err := project.ParseConfig([]byte(w.Read(project.ConfigFile)))
		if err != nil || config.Facets["tools"].Requirement.String() != want || w.Entry("tools").Version != newest {
			t.Errorf("%s: %q, %v", newest, config.Facets["tools"].Requirement.String(), err)
		}
	}
}
