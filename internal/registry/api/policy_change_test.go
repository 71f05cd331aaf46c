package api_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

// The policy is that of the moment.
func TestPolicyChanges(t *testing.T) {
	var now atomic.Pointer[api.Policy]
	now.Store(&api.Policy{AllowAnonymous: true})
	f := servertest.Serve(t, evidence.Report{registrytest.Mismatching(registrytest.NpmID)}, func(c *api.Config) {
		c.AllowAnonymous = false
		c.CurrentPolicy = func() api.Policy { return *now.Load() }
	})
	ctx := context.Background()
	publish := func(name string) error {
		_, err := f.Publish(ctx, registrytest.Document(name, "1.0.0"), "")
		return err
	}
	registrytest.WantProblem(t, publish("io.github.o/aa"), 422)
	now.Store(&api.Policy{AllowAnonymous: true, Validation: registry.Observe, Blocked: []string{"io.github.spam/*"}})
	if err := publish("io.github.o/aa"); err != nil {
		t.Error(err)
	}
	registrytest.WantProblem(t, publish("io.github.spam/aa"), 403, "io.github.spam/aa")
	if about, err := f.About(ctx); err != nil || about.FileHashes != registry.Observe {
		t.Errorf("%+v, %v", about, err)
	}
	now.Store(&api.Policy{Validation: registry.Off})
	registrytest.WantProblem(t, publish("io.github.o/bb"), 401)
}
