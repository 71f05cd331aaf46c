package plugin

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// What the manifest claims of an external package is set beside what a package-lock.json
// says of the one that is installed.
func TestExternalIntegrity(t *testing.T) {
	h := digest.NewHasher(digest.SHA512)
	h.Write([]byte("lodash"))
	right := h.Digest(digest.SHA512).SRI()
	h.Write([]byte("!"))
	wrong := h.Digest(digest.SHA512).SRI()
	lock := func(version, integrity string) string {
		return `{"lockfileVersion":3,"packages":{"":{},"node_modules/lodash":{"version":"` + version +
			`","integrity":"` + integrity + `"},"node_modules/a/node_modules/lodash":{"version":"1.0.0"}}}`
	}
	for _, c := range []struct {
		name, integrity, lock string
		strict                bool
		want                  evidence.Class
	}{
		{"the same", right, lock("4.17.21", right), false, evidence.OK},
		{"another", right, lock("4.17.21", wrong), false, evidence.Integrity},
		{"another version", right, lock("4.17.20", right), false, evidence.Integrity},
		{"none claimed", "", lock("4.17.21", right), false, evidence.OK},
		{"none claimed, strict", "", lock("4.17.21", right), true, evidence.Integrity},
		{"none in the lock, strict", right, lock("4.17.21", ""), true, evidence.Integrity},
		{"not installed", right, `{}`, true, evidence.OK},
		{"malformed", "sha512-!", lock("4.17.21", right), true, evidence.Integrity},
	} {
		member := `"dependenciesPolicy":"external-allowed","externalDependencies":[{"name":"lodash","version":"4.17.21"`
		if c.integrity != "" {
			member += `,"integrity":"` + c.integrity + `"`
		}
		b, m := bundle(t, member+"}]", map[string]string{"dist/index.js": "require lodash"})
		vouched, err := ParsePackageLock([]byte(c.lock))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(t.Context(), b, m,
			Host{Scan: scanLines, ExternalClaims: vouched,
				Flags: Flags{AllowRuntimeDeps: true, StrictIntegrity: c.strict}})
		if err != nil || r.Verdict.Class() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.name, r.Verdict.Err(), err, c.want)
		}
	}
}

// Evidence comes in the order of the verification flow.
func TestEvidenceOrder(t *testing.T) {
	b, m := bundle(t, `"capabilities":{"tools":["a"]},"permissions":{"fsRead":true}`,
		map[string]string{"dist/index.js": "require fs"})
	r, err := Check(t.Context(), b, m,
		Host{Scan: scanLines, Registered: &Registered{Tools: []RegisteredTool{{Name: "a", named: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Verdict.Findings {
		if s := string(f.Evidence.Scheme); len(got) == 0 || got[len(got)-1] != s {
			got = append(got, s)
		}
	}
	if want := "dist tree extent file coverage import permission signature statement capability tool"; strings.Join(got,
		" ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
