package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/tree"
)

// broken is a plugin while faults are put into it.
type broken struct {
	members map[string]any    // of the manifest, before its hash is written
	lines   []string          // of dist/index.js
	files   map[string]string // further ones
	after   []func(top, dist map[string]any, b *Bundle)
	host    Host
}

// fault is one thing that is wrong with a plugin.
type fault struct {
	name  string
	step  int    // of the guide's verification flow
	field string // that it is about: two faults of one field are not put in together
	class evidence.Class
	sign  string                                  // how its finding begins: scheme, authority, subject, outcome
	why   string                                  // a part of the finding's reason
	put   func(t *testing.T, p *broken, n string) // n is a name of its own
}

// capabilityStep is the step that is taken only if the plugin may be loaded otherwise.
const capabilityStep = 9

func faults() []fault {
	top := func(name string, v any) func(*testing.T, *broken, string) {
		return func(_ *testing.T, p *broken, _ string) { p.members[name] = v }
	}
	after := func(change func(top, dist map[string]any, b *Bundle)) func(*testing.T, *broken, string) {
		return func(_ *testing.T, p *broken, _ string) { p.after = append(p.after, change) }
	}
	line := func(text string) func(*testing.T, *broken, string) {
		return func(_ *testing.T, p *broken, _ string) { p.lines = append(p.lines, text) }
	}
	const zeros = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	v, i, r, s := evidence.Validation, evidence.Integrity, evidence.Refused, evidence.Signature
	return []fault{
		{"a bad name", 2, "name", v, "form manifest", "/name: ", after(func(top, _ map[string]any, _ *Bundle) { top["name"] = "A B" })},
		{"a number as version of the format", 2, "manifestVersion", v, "form manifest", "/manifestVersion: is the number 2",
			after(func(top, _ map[string]any, _ *Bundle) { top["manifestVersion"] = 2 })},
		{"no version of the format", 2, "manifestVersion", v, "form manifest", "/manifestVersion: this is a manifest of version 1",
			after(func(top, _ map[string]any, _ *Bundle) { delete(top, "manifestVersion") })},
		{"a misspelled member", 2, "premissions", v, "form manifest", "/premissions: is no member; write permissions",
			after(func(top, _ map[string]any, _ *Bundle) { top["premissions"] = map[string]any{} })},
		{"a version range", 2, "ranged", v, "form manifest", "is no exact version", after(func(top, _ map[string]any, _ *Bundle) {
			all, _ := top["externalDependencies"].([]any)
			top["externalDependencies"] = append(all, map[string]any{"name": "ranged", "version": "^1.0.0"})
		})},
		{"a checksum path twice", 2, "checksums", v, "form manifest", "is there twice, as dist/index.js",
			after(func(_, dist map[string]any, _ *Bundle) {
				sums := dist["checksums"].(map[string]any)
				files := sums["files"].([]any)
				at := slices.IndexFunc(files, func(f any) bool { return f.(map[string]any)["path"] == "dist/index.js" })
				again := map[string]any{"path": "./dist/index.js", "sha256": files[at].(map[string]any)["sha256"]}
				sums["files"] = append(files, again)
			})},
		{"an entry outside of dist", 2, "entry", v, "form manifest", "/entry: ",
			after(func(top, _ map[string]any, _ *Bundle) { top["entry"] = "dist/../index.js" })},
		{"a malformed hash", 3, "hash", i, "dist manifest net-utils@1.1.0 unverifiable", "", after(func(_, dist map[string]any, _ *Bundle) {
			dist["hash"] = "md5:00"
		})},
		{"no hash", 3, "hash", i, "dist manifest net-utils@1.1.0 absent", "",
			after(func(_, dist map[string]any, _ *Bundle) { delete(dist, "hash") })},
		{"changed files", 4, "hash", i, "dist manifest net-utils@1.1.0 mismatch", "", after(func(_, _ map[string]any, b *Bundle) {
			b.Contents["data.txt"] = []byte("changed")
			at := slices.IndexFunc(b.Files, func(f tree.File) bool { return f.Path == "data.txt" })
			b.Files[at].Size = int64(len("changed"))
		})},
		{"another framed hash", 4, "hashes", i, "tree manifest net-utils@1.1.0 mismatch", "", after(func(_, dist map[string]any, _ *Bundle) {
			dist["hashes"] = []any{map[string]any{"alg": FramedAlg, "value": zeros}}
		})},
		{"another count", 4, "fileCount", i, "extent manifest net-utils@1.1.0 mismatch", "",
			after(func(_, dist map[string]any, _ *Bundle) { dist["fileCount"] = 99 })},
		{"another checksum", 5, "sum", i, "file manifest dist/data.txt mismatch", "", after(func(_, dist map[string]any, _ *Bundle) {
			for _, f := range dist["checksums"].(map[string]any)["files"].([]any) {
				if f := f.(map[string]any); f["path"] == "dist/data.txt" {
					f["sha256"] = strings.TrimPrefix(zeros, "sha256:")
				}
			}
		})},
		{"an undeclared import", 6, "axios", r, "import manifest dist/index.js", "the package is not declared", line("require axios")},
		{"an import of a URL", 6, "url", r, "import manifest dist/index.js", "neither part of the plugin nor a package",
			line("import() https://example.com/x.js")},
		{"code that is none", 6, "code", r, "import manifest dist/broken.js unverifiable unreadable", "",
			func(_ *testing.T, p *broken, _ string) { p.files["dist/broken.js"] = "BROKEN" }},
		{"a permission that is not declared", 6, "net", r, "permission manifest dist/index.js", "permission network is not declared",
			line("require net")},
		{"an external package without the flag", 7, "policy", r, "permission caller net-utils@1.1.0 absent",
			"PLUGIN_ALLOW_RUNTIME_DEPS", func(t *testing.T, p *broken, n string) {
				p.members["dependenciesPolicy"] = "external-allowed"
				top("externalDependencies", []any{map[string]any{"name": "lodash", "version": "4.17.21"}})(t, p, n)
			}},
		{"an external package that is not allowed", 7, "policy", r, "allowlist caller npm:lodash@4.17.21 unverifiable not_found", "",
			func(t *testing.T, p *broken, n string) {
				p.members["dependenciesPolicy"] = "external-allowlist"
				p.host.Flags.AllowRuntimeDeps = true
				top("externalDependencies", []any{map[string]any{"name": "lodash", "version": "4.17.21"}})(t, p, n)
			}},
		{"no sandbox", 7, "policy", r, "permission caller net-utils@1.1.0 absent", "SANDBOX_AVAILABLE", top("dependenciesPolicy", "sandbox-required")},
		{"a native addon", 7, "native", r, "permission caller net-utils@1.1.0 absent", "PLUGIN_ALLOW_NATIVE",
			func(_ *testing.T, p *broken, _ string) { p.files["dist/addon.node"] = "x" }},
		{"no signature where one is required", 8, "required", s, "signature machine net-utils@1.1.0 absent", "",
			func(_ *testing.T, p *broken, _ string) { p.host.Flags.RequireSignatures = true }},
		{"a signature that does not hold", 8, "signatures", s, "signature manifest net-utils@1.1.0 mismatch", "",
			func(t *testing.T, p *broken, _ string) {
				key := newKey(t)
				p.host.Keys = new(TrustedKeys)
				if err := p.host.Keys.Add(TrustedKey{ID: "acme", Public: key.Public()}); err != nil {
					t.Fatal(err)
				}
				wrong := signed(t, key, "other text")
				p.after = append(p.after, func(top, _ map[string]any, _ *Bundle) {
					top["signatures"] = []any{map[string]any{"alg": "Ed25519", "signature": wrong, "keyId": "acme"}}
				})
			}},
		{"junk as a signature", 8, "sig", s, "signature manifest net-utils@1.1.0 mismatch", "neither a minisign signature",
			after(func(_, _ map[string]any, b *Bundle) { b.Signature = []byte("junk") })},
		{"a tool that was not registered", capabilityStep, "capabilities", r, "capability caller tool:ping mismatch", "",
			func(_ *testing.T, p *broken, _ string) {
				p.members["capabilities"] = map[string]any{"tools": []any{map[string]any{"name": "ping"}}}
				p.host.Flags.StrictCapabilities = true
			}},
		{"a tool without a schema", capabilityStep, "tools", v, "tool caller tool:bad mismatch", "", func(_ *testing.T, p *broken, _ string) {
			p.host.Flags.StrictTools = true
			p.host.Registered.Tools = append(p.host.Registered.Tools, RegisteredTool{Name: "bad", Schema: json.RawMessage(`7`)})
		}},
	}
}

// urgency is the rule for exit codes: the first of them that is present.
var urgency = []evidence.Class{evidence.Integrity, evidence.Signature, evidence.Refused, evidence.Drift, evidence.Validation,
	evidence.Operation}

// checkFaults checks a plugin with some faults.
func checkFaults(t *testing.T, of ...fault) *Result {
	t.Helper()
	p := &broken{members: map[string]any{}, lines: []string{"1"}, files: map[string]string{"dist/data.txt": "data"},
		host: Host{Scan: scanLines, Now: now, Registered: &Registered{}}}
	for i, f := range of {
		f.put(t, p, fmt.Sprint("n", i))
	}
	p.files["dist/index.js"] = strings.Join(p.lines, "\n")
	members, err := json.Marshal(p.members)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := bundle(t, string(members[1:len(members)-1]), p.files)
	var top map[string]any
	if err := json.Unmarshal(b.Manifest, &top); err != nil {
		t.Fatal(err)
	}
	for _, change := range p.after {
		change(top, top["dist"].(map[string]any), b)
	}
	if b.Manifest, err = json.Marshal(top); err != nil {
		t.Fatal(err)
	}
	m, err := Inspect(b.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), b, m, p.host)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// find returns the place of a fault's finding that is refused with its class; -1 if it was not reported.
func (f fault) find(r *Result) int {
	for i, finding := range r.Verdict.Findings {
		e := finding.Evidence
		// Where the name cannot be read, the manifest's stands for it.
		subject := strings.Replace(e.Subject, ManifestFile, "net-utils@1.1.0", 1)
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", e.Scheme, e.Authority, subject, e.Outcome, e.Cause))
		if e.Scheme == evidence.Form {
			line = fmt.Sprintf("%s %s", e.Scheme, e.Authority)
		}
		if strings.HasPrefix(line, f.sign) && strings.Contains(e.Reason, f.why) && finding.Class == f.class {
			return i
		}
	}
	return -1
}

// Two faults at once are both reported, whichever they are. The code is that of the most urgent one, and what is
// said first is the one that decided it: the first in the order of the guide.
func TestTwoFaults(t *testing.T) {
	all := faults()
	for i, a := range all {
		for _, b := range all[i:] {
			pair := []fault{a, b}
			if a.name == b.name {
				pair = pair[:1]
			} else if a.field == b.field || a.name == "no version of the format" && b.name == "no hash" {
				continue // the latter two are a manifest of version 1, of which nothing is compared
			}
			name := a.name + "; " + b.name
			r := checkFaults(t, pair...)
			reported := slices.DeleteFunc(slices.Clone(pair), func(f fault) bool {
				other := slices.ContainsFunc(pair, func(g fault) bool { return g.step < capabilityStep })
				return f.step == capabilityStep && other // nothing is registered by a plugin that is not loaded
			})
			want := urgency[slices.IndexFunc(urgency, func(c evidence.Class) bool {
				return slices.ContainsFunc(reported, func(f fault) bool { return f.class == c })
			})]
			var decided []int
			for _, f := range pair {
				at, there := f.find(r), slices.ContainsFunc(reported, func(g fault) bool { return g.name == f.name })
				if (at >= 0) != there {
					t.Errorf("%s: %s is reported: %v\n%s", name, f.name, at >= 0, strings.Join(lines(r.Verdict), "\n"))
				}
				if there && f.class == want {
					decided = append(decided, f.step)
				}
			}
			deciding, _ := r.Verdict.Deciding()
			if r.Verdict.Class() != want || deciding.Class != want {
				t.Errorf("%s: %s decided, want %s: %v", name, r.Verdict.Class(), want, r.Verdict.Err())
			}
			isFirst := slices.ContainsFunc(pair, func(f fault) bool {
				at := f.find(r)
				return at >= 0 && f.class == want && f.step == slices.Min(decided) &&
					at == slices.IndexFunc(r.Verdict.Findings, func(g policy.Finding) bool { return g.Class == want })
			})
			title := deciding.Evidence.Title()
			if first, _, _ := strings.Cut(r.Verdict.Err().Error(), "\n"); first != title ||
				!strings.HasPrefix(r.Verdict.Headline(), title) || strings.Contains(r.Verdict.Headline(), "\n") {
				t.Errorf("%s: begins with %q, and the headline is %q; %q decided", name, first, r.Verdict.Headline(), title)
			}
			// Changed files are found by several claims, of which the first is meant.
			if !isFirst {
				t.Errorf("%s: %q decided, want one of step %d\n%s", name, title, slices.Min(decided),
					strings.Join(lines(r.Verdict), "\n"))
			}
			if err := r.Verdict.Admitted().Permits(r.Manifest.Subject(), r.Tree, policy.Place); err == nil {
				t.Errorf("%s: it may be placed", name)
			}
		}
	}
}
