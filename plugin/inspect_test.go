package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A manifest of the kind that is published: members that the guide does not name, and capabilities
// that say more than a name.
const published2 = `"id":"com.example.notes","type":"tool-module","build":{"tool":"tsc","at":7},"sdk":"^1.18.0","metadata":{"a":[1]},
"capabilities":{"tools":[{"name":"ping"},"pong"],"resources":[{"name":"r","title":"R","uriTemplate":"r://{a}"}],
"prompts":[{"name":"p","title":"P","description":"d","argsSchema":{"type":"object"}}]}`

// What others add is kept as it stands, shown, and covered by the signature of the whole manifest;
// only --strict warns of it.
func TestFurtherMembers(t *testing.T) {
	b, m := bundle(t, published2, nil)
	var paths []string
	for _, f := range m.Further {
		paths = append(paths, f.Path)
	}
	want := []string{"/capabilities/resources/0/title", "/capabilities/resources/0/uriTemplate",
		"/capabilities/prompts/0/argsSchema", "/capabilities/prompts/0/description", "/capabilities/prompts/0/title",
		"/build", "/id", "/metadata", "/sdk", "/type"}
	if !slices.Equal(paths, want) {
		t.Errorf("%q, want %q", paths, want)
	}
	if c := m.Capabilities; !slices.Equal(c.Tools, []string{"ping", "pong"}) || !slices.Equal(c.Resources, []string{"r"}) ||
		!slices.Equal(c.Prompts, []string{"p"}) {
		t.Errorf("%+v", c)
	}
	i := slices.IndexFunc(m.Further, func(f Member) bool { return f.Path == "/build" })
	if got := string(m.Further[i].Value); got != `{"at":7,"tool":"tsc"}` {
		t.Errorf("build is %s", got)
	}
	for _, strict := range []bool{false, true} {
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Strict: strict})
		if err != nil {
			t.Fatal(err)
		}
		warned := 0
		for _, f := range r.Verdict.Warnings() {
			if f.Evidence.Scheme == evidence.Form {
				warned++
			}
		}
		if strict && warned != len(want) || !strict && (warned != 0 || !r.Verdict.Allowed()) {
			t.Errorf("strict %v: %d warnings, %v", strict, warned, r.Verdict.Err())
		}
	}

	key := newKey(t)
	keys := new(TrustedKeys)
	if err := keys.Add(TrustedKey{ID: "acme", Public: key.Public()}); err != nil {
		t.Fatal(err)
	}
	signed, err := m.Sign(key, "acme", now)
	if err != nil {
		t.Fatal(err)
	}
	check := func(data []byte) evidence.Class {
		b.Manifest = data
		m, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines, Keys: keys, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return r.Verdict.Class()
	}
	if got := check(signed); got != evidence.OK {
		t.Errorf("as it was signed: %s", got)
	}
	for old, new := range map[string]string{"tool-module": "prompts", `"title": "P"`: `"title": "Q"`, `"at": 7`: `"at": 8`,
		`"id":`: `"further": 1, "id":`} {
		changed := bytes.Replace(signed, []byte(old), []byte(new), 1)
		if got := check(changed); bytes.Equal(changed, signed) || got != evidence.Signature {
			t.Errorf("%s changed to %s: %s", old, new, got)
		}
	}
}

// A problem of a manifest's form hides nothing: what has one is left out, and the rest is read.
func TestInspect(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	m, err := Inspect([]byte(manifest(`"name":"A B","version":"1","entry":"dist/../x.js","scriptz":1,
		"permissions":{"network":true,"exec":"yes","root":true},"dependencies":["a",7,"A","net"],"dependenciesPolicy":"any",
		"externalDependencies":[{"name":"lodash","version":"^4.0.0"},{"name":"../x","version":"1.0.0"},{"version":"1.0.0"},
			{"name":"axios","version":"1.0.0","more":1}],
		"capabilities":{"tools":["a",7,{"name":"b"},{"x":1}],"prompts":"p"},
		"dist":{"hash":"sha256:` + sum + `","fileCount":0,"totalBytes":7,"coverage":"all","hashes":[{"alg":"a"},
			{"alg":"hallmark-tree-v1","value":"12345678"}],"checksums":{"files":[{"path":"../x","sha256":"` + sum + `"},
			{"path":"a.js","sha256":"ab"},{"path":"b.js","sha256":"` + sum + `"},{"path":"nul","sha256":"` + sum + `"}]}},
		"signatures":[{"alg":"Ed25519"},{"alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa","keyId":7}],"x-hash-profile":"other"`)))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(map[string]any{"subject": m.Subject(), "entry": m.Entry, "network": m.Permissions.Network,
		"exec": m.Permissions.Exec, "dependencies": m.Dependencies, "policy": m.Policy, "externals": m.Externals,
		"tools": m.Capabilities.Tools, "prompts": m.Capabilities.Prompts, "hash": m.Dist.Hash, "count": m.Dist.FileCount,
		"bytes": m.Dist.Bytes, "all": m.Dist.All, "hashes": m.Dist.Hashes, "sums": m.Dist.Checksums, "profile": m.Profile,
		"signatures": len(m.Signatures), "further": len(m.Further)})
	want := `{"all":true,"bytes":7,"count":-1,"dependencies":["a","net"],"entry":"","exec":false,"externals":[` +
		`{"name":"lodash","version":"","integrity":"","integrities":null,"optional":false,"source":"","registry":""},` +
		`{"name":"axios","version":"1.0.0","integrity":"","integrities":null,"optional":false,"source":"","registry":""}],` +
		`"further":2,"hash":"sha256:` + sum + `","hashes":[{"alg":"hallmark-tree-v1","value":"12345678"}],"network":true,` +
		`"policy":"","profile":"","prompts":null,"signatures":1,"subject":"mcp-plugin.json","sums":{"b.js":"` + sum +
		`"},"tools":["a","b"]}`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, path := range []string{"/name", "/version", "/entry", "/permissions", "/permissions/exec", "/dependencies/1",
		"/dependencies/2", "/dependenciesPolicy", "/externalDependencies/0/version", "/externalDependencies/1/name",
		"/externalDependencies/2/name", "/externalDependencies/3", "/capabilities/tools/1", "/capabilities/tools/3/name",
		"/capabilities/prompts", "/dist/fileCount", "/dist/hashes/0/value", "/dist/checksums/files/0/path",
		"/dist/checksums/files/1/sha256", "/dist/checksums/files/3/path", "/signatures/0/signature", "/signatures/1/keyId",
		"/x-hash-profile"} {
		if !slices.ContainsFunc(m.Issues(), func(i Issue) bool { return i.Path == path }) {
			t.Errorf("no problem at %s is named", path)
		}
	}
	if _, err := Parse(m.Raw); evidence.ClassOf(err) != evidence.Validation {
		t.Errorf("it is parsed: %v", err)
	}
}

// What is wrong with one checksum, whatever it is, hides no other.
func TestInspectChecksums(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for _, other := range []string{`7`, `{}`, `{"path":"b.js"}`, `{"path":{"path":"b.js"},"sha256":"` + sum + `"}`,
		`{"path":"b.js","sha256":"` + sum + `","Path":"a.js"}`, `{"path":"b.js","sha256":7}`,
		`{"path":"b.js","sha256":"` + strings.Repeat("zz", 32) + `"}`, `{"path":"b.js","sha256":"` + sum + `0"}`, `{"path":"../b.js","sha256":"` + sum + `"}`} {
		m, err := Inspect([]byte(manifest(`"dist":{"hash":"sha256:` + sum + `","checksums":{"files":[` + other +
			`,{"path":"dist/a.js","sha256":"` + strings.ToUpper(sum) + `"}]}}`)))
		if err != nil {
			t.Fatal(err)
		}
		if m.Dist.Checksums["a.js"] != sum || len(m.Issues()) == 0 || m.CheckForm() == nil {
			t.Errorf("%s: %v, %v", other, m.Dist.Checksums, m.CheckForm())
		}
	}
}

// Of a manifest without a version, or of version 1, the files are compared where it has a hash.
func TestInspectGeneration(t *testing.T) {
	for _, c := range []struct {
		name, text string
		issues     int // -1: it is not read
	}{
		{"version 2", manifest(""), 0},
		{"a number", manifest(`"manifestVersion":2`), 1},
		{"a number, and more", manifest(`"manifestVersion":2,"name":"A"`), 2},
		{"no version", strings.Replace(manifest(""), `"manifestVersion":"2",`, ``, 1), 1},
		{"version 1 with a hash", manifest(`"manifestVersion":"1","capabilities":[]`), 2},
		{"version 1", `{"name":"a","version":"1.0.0","entry":"index.js","permissions":[]}`, -1},
		{"a byte order mark", "\xef\xbb\xbf" + manifest(""), -1},
		{"a list", "[]", -1}, {"no hash", manifest(`"dist":{}`), 0}, {"no hash, and more", manifest(`"dist":{},"name":"A"`), 2},
	} {
		m, err := Inspect([]byte(c.text))
		if (err != nil) != (c.issues < 0) || err == nil && len(m.Issues()) != c.issues {
			t.Errorf("%s: %v, %v", c.name, m, err)
		}
	}
	for text, want := range map[string]string{"\xef\xbb\xbf" + manifest(""): "byte order mark",
		manifest(`"manifestVersion":2`): `write it as a string: "manifestVersion": "2"`} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A member whose name is a word of encoding/json, and not one of the manifest, means nothing.
func TestMembersOfNoName(t *testing.T) {
	plain, err := Parse([]byte(manifest("")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"-", "", "Dist", "Further", "issues", "-,"} {
		m, err := Inspect([]byte(manifest(`"` + name + `":{"Hash":"x","FileCount":7,"All":true,"Checksums":{"a":"b"}}`)))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(m.Dist) != fmt.Sprint(plain.Dist) || len(m.Further) != 1 || m.Further[0].Path != "/"+name {
			t.Errorf("%q: %+v, %+v", name, m.Dist, m.Further)
		}
	}
}
