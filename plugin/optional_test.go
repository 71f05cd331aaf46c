package plugin

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A package that the code does without is a warning while it is not declared, if that is so wherever the
// code asks for it.
func TestOptionalImport(t *testing.T) {
	for name, optional := range map[string][]bool{"one": {true}, "both": {true, true}, "one of two": {true, false},
		"none": {false}} {
		scan := func(string, []byte) (found []Import, err error) {
			for _, o := range optional {
				found = append(found, Import{Kind: Require, Specifier: "bufferutil", Optional: o})
			}
			return found, nil
		}
		b, m := bundle(t, "", nil)
		r, err := Check(t.Context(), b, m, Host{Scan: scan})
		if err != nil {
			t.Fatal(err)
		}
		warned := false
		for _, f := range r.Verdict.Findings {
			if f.Evidence.Scheme == evidence.Import && f.Warning {
				warned = f.Evidence.Observed.Text == "bufferutil" &&
					strings.Contains(f.Evidence.Reason, `"optional": true`)
			}
		}
		want := name == "one" || name == "both"
		if warned != want || r.Verdict.Allowed() != want {
			t.Errorf("%s: warned %v, allowed %v: %v", name, warned, r.Verdict.Allowed(), r.Verdict.Err())
		}
		if strict, err := Check(t.Context(), b, m, Host{Scan: scan, Strict: true}); err != nil || strict.Verdict.Allowed() {
			t.Errorf("%s: allowed under --strict: %v", name, err)
		}
	}
}
