package api

import (
	"bytes"
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Policy is what the operator of a registry decides, and may decide anew while it runs.
// As a file it is TOML with the members below, all of them optional:
//
//	validation = "enforce"
//	require_hashes = false
//	allow_anonymous = false
//	blocked = ["com.example.spam/*"]
type Policy struct {
	Validation     registry.Validation `toml:"validation"`      // "" is Enforce
	RequireHashes  bool                `toml:"require_hashes"`  // a package without a claim is refused
	AllowAnonymous bool                `toml:"allow_anonymous"` // publishes without a token are taken
	// names, as in a permission, under which nobody publishes
	Blocked []string `toml:"blocked"`
}

// MaxPolicy is the size of a policy's file, in bytes.
const MaxPolicy = 1 << 20

// ParsePolicy reads a policy's file. Members that it does not have come from the
// policy given; unknown ones are errors.
func ParsePolicy(data []byte, p Policy) (Policy, error) {
	if len(data) > MaxPolicy {
		return Policy{}, fmt.Errorf("policy: larger than %d bytes", MaxPolicy)
	}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	return p, p.check()
}

// check is an error unless p makes sense.
func (p Policy) check() error {
	switch p.Validation {
	case "", registry.Observe, registry.Enforce:
	case registry.Off:
		if p.RequireHashes {
			return fmt.Errorf("hashes cannot be required while validation is off")
		}
	default:
		return fmt.Errorf("validation %+q is none of off, observe and enforce", string(p.Validation))
	}
	for _, b := range p.Blocked {
		if err := registry.CheckResource(b); err != nil {
			return fmt.Errorf("blocked: %w", err)
		}
	}
	return nil
}

// blocks reports whether nobody may publish under name.
func (p Policy) blocks(name string) bool {
	g := registry.Grant{}
	for _, b := range p.Blocked {
		g.Permissions = append(g.Permissions, registry.Permission{Action: registry.ActionPublish, Resource: b})
	}
	return g.Allows(registry.ActionPublish, name)
}
