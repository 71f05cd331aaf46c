package api

import (
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func FuzzPolicy(f *testing.F) {
	f.Add([]byte("validation = \"observe\"\nrequire_hashes = true\nblocked = [\"io.example/*\"]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy(data, Policy{Validation: registry.Enforce})
		if err != nil {
			return
		}
		if p.Validation != registry.Off && p.Validation != registry.Observe && p.Validation != registry.Enforce {
			t.Errorf("validation %q", p.Validation)
		}
	})
}

func TestParsePolicy(t *testing.T) {
	flags := Policy{Validation: registry.Observe, AllowAnonymous: true}
	for text, want := range map[string]Policy{
		"":                        flags,
		"# nothing\n":             flags,
		`validation = "enforce"`:  {Validation: registry.Enforce, AllowAnonymous: true},
		"allow_anonymous = false": {Validation: registry.Observe},
		`blocked = ["com.spam/*"]`: {Validation: registry.Observe, AllowAnonymous: true,
			Blocked: []string{"com.spam/*"}},
		"require_hashes = true\n\n#": {Validation: registry.Observe, AllowAnonymous: true, RequireHashes: true},
	} {
		got, err := ParsePolicy([]byte(text), flags)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		registrytest.Equal(t, text, got, want)
	}
	for _, text := range []string{
		`validation = "sometimes"`, `validation = 1`, `unknown = 1`, `blocked = "x"`, `blocked = ["com.example"]`,
		"validation = \"off\"\nrequire_hashes = true", "[", strings.Repeat("#", MaxPolicy+1),
	} {
		if p, err := ParsePolicy([]byte(text), flags); err == nil {
			t.Errorf("%.40q: %+v", text, p)
		}
	}
}
