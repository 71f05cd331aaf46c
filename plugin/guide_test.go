package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
)

// situation is a plugin and its host, as far as the guide's policy for external dependencies tells them apart.
type situation struct {
	policy             Policy // "": not written
	flag, sandbox      bool   // PLUGIN_ALLOW_RUNTIME_DEPS, SANDBOX_AVAILABLE
	allowlist          string // "none", "with", "without" the package
	declared, imported bool
}

func (s situation) String() string {
	return fmt.Sprintf("policy %q, flag %v, sandbox %v, allowlist %s, declared %v, imported %v", s.policy, s.flag, s.sandbox,
		s.allowlist, s.declared, s.imported)
}

// rejections are the sentences of the guide that reject a plugin in a situation. Each rejection is a policyError.
func (s situation) rejections() (said []string) {
	say := func(rejects bool, sentence string) {
		if rejects {
			said = append(said, sentence)
		}
	}
	external := s.declared || s.imported
	policy := s.policy
	if policy == "" {
		policy = "bundled-only" // "(default)"
	}
	say(policy == "bundled-only" && external, "bundled-only: no externals permitted")
	say(s.imported && !s.flag, "External import with flag disabled")
	say(s.imported && s.flag && !s.declared, "Undeclared external import with flag enabled")
	say(external && !s.flag, "External runtime dependencies only permitted when host sets PLUGIN_ALLOW_RUNTIME_DEPS=1")
	allowlisted := s.allowlist == "with"
	say(policy == "external-allowlist" && external && !(s.flag && allowlisted),
		"external-allowlist: externals require both the flag and allowlist inclusion")
	say(policy == "sandbox-required" && external && !(s.flag && allowlisted),
		"sandbox-required: same as allowlist when externals present")
	say(policy == "sandbox-required" && !s.sandbox, "sandbox-required: may also require sandbox availability")
	return said
}

// warns reports whether the guide has the host warned: external-allowed, "allowlist usage emits warnings".
func (s situation) warns() bool {
	return s.policy == "external-allowed" && s.declared && s.allowlist != "with"
}

// Every situation that the guide's policies tell apart is answered as its sentences answer it.
func TestGuidePolicies(t *testing.T) {
	lists := map[string]*Allowlist{"none": nil}
	for name, text := range map[string]string{"with": `["lodash"]`, "without": `["axios"]`} {
		list, err := ParseAllowlist([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		lists[name] = list
	}
	both := []bool{false, true}
	tried, refused := 0, 0
	for _, named := range []Policy{"", BundledOnly, ExternalAllowed, ExternalAllowlist, SandboxRequired} {
		for _, declared := range both {
			for _, imported := range both {
				var members []string
				if named != "" {
					members = append(members, fmt.Sprintf(`"dependenciesPolicy":%q`, named))
				}
				if declared {
					members = append(members, `"externalDependencies":[{"name":"lodash","version":"4.17.21"}]`)
				}
				code := "require node:path\nimport @modelcontextprotocol/sdk" // which every plugin may import
				if imported {
					code += "\nrequire lodash"
				}
				b, m := bundle(t, strings.Join(members, ","), map[string]string{"dist/index.js": code})
				for _, flag := range both {
					for _, sandbox := range both {
						for name, list := range lists {
							s := situation{named, flag, sandbox, name, declared, imported}
							r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Allowlist: list,
								Flags: Flags{AllowRuntimeDeps: flag, SandboxAvailable: sandbox}})
							if err != nil {
								t.Fatal(err)
							}
							tried++
							why := s.rejections()
							want := evidence.OK
							if len(why) > 0 {
								want = evidence.Refused
								refused++
							}
							if got := r.Verdict.Class(); got != want {
								t.Errorf("%s: %s, and by the guide %s: %q\n%v", s, got, want, why, r.Verdict.Err())
							}
							for _, f := range r.Verdict.Refused() {
								if f.Class != evidence.Refused {
									t.Errorf("%s: %s is %s", s, f.Evidence.Title(), f.Class)
								}
							}
							warned := slices.ContainsFunc(r.Verdict.Findings, func(f policy.Finding) bool {
								return f.Warning && f.Evidence.Scheme == evidence.Allowlist
							})
							if warned != s.warns() {
								t.Errorf("%s: warned %v\n%s", s, warned, strings.Join(lines(r.Verdict), "\n"))
							}
							// what is said does not advise what would change nothing
							if err := r.Verdict.Err(); err != nil && (named == "" || named == BundledOnly) &&
								strings.Contains(err.Error(), "PLUGIN_ALLOW_RUNTIME_DEPS") {
								t.Errorf("%s: a flag is advised: %v", s, err)
							}
						}
					}
				}
			}
		}
	}
	if tried != 5*2*2*2*2*3 || refused < tried/3 || refused > tried*9/10 {
		t.Errorf("%d of %d situations are refused", refused, tried)
	}
}
