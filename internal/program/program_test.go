package program

import (
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestEnvironmentOfFacet: the author of a facet sets what concerns the server, and neither
// what code is loaded nor what is the user's.
func TestEnvironmentOfFacet(t *testing.T) {
	environ := []string{"HOME=/home/me", "LANG=C", "SECRET=x"}
	getenv := func(name string) string {
		return map[string]string{"HOME": "/home/me", "LANG": "C", "SECRET": "x"}[name]
	}
	for name, allowed := range map[string]bool{
		"GREETING": true, "LANG": true, "PATH": false, "LD_PRELOAD": false, "NODE_OPTIONS": false,
		"HOME": false, "DOCKER_HOST": false, "DOCKER_CONFIG": false, "CONTAINER_HOST": false, "XDG_CONFIG_HOME": false,
	} {
		p := &Program{Server: "s", Path: "/bin", Values: map[string]string{name: "value"}}
		env, err := p.buildEnvironment(getenv, environ)
		if allowed != (err == nil) || allowed != slices.Contains(env, name+"=value") || err != nil &&
			evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: %v, %q", name, err, env)
		}
		if slices.Contains(env, "SECRET=x") {
			t.Errorf("%s: a variable that nobody declared is passed", name)
		}
	}
}
