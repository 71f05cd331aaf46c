package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A strictness that was asked for and that nobody can check refuses, whatever else the
// host sets: it is never taken for one that holds.
func TestStrictnessIsOwed(t *testing.T) {
	good, err := ParseRegistered([]byte(`{"tools":[{"name":"ping","inputSchema":{"type":"object"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	named, err := ParseRegistered([]byte(`{"tools":["ping"]}`))
	if err != nil {
		t.Fatal(err)
	}
	none, err := ParseRegistered([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, capabilities := range []string{`"capabilities":{"tools":["ping"]}`, ``} {
		b, m := bundle(t, capabilities, nil)
		declared := capabilities != ""
		for i := range 1 << 7 {
			on := func(bit int) bool { return i&(1<<bit) != 0 }
			flags := Flags{on(0), on(1), false, on(2), on(3), on(4), on(5)}
			for name, r := range map[string]*Registered{"": nil, "good": good, "named": named, "none": none} {
				host := Host{Scan: scanLines, Flags: flags, Registered: r}
				if on(6) { // told by a function
					host.Registered, host.RegisteredBy = nil, func(*Manifest) (*Registered, error) { return r, nil }
				}
				got, err := Check(t.Context(), b, m, host)
				if err != nil {
					t.Fatal(err)
				}
				var missing []string
				for _, f := range got.Verdict.Findings {
					if f.Evidence.Outcome == evidence.Missing {
						missing = append(missing, fmt.Sprint(f.Evidence.Scheme, " ", f.Evidence.Owed, " ", f.Class))
					}
				}
				var want []string
				if flags.StrictCapabilities && r == nil {
					want = append(want, "capability [caller] policy")
				}
				if flags.StrictTools && (r == nil || name == "named") {
					want = append(want, "tool [caller] policy")
				}
				differ := r != nil && flags.StrictCapabilities && declared != (len(r.Tools) > 0)
				if !slices.Equal(missing, want) || got.Verdict.Allowed() != (len(want) == 0 && !differ) {
					t.Errorf("%q, registered %q, %+v: missing %q, want %q; %v", capabilities, name, flags, missing,
						want, got.Verdict.Err())
				}
				if len(want) > 0 &&
					(got.Verdict.Class() != evidence.Refused ||
						!strings.Contains(got.Verdict.Err().Error(), "hint: ")) {
					t.Errorf("%q, registered %q, %+v: %v", capabilities, name, flags, got.Verdict.Err())
				}
			}
		}
		wrong := errors.New("no such file")
		if _, err := Check(t.Context(), b, m,
			Host{Scan: scanLines,
				RegisteredBy: func(*Manifest) (*Registered, error) { return nil, wrong }}); !errors.Is(err, wrong) {
			t.Errorf("%v", err)
		}
	}
}

// With STRICT_INTEGRITY somebody must vouch for what is installed beside a plugin.
func TestInstalledExternalsAreOwed(t *testing.T) {
	const right = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
	for _, there := range []bool{false, true} {
		files := map[string]string{"dist/index.js": "require lodash"}
		if there {
			files["node_modules/lodash/index.js"] = "1"
		}
		b, m := bundle(t,
			`"dependenciesPolicy":"external-allowed","externalDependencies":[{"name":"lodash","version":"4.17.21",`+
				`"integrity":"`+right+`"}]`, files)
		for _, strict := range []bool{false, true} {
			for _, vouched := range [][]ExternalClaim{nil, {{"axios", "1.0.0", right, "x"}},
				{{"lodash", "4.17.21", right, "x"}}} {
				r, err := Check(t.Context(), b, m,
					Host{Scan: scanLines, ExternalClaims: vouched,
						Flags: Flags{AllowRuntimeDeps: true, StrictIntegrity: strict}})
				if err != nil {
					t.Fatal(err)
				}
				owed := there && strict && (len(vouched) == 0 || vouched[0].Name != "lodash")
				if r.Verdict.Allowed() == owed || owed && r.Verdict.Class() != evidence.Refused {
					t.Errorf("installed %v, strict %v, vouched %v: %v", there, strict, vouched, r.Verdict.Err())
				}
			}
		}
	}
}
