package kind

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// writeAdvisories makes DIR/ECOSYSTEM/all.zip of documents about versions of packages, by id.
func writeAdvisories(t *testing.T, dir, ecosystem string, about map[string][2]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, ecosystem), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, ecosystem, "all.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for id, x := range about {
		w, err := z.Create(id + ".json")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(w, `{"id": %q, "summary": %q, "affected": [{"package": {"ecosystem": %q, "name": %q}, "versions": [%q]}]}`,
			id, strings.Repeat("long ", 2000), ecosystem, x[0], x[1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAdvisoryEvidence: each package that this system needs is looked up, of every ecosystem; the database is read once,
// and one that is not there refuses only what needs it.
func TestAdvisoryEvidence(t *testing.T) {
	w := newWorkspace(t, nil)
	w.Dir = t.TempDir()
	pypi := closureOf(t, "pypi:notes==1.0.0", "pypi:Zope.Interface==2.0")
	if got, err := advisoryEvidence(t.Context(), w, "s", pypi); err != nil || got != nil {
		t.Errorf("without the key: %v, %v", got, err)
	}
	w.Config.Policy.Advisories = "osv"
	writeAdvisories(t, w.Path("osv"), "PyPI", map[string][2]string{"PYSEC-1": {"zope_interface", "2.0.0"}, "X-2": {"notes", "2.0.0"}})
	writeAdvisories(t, w.Path("osv"), "Go", map[string][2]string{"MAL-1": {"example.com/b", "1.2.0"}})
	golang := closureOf(t, "go:example.com/a@v1.0.0", "go:example.com/b@v1.2.0")
	npm := closureOf(t, "npm:a@1.0.0")
	for range 2 {
		for _, c := range []struct {
			of      *project.Closure
			want    []string
			verdict string
		}{
			{pypi, []string{"pypi:Zope.Interface==2.0: advisory mismatch", "pypi:notes==1.0.0: malware match"}, "ok"},
			{golang, []string{"go:example.com/b@v1.2.0: malware mismatch", "go:example.com/a@v1.0.0: advisory match"}, "policy"},
			{npm, []string{"osv/npm/all.zip: advisory cannot be verified: not found"}, "operation"},
		} {
			report, err := advisoryEvidence(t.Context(), w, "s", c.of)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range report {
				got = append(got, e.Title())
				if len(e.Reason) > document.MaxReason+100 {
					t.Errorf("a reason of %d bytes", len(e.Reason))
				}
			}
			for _, flow := range []policy.Flow{policy.Pin, policy.Check} {
				if v := policy.Judge(flow, policy.Settings{}, report); !slices.Equal(got, c.want) || v.Class().String() != c.verdict {
					t.Errorf("%s: %q, %s, want %q, %s", flow, got, v.Class(), c.want, c.verdict)
				}
			}
		}
		if err := os.RemoveAll(w.Path("osv")); err != nil { // what was opened is not asked again
			t.Fatal(err)
		}
	}
	other := closureOf(t, "npm:a@1.0.0", "npm:b@1.0.0")
	other.Packages[1].Optional, other.Packages[1].OS = true, []string{"plan9"}
	w = newWorkspace(t, nil)
	w.Config.Policy.Advisories = t.TempDir() // absolute
	writeAdvisories(t, w.Config.Policy.Advisories, "npm", map[string][2]string{"MAL-1": {"b", "1.0.0"}})
	report, err := advisoryEvidence(t.Context(), w, "s", other)
	if err != nil || len(report) != 2 || !policy.Judge(policy.Pin, policy.Settings{}, report).Allowed() {
		t.Errorf("a package of another system: %v, %v", report, err)
	}
}

func closureOf(t *testing.T, refs ...string) *project.Closure {
	t.Helper()
	c := new(project.Closure)
	for _, text := range refs {
		c.Packages = append(c.Packages, project.ClosurePackage{Ref: mustRef(t, text)})
	}
	c.Root = c.Packages[0].Ref
	return c
}
