package owed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// locked are demands whose lock has the given members, beside a configuration.
func locked(t *testing.T, toml, members string) Demands {
	t.Helper()
	members = strings.ReplaceAll(members, "SOME", some.String())
	plain, err := surface.Canonical([]byte(`{"lockfile_version": 2, `+members+`}`),
		surface.Limits{Depth: 16, Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := project.ParseLock(fmt.Appendf(nil, `{"self": %q, %s`, digest.FromBytes(plain), plain[1:]))
	if err != nil {
		t.Fatal(err)
	}
	b := demands(t, toml)
	return New(b.Config, lock, b.Memory, nil)
}

const (
	command = `{"source": "command", "launch": {"command": "./a", "arguments": [], "variables": [], "on_drift": "withhold"FACET},
		"ref": "file:a", "artifacts": {"file:a": "SOME"}, "arguments": [], "variables": [],
		"api_surface": "SOME", "surface": "SOME", "surface_items": {}, "approved_at": "2026-01-01T00:00:00Z"}`
	npm = `{"source": "npm", "launch": {"command": "npx", "arguments": ["a@1.0.0"], "variables": [], "on_drift": "withhold"},
		"ref": "npm:a@1.0.0", "artifacts": {"npm:a@1.0.0": "SOME"}, "entry": "node_modules/a/a.js", "arguments": [], "variables": [],
		"closure": {"engine": "npm", "lock": "SOME", "trees": {"linux/amd64+node20": "SOME"}},
		"api_surface": "SOME", "surface": "SOME", "surface_items": {}, "approved_at": "2026-01-01T00:00:00Z"}`
	kit = `{"version": "1.0.0", "source": {"kind": "registry", "registry": "registry.example.com"}, "integrity": ` +
		`"SOME", "assets": {"facet.json": "SOME"}COMPOSES}`
)

// owing are what l says, as "SUBJECT SCHEME AUTHORITY by WHOM".
func owing(l List) (all []string) {
	for _, x := range l {
		all = append(all, fmt.Sprintf("%s %s %s by %s", x.Subject, x.Scheme, x.Authority, x.By))
	}
	return all
}

// An entry owes what declares it, and the files beside the lock that its kind has.
func TestEntryOwes(t *testing.T) {
	of := func(facet string) string { return strings.Replace(command, "FACET", facet, 1) }
	const file, closure = "hallmark.surfaces/a.json document lock by lock",
		"hallmark.closures/a.json document lock by lock"
	const owner = "a launch project by lock"
	entry := "a launch lock by project"
	facet := strings.Replace(kit, "COMPOSES", "", 1)
	for name, c := range map[string]struct {
		toml, members string
		want          []string
	}{
		"declared": {"[providers.mcp.a]\ncommand = \"./a\"\n", `"servers": {"a": ` + of("") + `}`,
			[]string{entry, file}},
		"not declared": {"", `"servers": {"a": ` + of("") + `}`, []string{owner, file}},
		"a package": {"[providers.mcp.a]\ncommand = \"npx\"\n", `"servers": {"a": ` + npm + `}`,
			[]string{entry, file, closure}},
		"of a facet": {"[facets]\nkit = \"1.*\"\n",
			`"facets": {"kit": ` + facet + `}, "servers": {"a": ` + of(`, "facet": "kit"`) + `}`, []string{file}},
		"of no facet": {"", `"facets": {"kit": ` + facet + `}, "servers": {"a": ` + of(`, "facet": "kit"`) + `}`,
			[]string{owner, file}},
		"of one that is brought along": {"[facets]\nall = \"1.*\"\n",
			`"facets": {"all": ` + strings.Replace(kit, "COMPOSES", `, "composes": {"kit": "1.0.0"}`, 1) +
				`, "kit": ` + facet + `}, "servers": {"a": ` + of(`, "facet": "kit"`) + `}`, []string{file}},
	} {
		if got := owing(locked(t, c.toml, c.members).Server("a")); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A facet owes who wants it, and is owed by those who bring it along and by the machine.
func TestLockedFacetOwes(t *testing.T) {
	facet := strings.Replace(kit, "COMPOSES", "", 1)
	all := strings.Replace(kit, "COMPOSES", `, "composes": {"kit": "1.0.0"}`, 1)
	wanted, brought := "[facets]\nkit = \"1.*\"\n", "[facets]\nall = \"1.*\"\n"
	byProject, byLock, byMachine, owner := "kit source lock by project", "kit source lock by lock",
		"kit source lock by machine", "kit source project by lock"
	for name, c := range map[string]struct {
		toml, members string
		known         bool
		want          []string
	}{
		"declared": {wanted, `"facets": {"kit": ` + facet + `}, "servers": {}`, false,
			[]string{byProject}},
		"not wanted": {"", `"facets": {"kit": ` + facet + `}, "servers": {}`, false,
			[]string{owner}},
		"not wanted, installed once": {"", `"facets": {"kit": ` + facet + `}, "servers": {}`, true,
			[]string{owner}},
		"brought along": {brought,
			`"facets": {"all": ` + all + `, "kit": ` + facet + `}, "servers": {}`, false, []string{byLock}},
		"brought along and gone": {brought, `"facets": {"all": ` + all + `}, "servers": {}`, false,
			[]string{byLock}},
		"brought along, known and gone": {brought, `"facets": {"all": ` + all + `}, "servers": {}`, true,
			[]string{byLock, byMachine}},
		"declared, known and gone":        {wanted, `"servers": {}`, true, []string{byProject, byMachine}},
		"neither wanted nor there, known": {"", `"servers": {}`, true, nil},
		"the lock names the registry's log": {wanted,
			`"logs": {"registry.example.com": "log.example.com"}, "facets": {"kit": ` + facet + `}, "servers": {}`,
			false,
			[]string{byProject, "log proof of facet kit@1.0.0 proof log by lock"}},
	} {
		b := locked(t, c.toml, c.members)
		if c.known {
			b.Memory.Facets["kit"] = project.AcceptedFacet{Version: "1.0.0", Integrity: some, At: time.Unix(1, 0)}
		}
		got := owing(b.Facet("kit"))
		for i := range got {
			if strings.Contains(got[i], " proof log ") {
				got[i] = "log proof of facet kit@1.0.0" + got[i][strings.Index(got[i], " proof log "):]
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A server that this machine approved as one of a facet is owed as long as the facet is what was
// installed here, or is gone itself.
func TestServerOfFacetOwed(t *testing.T) {
	facet := strings.Replace(kit, "COMPOSES", "", 1)
	other := digest.FromBytes([]byte("other"))
	for name, c := range map[string]struct {
		toml, members string
		installed     digest.Digest
		owed          bool
	}{
		"the same contents": {"[facets]\nkit = \"1.*\"\n", `"facets": {"kit": ` + facet + `}, "servers": {}`, some,
			true},
		"never remembered": {"[facets]\nkit = \"1.*\"\n", `"facets": {"kit": ` + facet + `}, "servers": {}`,
			digest.Digest{}, true},
		"other contents": {"[facets]\nkit = \"1.*\"\n", `"facets": {"kit": ` + facet + `}, "servers": {}`,
			other, false},
		"the facet is gone too":  {"[facets]\nkit = \"1.*\"\n", `"servers": {}`, some, true},
		"nobody wants the facet": {"", `"facets": {"kit": ` + facet + `}, "servers": {}`, some, false},
	} {
		b := locked(t, c.toml, c.members)
		b.Memory.Servers["a"] = project.Approval{Entry: some, Facet: "kit"}
		if !c.installed.IsZero() {
			b.Memory.Facets["kit"] = project.AcceptedFacet{Version: "1.0.0", Integrity: c.installed}
		}
		if got := slices.Contains(b.Servers(), "a"); got != c.owed || got != (len(b.Server("a")) == 1) {
			t.Errorf("%s: looked at %v, owed %q", name, got, owing(b.Server("a")))
		}
	}
}

// The key of a log, and how far it had come, are owed by the machine that accepted something
// under it: another key that somebody names is no answer, wherever the lock says that it is from.
func TestLogOwed(t *testing.T) {
	const registry = "registry.example.com"
	b := demands(t, "[registry]\nurl = \"https://registry.example.com\"\n")
	of := func(registry, key string, size int64) []string {
		return owing(b.log("a", registry, project.AcceptedLog{LogKey: key, LogSize: size}))
	}
	if got := of(registry, "", 0); got != nil {
		t.Errorf("nothing was accepted: %q", got)
	}
	want := []string{"log of registry.example.com under the key key log-key machine by machine"}
	if got := of(registry, "key", 0); !slices.Equal(got, want) {
		t.Errorf("no key is known: %q", got)
	}
	b.Config.Registry.LogKey = "other"
	if got := of(registry, "key", 0); !slices.Equal(got, want) {
		t.Errorf("another key is configured: %q", got)
	}
	b.Config.Registry.LogKey = "key"
	if got := of(registry, "key", 0); got != nil {
		t.Errorf("it is configured: %q", got)
	}
	b.Config.Registry.LogKey, b.LogKey = "", "key"
	if got := of(registry, "key", 0); got != nil {
		t.Errorf("it is given: %q", got)
	}
	b.LogKey, b.Logs = "", &machine.Logs{Registries: map[string]machine.LogKey{registry: {Key: "key"}}}
	if got := of(registry, "key", 0); got != nil {
		t.Errorf("it is known: %q", got)
	}
	if got := of("other.example.com", "key", 0); len(got) != 1 {
		t.Errorf("of another registry: %q", got)
	}
	old := []string{"checkpoint of the log of registry.example.com checkpoint log by machine"}
	if got := of(registry, "key", 7); !slices.Equal(got, old) {
		t.Errorf("no checkpoint is kept: %q", got)
	}
	for size, want := range map[int64][]string{6: old, 7: nil, 8: nil} {
		b.sizes = map[string]int64{"key": size}
		if got := of(registry, "key", 7); !slices.Equal(got, want) {
			t.Errorf("one of %d entries is kept: %q", size, got)
		}
	}
	// What hallmark.toml demanded of the log stays demanded, or becomes more.
	for name, c := range map[string]struct {
		now  project.Registry
		want []string
	}{
		"as it was": {project.Registry{Quorum: 2, MaxAge: time.Hour}, nil},
		"stricter":  {project.Registry{Quorum: 3, MaxAge: time.Minute}, nil},
		"one witness less": {project.Registry{Quorum: 1, MaxAge: time.Hour},
			[]string{"witnesses of the log of registry.example.com cosignature log by machine"}},
		"no witnesses": {project.Registry{MaxAge: time.Hour},
			[]string{"witnesses of the log of registry.example.com cosignature log by machine"}},
		"any age": {project.Registry{Quorum: 2},
			[]string{"age of the log of registry.example.com checkpoint log by machine"}},
		"an older one": {project.Registry{Quorum: 2, MaxAge: 2 * time.Hour},
			[]string{"age of the log of registry.example.com checkpoint log by machine"}},
	} {
		b.Config.Registry = c.now
		b.Config.Registry.URL = "https://registry.example.com"
		if got := owing(
			b.log("a", registry, project.AcceptedLog{LogKey: "key", Quorum: 2, MaxAge: time.Hour})); !slices.Equal(got,
			c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A facet that this machine accepted with a proof owes one, wherever its entry says that it is
// from; and facets that only bring along each other are nobody's.
func TestFacetOwesItsProof(t *testing.T) {
	const proof = "log proof of kit@1.0.0 proof log by machine"
	facet := strings.Replace(kit, "COMPOSES", "", 1)
	local := strings.Replace(facet, `{"kind": "registry", "registry": "registry.example.com"}`,
		`{"kind": "local", "path": "ev"}`, 1)
	all := strings.Replace(kit, "COMPOSES", `, "composes": {"kit": "1.0.0"}`, 1)
	for name, c := range map[string]struct {
		toml, members string
		accepted      bool
		want          []string
	}{
		"a directory": {"[facets]\nkit = { path = \"ev\" }\n",
			`"servers": {}, "facets": {"kit": ` + local + `}`, false, nil},
		"a directory that was a registry": {"[facets]\nkit = { path = \"ev\" }\n",
			`"servers": {}, "facets": {"kit": ` + local + `}`, true, []string{proof}},
		"the same, brought along": {"[facets]\nall = \"1.*\"\n",
			`"servers": {}, "facets": {"kit": ` + local + `, "all": ` + all + `}`, true, []string{proof}},
		"a registry": {"[facets]\nkit = \"1.*\"\n", `"servers": {}, "facets": {"kit": ` + facet + `}`, true,
			[]string{proof}},
	} {
		b := locked(t, c.toml, c.members)
		if c.accepted {
			b.Memory.Facets["kit"] = project.AcceptedFacet{Version: "1.0.0",
				AcceptedLog: project.AcceptedLog{LogKey: "key"}, At: time.Now()}
		}
		if got := owing(b.Facet("kit").Of(evidence.Proof)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	one, two := strings.Replace(kit, "COMPOSES", `, "composes": {"two": "1.0.0"}`, 1),
		strings.Replace(kit, "COMPOSES", `, "composes": {"one": "1.0.0"}`, 1)
	b := locked(t, "", `"servers": {}, "facets": {"one": `+one+`, "two": `+two+`}`)
	if got := owing(b.Facet("one")); !slices.Equal(got, []string{"one source project by lock"}) {
		t.Errorf("%q", got)
	}
}
