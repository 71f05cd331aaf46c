//go:build unix

package removal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
	"github.com/hallmark-mcp/hallmark/e2e/sample"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/check"
	"github.com/hallmark-mcp/hallmark/project"
)

// What an entry is of follows from who declares it. An entry that says another kind, with all
// that this kind owes and without a proof, and with the lock's own digest made to fit, must not
// pass a check, on the machine that accepted it nor on one that has nothing.

// relabelled is one entry of a lock in the shape of another kind.
type relabelled struct {
	name string
	tree map[string]any
	file []byte // its closure, if the kind has one
}

var evil = digest.FromBytes([]byte("evil"))

// facetShapes are sources of all kinds.
var facetShapes = map[string]string{
	"registry": `{"kind":"registry","registry":"registry.example.com"}`,
	"git": `{"kind":"git","url":"https://git.example.com/evil.git",` +
		`"commit":"0123456789012345678901234567890123456789"}`,
	"local": `{"kind":"local","path":"nowhere"}`,
}

// serverShapes are the members of entries that their kind alone has, and the closure beside it.
var serverShapes = map[string]struct{ members, closure string }{
	"command": {members: fmt.Sprintf(`{"ref":"command:sh","artifacts":{"command:sh":%q}}`, evil)},
	"npm": {
		members: fmt.Sprintf(
			`{"ref":"npm:evil@1.0.0","artifacts":{"npm:evil@1.0.0":%[1]q},"entry":"node_modules/evil/evil.js",`+
				`"closure":{"engine":"npm","trees":{"linux/amd64+node20":%[1]q}}}`, evil),
		closure: `{"lockfileVersion":3,"requires":true,"packages":{"":{"dependencies":{"evil":"1.0.0"}},` +
			`"node_modules/evil":{"version":"1.0.0","integrity":"sha512-` + strings.Repeat("A", 86) + `=="}}}`,
	},
	"pypi": {
		members: fmt.Sprintf(
			`{"ref":"pypi:evil==1.0.0/evil-1.0.0-py3-none-any.whl",`+
				`"artifacts":{"pypi:evil==1.0.0/evil-1.0.0-py3-none-any.whl":%[1]q},"entry":"evil:main",`+
				`"closure":{"engine":"uv","trees":{"linux/amd64+cp311-cp311-linux_x86_64":%[1]q}}}`, evil),
		closure: fmt.Sprintf(
			`{"engine":"uv","root":"pypi:evil==1.0.0","packages":[{"name":"evil","version":"1.0.0",`+
				`"wheels":{"evil-1.0.0-py3-none-any.whl":%q}}]}`, evil),
	},
	"go": {
		members: fmt.Sprintf(
			`{"ref":"go:example.com/evil@v1.0.0","artifacts":{"go:example.com/evil@v1.0.0":%[1]q},`+
				`"entry":"example.com/evil","closure":{"engine":"go","trees":{"linux/amd64+go1.26.2":%[1]q}}}`, evil),
		closure: `{"engine":"go","root":"go:example.com/evil@v1.0.0","program":"example.com/evil","go_mod":["module ` +
			`hallmark-closure","","go 1.26","","require example.com/evil v1.0.0"],"go_sum":["example.com/evil ` +
			`v1.0.0 h1:` + strings.Repeat("A", 43) + `=","example.com/evil v1.0.0/go.mod h1:` +
			strings.Repeat("A", 43) + `="]}`,
	},
	"image": {members: fmt.Sprintf(
		`{"ref":"oci:127.0.0.1:1/evil@%[1]s","artifacts":{"oci:127.0.0.1:1/evil@%[1]s":%[1]q},"digest":%[1]q,`+
			`"image":"127.0.0.1:1/evil:latest"}`, evil)},
	"http": {members: `{"ref":"https://127.0.0.1:1/evil","artifacts":{}}`},
	"artifact": {
		members: fmt.Sprintf(`{"ref":"evil@1.0.0","artifacts":{"evil@1.0.0":%[1]q},"entry":"evil.js","runtime":"node",
		"record":{"registry":"registry.example.com","name":"evil","version":"1.0.0","document":%[1]q}}`, evil)},
}

func relabel(t *testing.T, lock []byte) (all []relabelled) {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(lock, &tree); err != nil {
		t.Fatal(err)
	}
	with := func(of, name string, entry map[string]any) map[string]any {
		out, entries := maps.Clone(tree), maps.Clone(tree[of].(map[string]any))
		entries[name], out[of] = entry, entries
		return fitLogs(out)
	}
	read := func(text string) (v map[string]any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	facets, _ := tree["facets"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(facets)) {
		for _, kind := range slices.Sorted(maps.Keys(facetShapes)) {
			entry := maps.Clone(facets[name].(map[string]any))
			delete(entry, "proof")
			entry["source"] = read(facetShapes[kind])
			all = append(all, relabelled{name: "facet " + name + " as " + kind, tree: with("facets", name, entry)})
			entry = maps.Clone(entry)
			entry["integrity"] = evil.String()
			all = append(all,
				relabelled{name: "facet " + name + " as another one, " + kind, tree: with("facets", name, entry)})
		}
	}
	servers, _ := tree["servers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		for _, kind := range slices.Sorted(maps.Keys(serverShapes)) {
			shape, entry := serverShapes[kind], maps.Clone(servers[name].(map[string]any))
			for _, member := range []string{"entry", "closure", "digest", "image", "platforms", "runtime", "record"} {
				delete(entry, member)
			}
			entry["source"] = kind
			maps.Copy(entry, read(shape.members))
			var file []byte
			if shape.closure != "" {
				c, err := project.ParseClosure([]byte(shape.closure))
				if err != nil {
					t.Fatal(kind, err)
				}
				if file, err = c.Encode(); err != nil {
					t.Fatal(kind, err)
				}
				entry["closure"].(map[string]any)["lock"] = digest.FromBytes(file).String()
			}
			all = append(all,
				relabelled{name: "server " + name + " as " + kind, tree: with("servers", name, entry), file: file})
		}
	}
	return all
}

func TestRelabelledEntries(t *testing.T) {
	memory.Use(t)
	for name, world := range map[string]func(*testing.T) *removalWorld{
		"facets": newRemovedFacets, "sources": newRemovedSources, "servers": newRemovedServers,
		"packages": newRemovedPackages,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world(t)
			w.kept = w.files()
			good, refused := w.FacetProject.Read(project.LockFile), map[evidence.Class]int{}
			for _, r := range relabel(t, []byte(good)) {
				w.FacetProject.Write(project.LockFile, string(reseal(t, r.tree)))
				if r.file != nil {
					closure := project.ClosuresDir + "/" + strings.Fields(r.name)[1] + ".json"
					w.FacetProject.Write(closure, string(r.file))
				}
				for _, c := range []removalCommand{
					{name: "check", run: ofCheck(check.Options{})},
					{name: "fresh check", fresh: true, cold: true, run: ofCheck(check.Options{})},
					{name: "fresh check --offline --strict", fresh: true, cold: true,
						run: ofCheck(check.Options{Offline: true, Strict: true})},
				} {
					class, err := w.attempt(c, "")
					if refused[class]++; class == evidence.OK {
						t.Errorf("%s: %s passes", r.name, c.name)
					} else if sample.Whole() {
						t.Logf("%s: %s: %v", r.name, c.name, err)
					}
				}
				w.restore()
			}
			t.Log(refused)
		})
	}
}
