package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// Each policy of a plugin, under each set of rights and lists that a host may have.
func TestPolicies(t *testing.T) {
	const flag, box = "PLUGIN_ALLOW_RUNTIME_DEPS", "SANDBOX_AVAILABLE"
	lists := map[string]*Allowlist{"": nil}
	for name, text := range map[string]string{"right": `["lodash"]`, "version": `{"dependencies":{"lodash":"4.17.21"}}`,
		"other version": `{"dependencies":{"lodash":"4.17.20"}}`, "other": `["axios"]`, "empty": `[]`} {
		a, err := ParseAllowlist([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		lists[name] = a
	}
	const (
		none     = ``
		declared = `,"externalDependencies":[{"name":"lodash","version":"4.17.21"}]`
	)
	for _, c := range []struct {
		policy   Policy
		declared string
		imports  bool
		want     func(flags Flags, list string) bool // allowed
	}{
		{BundledOnly, none, false, func(Flags, string) bool { return true }},
		{BundledOnly, none, true, func(Flags, string) bool { return false }},
		{BundledOnly, declared, false, func(Flags, string) bool { return false }},
		{BundledOnly, declared, true, func(Flags, string) bool { return false }},
		{ExternalAllowed, none, false, func(Flags, string) bool { return true }},
		{ExternalAllowed, none, true, func(Flags, string) bool { return false }},
		{ExternalAllowed, declared, false, func(f Flags, _ string) bool { return f.AllowRuntimeDeps }},
		{ExternalAllowed, declared, true, func(f Flags, _ string) bool { return f.AllowRuntimeDeps }},
		{ExternalAllowlist, none, false, func(Flags, string) bool { return true }},
		{ExternalAllowlist, none, true, func(Flags, string) bool { return false }},
		{ExternalAllowlist, declared, false,
			func(f Flags, list string) bool { return f.AllowRuntimeDeps && (list == "right" || list == "version") }},
		{ExternalAllowlist, declared, true,
			func(f Flags, list string) bool { return f.AllowRuntimeDeps && (list == "right" || list == "version") }},
		{SandboxRequired, none, false, func(f Flags, _ string) bool { return f.SandboxAvailable }},
		{SandboxRequired, none, true, func(Flags, string) bool { return false }},
		{SandboxRequired, declared, true, func(f Flags, list string) bool {
			return f.AllowRuntimeDeps && f.SandboxAvailable && (list == "right" || list == "version")
		}},
	} {
		code := "1"
		if c.imports {
			code = "require lodash/fp"
		}
		b, m := bundle(t, fmt.Sprintf(`"dependenciesPolicy":%q%s`, c.policy, c.declared),
			map[string]string{"dist/index.js": code})
		for list, a := range lists {
			for _, flags := range []Flags{{}, {AllowRuntimeDeps: true}, {SandboxAvailable: true},
				{AllowRuntimeDeps: true, SandboxAvailable: true}, {AllowNative: true}} {
				r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Flags: flags, Allowlist: a})
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("%s, declared %v, imported %v, list %q, %+v", c.policy, c.declared != "", c.imports,
					list, flags)
				if want := c.want(flags, list); r.Verdict.Allowed() != want ||
					!want && r.Verdict.Class() != evidence.Refused {
					t.Errorf("%s: %v", name, r.Verdict.Err())
				}
				all := strings.Join(lines(r.Verdict), "\n")
				for text, want := range map[string]bool{
					"allowlist caller npm:lodash@4.17.21": c.declared != "" && c.policy != BundledOnly,
					"allowlist caller npm:lodash@4.17.21 absent": c.declared != "" &&
						c.policy == ExternalAllowed && list != "right" && list != "version",
					"allowlist caller npm:lodash@4.17.21 match": c.declared != "" && c.policy != BundledOnly &&
						(list == "right" || list == "version"),
					"allowlist caller npm:lodash@4.17.21 unverifiable": c.declared != "" && c.policy != BundledOnly &&
						c.policy != ExternalAllowed && list == "",
					"file publisher npm:lodash@4.17.21 absent": c.declared != "" && c.policy != BundledOnly,
					"import manifest dist/index.js:1 absent":   c.imports && c.declared == "",
					"import manifest dist/index.js:1 mismatch": c.imports && c.declared != "" &&
						c.policy == BundledOnly,
					"import manifest dist/index.js:1 match": c.imports && c.declared != "" && c.policy != BundledOnly,
				} {
					if strings.Contains(all, text) != want {
						t.Errorf("%s: %q is %v in\n%s", name, text, !want, all)
					}
				}
				asked := false
				for _, f := range r.Verdict.Findings {
					if e := f.Evidence; e.Scheme == evidence.Permission && e.Authority == evidence.Caller {
						asked = asked || e.Where == flag
						on := map[string]bool{flag: flags.AllowRuntimeDeps, box: flags.SandboxAvailable}
						if set, known := on[e.Where]; !known || set != (e.Outcome == evidence.Match) {
							t.Errorf("%s: %s is %s", name, e.Where, e.Outcome)
						}
					}
				}
				// of bundled-only it would change nothing
				if want := (c.imports || c.declared != "") && c.policy != BundledOnly; asked != want {
					t.Errorf("%s: the flag is asked for: %v", name, asked)
				}
			}
		}
	}
}

// A native addon needs the flag and a sandbox, whether it is there, imported or opened.
func TestNative(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"there":              {"dist/a.node": "x"},
		"there, in capitals": {"dist/a.NODE": "x"},
		"imported":           {"dist/index.js": "require ./a.node"},
		"of a package":       {"dist/index.js": "require a/b.node", "dist/node_modules/a/b.node": "1"},
		"opened":             {"dist/index.js": "dlopen /x"},
	} {
		b, m := bundle(t, ``, files)
		for flags, want := range map[Flags]bool{{}: false, {AllowNative: true}: false, {SandboxAvailable: true}: false,
			{AllowNative: true, SandboxAvailable: true}: true} {
			r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Flags: flags})
			if err != nil || r.Verdict.Allowed() != want || !want && r.Verdict.Class() != evidence.Refused {
				t.Errorf("%s, %+v: %v, %v", name, flags, r.Verdict.Err(), err)
			}
		}
	}
}

// Each integrity that is claimed of an external package, in either of its forms, is set
// beside what is vouched for the package of that name and version.
func TestIntegrities(t *testing.T) {
	sri := func(text string) string {
		h := digest.NewHasher(digest.SHA512)
		h.Write([]byte(text))
		return h.Digest(digest.SHA512).SRI()
	}
	right, wrong := sri("lodash"), sri("!")
	plain := strings.TrimPrefix(right, "sha512-")
	const subject = "file publisher npm:lodash@4.17.21 "
	for _, c := range []struct {
		name    string
		members string
		vouched []ExternalClaim
		want    []string
	}{
		{"one", `,"integrity":"` + right + `"`, []ExternalClaim{{"lodash", "4.17.21", right, "x"}},
			[]string{subject + "match"}},
		{"in a list", `,"integrities":[{"alg":"sha512","value":"` + right + `"}]`,
			[]ExternalClaim{{"lodash", "4.17.21", right, "x"}}, []string{subject + "match"}},
		{"in a list, without its name", `,"integrities":[{"alg":"sha512","value":"` + plain + `"}]`,
			[]ExternalClaim{{"lodash", "4.17.21", right, "x"}}, []string{subject + "match"}},
		{"in a list, wrong", `,"integrities":[{"alg":"sha512","value":"` + wrong + `"}]`,
			[]ExternalClaim{{"lodash", "4.17.21", right, "x"}}, []string{subject + "mismatch"}},
		{"one of two wrong", `,"integrity":"` + right + `","integrities":[{"alg":"sha512","value":"` + wrong + `"}]`,
			[]ExternalClaim{{"lodash", "4.17.21", right, "x"}}, []string{subject + "match", subject + "mismatch"}},
		{"malformed", `,"integrity":"nonsense"`, []ExternalClaim{{"lodash", "4.17.21", right, "x"}},
			[]string{subject + "unverifiable malformed"}},
		{"malformed in a list", `,"integrities":[{"alg":"sha512","value":"nonsense"}]`, nil,
			[]string{subject + "unverifiable malformed"}},
		{"none", ``, []ExternalClaim{{"lodash", "4.17.21", right, "x"}}, []string{subject + "absent"}},
		{"of another package", `,"integrity":"` + right + `"`,
			[]ExternalClaim{{"axios", "4.17.21", wrong, "x"}, {"axios", "1.0.0", wrong, "x"}}, nil},
		{"of another version", `,"integrity":"` + right + `"`, []ExternalClaim{{"lodash", "4.17.20", right, "x"}},
			[]string{subject + "mismatch"}},
		{"without one", `,"integrity":"` + right + `"`, []ExternalClaim{{"lodash", "4.17.21", "", "x"}},
			[]string{subject + "unverifiable unsupported"}},
		{"by two", `,"integrity":"` + right + `"`,
			[]ExternalClaim{{"lodash", "4.17.21", right, "x"}, {"lodash", "4.17.21", wrong, "y"}},
			[]string{subject + "match", subject + "mismatch"}},
	} {
		b, m := bundle(t,
			`"dependenciesPolicy":"external-allowed","externalDependencies":[{"name":"lodash","version":"4.17.21"`+
				c.members+`}]`, nil)
		r, err := Check(t.Context(), b, m,
			Host{Scan: scanLines, Flags: Flags{AllowRuntimeDeps: true}, ExternalClaims: c.vouched})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range lines(r.Verdict) {
			if strings.HasPrefix(line, "file publisher") {
				got = append(got, line)
			}
		}
		bad := slices.ContainsFunc(c.want, func(w string) bool { return strings.HasSuffix(w, "mismatch") })
		if !slices.Equal(got, c.want) || (r.Verdict.Class() == evidence.Integrity) != bad {
			t.Errorf("%s: %q, %v; want %q", c.name, got, r.Verdict.Err(), c.want)
		}
	}
}

// A package-lock.json speaks for what lies directly below node_modules.
func TestPackageLock(t *testing.T) {
	got, err := ParsePackageLock(
		[]byte(`{"packages":{"":{"version":"1.0.0"},"node_modules/":{"version":"1.0.0"},"node_modules/a":{"version":"1.0.0","integrity":"i"},
		"node_modules/@s/b":{"version":"2.0.0"},"node_modules/a/node_modules/c":{"version":"3.0.0"},"lib/d":{"version":"4.0.0"},"node_modules/a/b":{}}}`))
	if want := []ExternalClaim{{"@s/b", "2.0.0", "", "package-lock.json"},
		{"a", "1.0.0", "i", "package-lock.json"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{``, `[]`, `{"packages":[]}`, `{"packages":{"node_modules/a":{"version":1}}}`,
		`{"packages":{},"packages":{}}`,
		`{"Packages":{}}`, `{"packages":{"node_modules/a":{"version":"1.0.0","Integrity":"i"}}}`} {
		if got, err := ParsePackageLock([]byte(text)); err == nil ||
			!strings.HasPrefix(err.Error(), "package-lock.json: ") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// What a lock demands is added to what its host demands, and what it permits gives no right.
func TestFlagsWithin(t *testing.T) {
	rights := []Flags{{AllowRuntimeDeps: true}, {AllowNative: true}, {SandboxAvailable: true}}
	demands := []Flags{{RequireSignatures: true}, {StrictCapabilities: true}, {StrictTools: true},
		{StrictIntegrity: true}}
	all := Flags{AllowRuntimeDeps: true, AllowNative: true, SandboxAvailable: true}
	for _, f := range append(slices.Clone(rights), demands...) {
		if f.Within(all) != f {
			t.Errorf("%+v is limited by every right", f)
		}
	}
	each := []Flags{rights[0], rights[1], demands[0], demands[1], demands[2], demands[3], rights[2]}
	for _, f := range rights {
		if f.Within(Flags{}) != (Flags{}) || (Flags{}).Within(f) != (Flags{}) || f.Within(f) != f {
			t.Errorf("%+v", f)
		}
	}
	for _, f := range demands {
		if f.Within(Flags{}) != f || (Flags{}).Within(f) != f || f.Within(f) != f {
			t.Errorf("%+v", f)
		}
		for _, g := range demands {
			if both := f.Within(g); g != f && (both == f || both == g || both != g.Within(f)) {
				t.Errorf("%+v and %+v: %+v", f, g, both)
			}
		}
	}
	for name, f := range map[string]Flags{"PLUGIN_ALLOW_RUNTIME_DEPS": each[0], "PLUGIN_ALLOW_NATIVE": each[1],
		"REQUIRE_SIGNATURES": each[2], "PLUGIN_REQUIRE_SIGNED": each[2],
		"STRICT_CAPABILITIES": each[3], "STRICT_TOOLS": each[4], "STRICT_INTEGRITY": each[5],
		"SANDBOX_AVAILABLE": each[6]} {
		got, err := ReadFlags(func(n string) string {
			if n == name {
				return " On "
			}
			return ""
		})
		if err != nil || got != f {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// An allowlist is read as it is meant, or not at all.
func TestAllowlistEdges(t *testing.T) {
	for text, want := range map[string]string{ // what is allowed of the candidates; "!" is an error
		`["a"]`: "a@1.0.0 a/b@1.0.0 a@2.0.0", `["@s/a"]`: "@s/a@1.0.0", `{"allow":[]}`: "", `{"dependencies":{}}`: "",
		`{"dependencies":["a"]}`:         "a@1.0.0 a/b@1.0.0 a@2.0.0",
		`{"dependencies":{"a":"1.0.0"}}`: "a@1.0.0 a/b@1.0.0", `{"dependencies":{"a":["1.0.0"]}}`: "a@1.0.0 a/b@1.0.0",
		`{"dependencies":{"a":"*"}}`: "a@1.0.0 a/b@1.0.0 a@2.0.0",
		`{"allow":["a"],"dependencies":{"@s/a":"1.0.0"},"_":7,"x-note":{},"description":"d",` +
			`"$schema":"s"}`: "a@1.0.0 a/b@1.0.0 a@2.0.0 @s/a@1.0.0",
		`{"dependencies":["a"],"notes":"Example"}`: "a@1.0.0 a/b@1.0.0 a@2.0.0", `{"notes":"Example"}`: "!",
		`{"dependencies":["a"],"allowed":["b"]}`: "!", `{"dependencies":["a"],"notes":{}}`: "!",
		`{"allow":["a"],"dependencies":["a"]}`:         "a@1.0.0 a/b@1.0.0 a@2.0.0",
		`{"allow":["a"],"dependencies":{"a":"1.0.0"}}`: "!", `{"Allow":["a"]}`: "!", `{"allow":null}`: "!",
		`{"allow":[null]}`: "!", `{"allow":{"a":true}}`: "!", `{"dependencies":null}`: "",
		`null`: "!", `{}`: "!", `""`: "!", `{"dependencies":{"a":"1"}}`: "!", `{"dependencies":{"a":"v1.0.0"}}`: "!",
		`{"dependencies":{"a":">=1.0.0"}}`: "!", `{"dependencies":{"a":["1.0.0","^2.0.0"]}}`: "!",
		`{"dependencies":{"a":["*"]}}`: "!", `{"dependencies":{"a":null}}`: "!", `{"dependencies":{"":"1.0.0"}}`: "!",
		`{"dependencies":{"a/b":"1.0.0"}}`: "!", `{"dependencies":{"a":""}}`: "!",
		`["a"] ["b"]`: "!", `["a",7]`: "!", `{"allow":["a"],"allow":["b"]}`: "!",
		`[` + strings.Repeat(" ", MaxAllowlist) + `]`: "!",
	} {
		a, err := ParseAllowlist([]byte(text))
		if err != nil {
			if want != "!" || a != nil {
				t.Errorf("%.60s: %v", text, err)
			}
			continue
		}
		var got []string
		for _, c := range []string{"a@1.0.0", "a/b@1.0.0", "a@2.0.0", "@s/a@1.0.0", "@s@1.0.0", "b@1.0.0", "@1.0.0",
			"a@"} {
			i := strings.LastIndex(c, "@")
			if c != "a@" && a.Allows(c[:i], c[i+1:]) {
				got = append(got, c)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%.60s allows %q, want %q", text, got, want)
		}
	}
}

// The order does not depend on how plugins or their dependencies are listed, and a
// plugin that many depend on is loaded once.
func TestOrderDeterministic(t *testing.T) {
	all := []*Manifest{{Name: "a", Dependencies: []string{"d", "c"}}, {Name: "b", Dependencies: []string{"d"}},
		{Name: "c", Dependencies: []string{"d"}}, {Name: "d"}}
	for range all {
		all = append(all[1:], all[0])
		for _, m := range all {
			slices.Reverse(m.Dependencies)
		}
		if got, err := Order(all); err != nil || strings.Join(got, " ") != "d c a b" {
			t.Errorf("%v, %v", got, err)
		}
	}
	if got, err := Order([]*Manifest{{Name: "a", Dependencies: []string{"c", "b"}}, {Name: "c"}, {Name: "b"}}); err !=
		nil || strings.Join(got, " ") != "b c a" {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string][]*Manifest{
		"cycle: b -> d -> b": {{Name: "b", Dependencies: []string{"c", "d"}}, {Name: "c"},
			{Name: "d", Dependencies: []string{"b"}}},
		"b -> c -> b": {{Name: "a", Dependencies: []string{"b"}},
			{Name: "b", Dependencies: []string{"c"}}, {Name: "c", Dependencies: []string{"b"}}},
		"a -> a": {{Name: "a", Dependencies: []string{"a"}}},
		"b depends on d, which is missing": {{Name: "a", Dependencies: []string{"b"}},
			{Name: "b", Dependencies: []string{"d"}}},
	} {
		got, err := Order(want)
		if evidence.ClassOf(err) != evidence.Validation || !strings.Contains(err.Error(), text) ||
			strings.Contains(err.Error(), ";") || strings.Contains(err.Error(), "a -> b") {
			t.Errorf("%v, %v, want %q alone", got, err, text)
		}
	}
	if got, err := Order(nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
