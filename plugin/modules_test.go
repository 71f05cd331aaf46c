package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Under STRICT_INTEGRITY somebody vouches for each external package that lies beside the plugin, optional or
// not. An optional one that is not there owes nothing.
func TestOptionalIntegrity(t *testing.T) {
	other := ExternalClaim{Name: "b", Version: "1.0.0", Integrity: "sha512-" + strings.Repeat("A", 86) + "==", From: "x"}
	for _, c := range []struct {
		beside   string
		optional bool
		claims   []ExternalClaim
		owed     bool
	}{
		{"node_modules/a/index.js", true, nil, true},
		{"node_modules/a/index.js", true, []ExternalClaim{other}, true},
		{"node_modules/a/index.js", false, []ExternalClaim{other}, true},
		{"node_modules/b/index.js", true, []ExternalClaim{other}, false},
		{"node_modules/b/index.js", false, []ExternalClaim{other}, true},
	} {
		b, m := bundle(t, fmt.Sprintf(`"dependenciesPolicy": "external-allowed",
			"externalDependencies": [{"name": "a", "version": "1.0.0", "optional": %v}]`, c.optional),
			map[string]string{c.beside: "1"})
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, ExternalClaims: c.claims,
			Flags: Flags{AllowRuntimeDeps: true, StrictIntegrity: true}})
		if err != nil {
			t.Fatal(err)
		}
		owed := slices.ContainsFunc(r.Verdict.Refused(), func(f policy.Finding) bool {
			return f.Evidence.Where == "STRICT_INTEGRITY" && f.Evidence.Outcome == evidence.Missing
		})
		if owed != c.owed {
			t.Errorf("%+v: owed is %v: %v", c, owed, r.Verdict.Err())
		}
	}
}

// What loads a native addon needs the host's word, however its file is named.
func TestComputedNative(t *testing.T) {
	for _, computed := range []bool{false, true} {
		scan := func(string, []byte) ([]Import, error) {
			return []Import{{Kind: Native, Specifier: "dir + name", Computed: computed}}, nil
		}
		b, m := bundle(t, "", nil)
		for _, allowed := range []bool{false, true} {
			r, err := Check(t.Context(), b, m, Host{Scan: scan, Flags: Flags{AllowNative: allowed, SandboxAvailable: allowed}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict.Allowed() != allowed {
				t.Errorf("computed %v, permitted %v: %v", computed, allowed, r.Verdict.Err())
			}
		}
	}
}

// Of very many members that others added, the first are named and the rest is counted.
func TestManyFurther(t *testing.T) {
	for n, want := range map[int]int{maxFurther: maxFurther, maxFurther + 1: maxFurther + 1, maxFurther + 30: maxFurther + 1} {
		var members strings.Builder
		for i := range n {
			fmt.Fprintf(&members, `"further%d": 1,`, i)
		}
		b, m := bundle(t, strings.TrimSuffix(members.String(), ","), nil)
		r, err := CheckFiles(t.Context(), b, m)
		if err != nil || len(m.Further) != n {
			t.Fatal(len(m.Further), err)
		}
		got, counted := 0, ""
		for _, f := range r.Verdict.Findings {
			if f.Evidence.Scheme == evidence.Form {
				got++
				if f.Evidence.Observed.Text == "" {
					counted = f.Evidence.Reason
				}
			}
		}
		if got != want || (counted != "") != (n > maxFurther) || counted != "" && !strings.Contains(counted, fmt.Sprint(n-maxFurther)) {
			t.Errorf("of %d members %d are named or counted, %q", n, got, counted)
		}
	}
}
