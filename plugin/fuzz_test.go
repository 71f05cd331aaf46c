package plugin

import (
	"strings"
	"testing"
)

func FuzzPackageLock(f *testing.F) {
	f.Add([]byte(`{"lockfileVersion":3,"packages":{"":{},"node_modules/@a/b":{"version":"1.0.0","integrity":"sha512-AAAA"}}}`))
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

func FuzzAllowlist(f *testing.F) {
	f.Add([]byte(`["a","@b/c"]`))
	f.Add([]byte(`{"allow":["a"],"dependencies":{"b":"1.2.3","c":["1.0.0"],"d":"*"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAllowlist(data)
		if err != nil {
			return
		}
		for name := range a.packages {
			if name == "" || strings.ContainsAny(name, " *") || packageOf(name) != name {
				t.Errorf("allows %q", name)
			}
		}
	})
}

func FuzzRegistered(f *testing.F) {
	f.Add([]byte(`{"tools":["a",{"name":"b","inputSchema":{"type":"object"}}],"resources":[{"uri":"file:///x"}],"prompts":[{"name":"p"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRegistered(data)
		if err != nil {
			return
		}
		for _, tool := range r.Tools {
			if !toolName.MatchString(tool.Name) {
				t.Errorf("a tool called %q", tool.Name)
			}
		}
	})
}

func FuzzSignatureFile(f *testing.F) {
	f.Add([]byte("untrusted comment: x\nAAAA\n"))
	f.Add([]byte(`{"alg":"ed25519","keyId":"k","sig":"AAAA"}`))
	f.Add([]byte("AAAAAAAAAAAAAAAAAAAAAAAA"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseSignatureFile(data); err == nil && len(s.Signature) > 32<<10 {
			t.Errorf("a signature of %d bytes", len(s.Signature))
		}
	})
}
