package api

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Who may publish which names.
func TestFacetsPermits(t *testing.T) {
	grant := func(resources ...string) registry.Grant {
		var g registry.Grant
		for _, r := range resources {
			g.Permissions = append(g.Permissions, registry.Permission{Action: registry.ActionPublish, Resource: r})
		}
		return g
	}
	for _, c := range []struct {
		grant registry.Grant
		name  string
		want  bool
	}{
		{grant("io.github.acme/*"), "@acme/notes", true},
		{grant("io.github.Acme/*"), "@acme/notes", true}, // GitHub's names have one owner in any letters
		{grant("io.github.acme/notes"), "@acme/notes", true},
		{grant("io.github.acme/notes"), "@acme/other", false},
		{grant("io.github.acme2/*"), "@acme/notes", false},
		{grant("io.github.ac/*"), "@acme/notes", false},
		{grant("io.github.acme/*"), "acme/notes", false},
		{grant("io.github.acme/*"), "notes", false},
		{grant("io.github.acme/*"), "acme", false},
		{grant("com.acme/*", "acme/*", "acme.com/*"), "@acme/notes", false},
		{grant("io.modelcontextprotocol.anonymous/*"), "@anonymous/notes", false},
		{grant("@acme/*"), "@acme/notes", true},
		{grant("@acme/notes"), "@acme/notes", true},
		{grant("@acme/*"), "@acme2/notes", false},
		{grant("@acme/*"), "io.github.acme/notes", false},
		{grant("*"), "@acme/notes", true},
		{grant("*"), "notes", true},
		{grant(), "notes", false},
	} {
		if got := permits(c.grant, registry.ActionPublish, c.name); got != c.want {
			t.Errorf("%v %s: %t", c.grant.Permissions, c.name, got)
		}
		if permits(c.grant, registry.ActionEdit, c.name) {
			t.Errorf("%v permits to edit", c.grant.Permissions)
		}
	}
	p := Policy{Blocked: []string{"io.github.spam/*", "@evil/*"}}
	for name, want := range map[string]bool{"@spam/x": true, "@evil/x": true, "@acme/x": false, "spam": false} {
		if got := p.blocksArchive(name); got != want {
			t.Errorf("%s: blocked %t", name, got)
		}
	}
}
