package plugin

import (
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/policy"
)

// Flags are what a host permits and demands. Their JSON names come from the
// environment.
type Flags struct {
	AllowRuntimeDeps   bool `json:"PLUGIN_ALLOW_RUNTIME_DEPS"` // external packages, as the plugin's policy has it
	AllowNative        bool `json:"PLUGIN_ALLOW_NATIVE"`       // .node files, in a sandbox
	RequireSignatures  bool `json:"REQUIRE_SIGNATURES"`        // one by a trusted key must hold
	StrictCapabilities bool `json:"STRICT_CAPABILITIES"`       // declared and registered names are the same
	StrictTools        bool `json:"STRICT_TOOLS"`              // registered tools are well formed
	// counts, coverage and integrity of externals must be there
	StrictIntegrity  bool `json:"STRICT_INTEGRITY"`
	SandboxAvailable bool `json:"SANDBOX_AVAILABLE"` // the host runs plugins in a sandbox
}

// names maps the environment to flags; two names may stand for one.
func (f *Flags) names() map[string]*bool {
	return map[string]*bool{
		"PLUGIN_ALLOW_RUNTIME_DEPS": &f.AllowRuntimeDeps,
		"PLUGIN_ALLOW_NATIVE":       &f.AllowNative,
		"REQUIRE_SIGNATURES":        &f.RequireSignatures,
		"PLUGIN_REQUIRE_SIGNED":     &f.RequireSignatures,
		"STRICT_CAPABILITIES":       &f.StrictCapabilities,

		"PLUGIN_STRICT_CAPABILITIES": &f.StrictCapabilities,

		"STRICT_TOOLS":      &f.StrictTools,
		"STRICT_INTEGRITY":  &f.StrictIntegrity,
		"SANDBOX_AVAILABLE": &f.SandboxAvailable,
	}
}

// ReadFlags reads the flags of an environment. A value is 1, true, yes or on, in any
// case; 0, false, no, off or nothing. Anything else is an error: taken for false it would
// end a check that somebody asked for.
func ReadFlags(getenv func(string) string) (Flags, error) {
	var f Flags
	for name, flag := range f.names() {
		switch value := strings.ToLower(strings.TrimSpace(getenv(name))); value {
		case "1", "true", "yes", "on":
			*flag = true
		case "", "0", "false", "no", "off":
		default:
			return Flags{}, fmt.Errorf("%s is %+q, neither true (1, true, yes, on) nor false (0, false, no, off)", name,
				clip(value))
		}
	}
	return f, nil
}

// settings are the policy's settings that the flags make.
func (f Flags) settings(strict bool) policy.Settings {
	return policy.Settings{
		Strict: strict, StrictIntegrity: f.StrictIntegrity, RequireSignatures: f.RequireSignatures,
		StrictCapabilities: f.StrictCapabilities, StrictTools: f.StrictTools,
	}
}

// Within is what a host with flags f permits and demands of a plugin that was locked under
// limits: what both permit, and what either demands. A lock beside a plugin is part of what
// is checked; it gives no right.
func (f Flags) Within(limits Flags) Flags {
	return Flags{
		AllowRuntimeDeps: f.AllowRuntimeDeps && limits.AllowRuntimeDeps,
		AllowNative:      f.AllowNative && limits.AllowNative,
		SandboxAvailable: f.SandboxAvailable && limits.SandboxAvailable,

		RequireSignatures:  f.RequireSignatures || limits.RequireSignatures,
		StrictCapabilities: f.StrictCapabilities || limits.StrictCapabilities,
		StrictTools:        f.StrictTools || limits.StrictTools,
		StrictIntegrity:    f.StrictIntegrity || limits.StrictIntegrity,
	}
}
