package plugins

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// Only what is optional is left out.
func TestLeftOut(t *testing.T) {
	ref, err := artifact.NewNPM("a", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	order := externalsOrder{refs: map[string]artifact.Ref{"a": ref}}
	elsewhere := map[artifact.Ref]bool{ref: true}
	for _, optional := range []bool{true, false} {
		m := &plugin.Manifest{Externals: []plugin.External{{Name: "a", Version: "1.0.0", Optional: optional}}}
		x := &Externals{}
		err := x.noteLeftOut(t.Context(), nil, m, order, nil, elsewhere)
		if left := len(x.LeftOut) == 1; left != optional || (err == nil) != optional {
			t.Errorf("optional %v: left out %v, %v", optional, x.LeftOut, err)
		} else if err != nil && evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("the class is %v", evidence.ClassOf(err))
		}
		if err := x.noteLeftOut(t.Context(), nil, m, order, elsewhere, nil); err != nil {
			t.Errorf("installed: %v", err)
		}
	}
}
