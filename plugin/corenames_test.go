package plugin

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// What Node knows with "node:" only is a package without it, which anybody may have published: no permission
// makes it a module of Node.
func TestSchemeOnly(t *testing.T) {
	for _, name := range []string{"test", "test/reporters", "sea", "sqlite", "ffi", "quic"} {
		if IsCore(name) || !IsCore("node:"+name) {
			t.Errorf("%s is core: %v; with the scheme: %v", name, IsCore(name), IsCore("node:"+name))
		}
		for _, specifier := range []string{name, "node:" + name} {
			scan := func(string, []byte) ([]Import, error) {
				return []Import{{Kind: Require, Specifier: specifier}}, nil
			}
			b, m := bundle(t, `"permissions": {"network": true, "fsRead": true, "fsWrite": true, "exec": true}`, nil)
			r, err := Check(t.Context(), b, m, Host{Scan: scan})
			if err != nil {
				t.Fatal(err)
			}
			if want := specifier != name; r.Verdict.Allowed() != want || !want && r.Verdict.Class() != evidence.Refused {
				t.Errorf("%s: %v", specifier, r.Verdict.Err())
			}
		}
	}
	for _, name := range []string{"fs", "fs/promises", "_tls_wrap", "sys"} {
		if !IsCore(name) || !IsCore("node:"+name) || IsCore(name+"/other") || IsCore("node:"+name+"/other") {
			t.Errorf("%s, or a subpath of it, is taken for something else", name)
		}
	}
}
