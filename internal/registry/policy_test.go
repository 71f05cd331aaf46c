package registry

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

func TestParsePolicy(t *testing.T) {
	flags := Policy{Validation: Observe, AllowAnonymous: true}
	for text, want := range map[string]Policy{
		"":                           flags,
		"# nothing\n":                flags,
		`validation = "enforce"`:     {Validation: Enforce, AllowAnonymous: true},
		"allow_anonymous = false":    {Validation: Observe},
		`blocked = ["com.spam/*"]`:   {Validation: Observe, AllowAnonymous: true, Blocked: []string{"com.spam/*"}},
		"require_hashes = true\n\n#": {Validation: Observe, AllowAnonymous: true, RequireHashes: true},
	} {
		got, err := ParsePolicy([]byte(text), flags)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		equal(t, text, got, want)
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

// The policy is that of the moment.
func TestPolicyChanges(t *testing.T) {
	var now atomic.Pointer[Policy]
	now.Store(&Policy{AllowAnonymous: true})
	f := serve(t, evidence.Report{mismatching(npmID)}, func(c *Config) {
		c.AllowAnonymous = false
		c.CurrentPolicy = func() Policy { return *now.Load() }
	})
	ctx := context.Background()
	publish := func(name string) error {
		_, err := f.Publish(ctx, document(name, "1.0.0"), "")
		return err
	}
	wantProblem(t, publish("io.github.o/aa"), 422)
	now.Store(&Policy{AllowAnonymous: true, Validation: Observe, Blocked: []string{"io.github.spam/*"}})
	if err := publish("io.github.o/aa"); err != nil {
		t.Error(err)
	}
	wantProblem(t, publish("io.github.spam/aa"), 403, "io.github.spam/aa")
	if about, err := f.About(ctx); err != nil || about.FileHashes != Observe {
		t.Errorf("%+v, %v", about, err)
	}
	now.Store(&Policy{Validation: Off})
	wantProblem(t, publish("io.github.o/bb"), 401)
}
