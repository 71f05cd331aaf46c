package installed

import (
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/facet"
)

// A facet that is brought along is installed with the parts that are wanted of it; one that
// hallmark.toml declares, which has no selection, with all.
func TestSelection(t *testing.T) {
	greet := facet.Deliverable{Kind: facet.KindSkill, Name: "greet"}
	wave := facet.Deliverable{Kind: facet.KindCommand, Name: "greet"}
	var all *Selection
	all.Add(facet.Composed{Skills: []string{"other"}})
	if !all.Has(greet) || len(all.Lacking(nil)) != 0 {
		t.Error("without a selection a part is left out")
	}
	some := &Selection{}
	some.Add(facet.Composed{Skills: []string{"greet", "zero"}})
	some.Add(facet.Composed{Agents: []string{"helper"}})
	if !some.Has(greet) || some.Has(wave) {
		t.Error("other parts than the wanted ones are chosen")
	}
	if lacking := some.Lacking([]facet.Deliverable{greet, wave}); !slices.Equal(lacking, []string{"agent helper", "skill zero"}) {
		t.Errorf("lacking: %q", lacking)
	}
	some.Add(facet.Composed{})
	if !some.Has(wave) || len(some.Lacking(nil)) != 0 {
		t.Error("a facet that is wanted as a whole lacks a part")
	}
}
