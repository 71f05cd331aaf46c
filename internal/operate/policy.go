package operate

import (
	"os"
	"sync/atomic"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
)

// currentPolicy holds the policy of a registry, which may be reloaded while it runs.
type currentPolicy struct {
	current atomic.Pointer[api.Policy]
}

// newCurrentPolicy reads the policy that a registry starts with.
func newCurrentPolicy(o ServeOptions) (*currentPolicy, error) {
	p, err := readPolicy(o)
	if err != nil {
		return nil, err
	}
	c := new(currentPolicy)
	c.current.Store(&p)
	return c, nil
}

// get returns the policy that holds now.
func (c *currentPolicy) get() api.Policy { return *c.current.Load() }

// reload reads the policy's file again. If that fails the old policy stays.
func (c *currentPolicy) reload(o ServeOptions) {
	p, err := readPolicy(o)
	if err != nil {
		o.Logger.Error("policy stays as it was", "error", err)
		return
	}
	c.current.Store(&p)
	o.Logger.Info("policy read again", "validation", p.Validation, "require_hashes", p.RequireHashes,
		"allow_anonymous", p.AllowAnonymous, "blocked", len(p.Blocked))
}

// readPolicy returns the policy of the options, overridden by that of the file.
func readPolicy(o ServeOptions) (api.Policy, error) {
	p := api.Policy{Validation: o.Validation, RequireHashes: o.RequireHashes, AllowAnonymous: o.AllowAnonymous}
	if o.PolicyFile == "" {
		return p, nil
	}
	data, err := host.ReadNamed(o.PolicyFile, api.MaxPolicy)
	if err == nil && data == nil {
		err = evidence.Errorf(evidence.Operation, o.PolicyFile, "--policy names a file that exists", os.ErrNotExist)
	}
	if err != nil {
		return api.Policy{}, err
	}
	if p, err = api.ParsePolicy(data, p); err != nil {
		return api.Policy{}, evidence.Errorf(evidence.Validation, o.PolicyFile, "", err)
	}
	return p, nil
}
