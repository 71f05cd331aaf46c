package plugin

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Whatever a host reads as its allowlist allows no package but by its plain name.
func FuzzAllowlist(f *testing.F) {
	for _, text := range []string{`["lodash","@a/b"]`, `{"allow":["lodash"]}`,
		`{"dependencies":{"lodash":["1.0.0"],"@a/b":"*"},"_":1}`, `{"dependencies":["x"]}`, `{"allow":[""]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAllowlist(data)
		if err != nil {
			if a != nil {
				t.Error("a list beside an error")
			}
			return
		}
		if a.Allows("", "1.0.0") {
			t.Error("no name is allowed")
		}
		for name, versions := range a.packages {
			if packageOf(name) != name {
				t.Errorf("%q is no package", name)
			}
			for _, v := range versions {
				if !isExactVersion(v) || !a.Allows(name, v) {
					t.Errorf("%q at %q", name, v)
				}
			}
		}
	})
}

// A signature file is base64, or an error.
func FuzzSignatureFile(f *testing.F) {
	for _, text := range []string{
		"untrusted comment: x\nAAAA\ntrusted comment: y\nBBBB\n",
		`{"alg":"Ed25519","signature":"aaaaaaaaaaaaaaaa","keyId":"k"}`,
		`{"sig":"aaaaaaaaaaaaaaaa"}`, strings.Repeat("QUJD", 20), " aaaa\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSignatureFile(data)
		if err != nil {
			return
		}
		if raw, bad := base64.StdEncoding.DecodeString(s.Signature); bad == nil && len(raw) > len(data) {
			t.Errorf("%d bytes of signature in %d", len(raw), len(data))
		}
		m, err := Parse([]byte(manifest("")))
		if err != nil {
			t.Fatal(err)
		}
		c := &check{b: &Bundle{Signature: data}, m: m}
		if by := c.signatureEvidence(); len(by) != 0 {
			t.Errorf("signed by %q, and nobody is trusted", by)
		}
	})
}

func FuzzPackageLock(f *testing.F) {
	f.Add([]byte(`{"packages":{"node_modules/":{}}}`))
	f.Add([]byte(
		`{"lockfileVersion":3,"packages":{"":{},"node_modules/@a/b":{"version":"1.0.0","integrity":"sha512-AAAA"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := ParsePackageLock(data)
		if err != nil {
			return
		}
		for _, v := range found {
			if v.Name == "" || packageOf(v.Name) != v.Name {
				t.Errorf("vouches for %q", v.Name)
			}
		}
	})
}

// Every tool that a host could not offer is named, and no other.
func FuzzRegistered(f *testing.F) {
	f.Add([]byte(`{"tools":[{},"a b"]}`))
	f.Add([]byte(
		`{"tools":["a",{"name":"b","inputSchema":{"type":"object"}}],"resources":[{"uri":"file:///x"}],` +
			`"prompts":[{"name":"p"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRegistered(data)
		if err != nil {
			return
		}
		c := &check{b: new(Bundle), m: new(Manifest), host: Host{Registered: r}}
		c.capabilityEvidence(c.host.Registered)
		good := 0
		for _, e := range c.report {
			if e.Scheme == evidence.Tool && e.Outcome == evidence.Match {
				good++
			}
		}
		for _, tool := range r.Tools {
			if toolNamePattern().MatchString(tool.Name) && (tool.named || checkToolSchema(tool.Schema) == nil) {
				good--
			}
		}
		if good != 0 {
			t.Errorf("%d tools too many match", good)
		}
	})
}

// Whatever a manifest holds, it is read, and what has a problem is never accepted.
func FuzzInspect(f *testing.F) {
	for _, text := range []string{full, manifest(published2), manifest(`"name":"A","permissions":[],"signatures":[7,{"alg":"a"}]`),
		manifest(`"externalDependencies":[{"name":"a","version":"^1"}],"dist":{"hash":7,"checksums":{"files":[null]}}`),
		manifest(`"manifestVersion":1,"capabilities":{"tools":[null,{}]}`), `{"dist":{"hash":"sha256:"}}`, manifest(`"":[],"-":7`)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, refused := Parse(data)
		m, err := Inspect(data)
		if err != nil {
			if refused == nil {
				t.Fatalf("it is parsed, and not inspected: %v", err)
			}
			return
		}
		if sound := len(m.Issues()) == 0; sound != (refused == nil) || sound != (parsed != nil) {
			t.Fatalf("%d problems, and parsing says %v", len(m.Issues()), refused)
		}
		b := &Bundle{Manifest: data, Files: []tree.File{{Path: "index.js", Size: 1}}, Contents: map[string][]byte{"index.js": []byte("1")}}
		hash, err := b.Hash(t.Context(), tree.Guide)
		if err != nil {
			t.Fatal(err)
		}
		m.Dist = Dist{Hash: hash.String(), FileCount: -1, Bytes: -1} // what else is wrong is not about the files
		r, err := Check(t.Context(), b, m, Host{Scan: scanLines,
			Flags: Flags{AllowRuntimeDeps: true, SandboxAvailable: true}})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Issues()) > 0 && r.Verdict.Allowed() {
			t.Errorf("it is allowed with %q", m.Issues())
		}
	})
}
