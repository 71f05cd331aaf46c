package check_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
)

// What is explained of a facet is what check finds of it, no more and no less, and each link can be checked.
func TestExplainFacet(t *testing.T) {
	w := hosttest.NewFacetWorld(t)
	w.Must(w.Install(facets.Options{}))
	skill := w.Path("tools/skills/greet/SKILL.md")
	for _, c := range []struct {
		name   string
		change func()
		class  evidence.Class
		states string
	}{
		{"as installed", func() {}, evidence.OK,
			"declaration match, publisher match, log match, bytes match, files match, approval kept"},
		{"edited", func() { w.Done(os.WriteFile(skill, []byte("Other.\n"), 0o600)) }, evidence.Integrity,
			"files mismatch"},
		{"gone", func() { w.Done(os.Remove(skill)) }, evidence.Refused, "files missing"},
		{"another machine", func() { w.Host.Places.State, w.Host.Places.Cache = t.TempDir(), t.TempDir() }, evidence.OK,
			"bytes unverifiable, approval absent"},
	} {
		c.change()
		out, err := check.Explain(t.Context(), w.Host, w.Dir, "kit")
		if err != nil {
			t.Fatal(c.name, err)
		}
		var states []string
		var linked evidence.Report
		for _, link := range out.Chains[0].Links {
			states, linked = append(states, link.Step+" "+string(link.State)), append(linked, link.Report...)
			if link.Text == "" || link.Check == "" {
				t.Errorf("%s: %+v", c.name, link)
			}
		}
		for _, want := range strings.Split(c.states, ", ") {
			if !slices.Contains(states, want) {
				t.Errorf("%s: no %s in %q", c.name, want, states)
			}
		}
		if out.Class() != c.class {
			t.Errorf("%s: %s, %v; want %s", c.name, out.Class(), out.Err(), c.class)
		}
		if got, want := rowsOf(linked), rowsOf(out.Report()); !slices.Equal(got, want) || len(linked) != len(out.Report()) {
			t.Errorf("%s: links have\n%s\nand there are\n%s", c.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		checked, err := check.Check(t.Context(), w.Host, w.Dir, check.Options{Offline: true})
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got, want := rowsOf(out.Report()), rowsOf(checked.Each[0].Report); !slices.Equal(got, want) {
			t.Errorf("%s: explained\n%s\nchecked\n%s", c.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if _, err := check.Explain(t.Context(), w.Host, w.Dir, "other"); evidence.ClassOf(err) != evidence.Validation {
		t.Error(err)
	}
}

// rowsOf are what a report is about, sorted.
func rowsOf(report evidence.Report) (rows []string) {
	for _, e := range report {
		rows = append(rows, e.Subject+" "+string(e.Scheme)+" "+string(e.Authority)+" "+string(e.Outcome))
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}
