package api

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// githubNames begin the names of servers that belong to users and organisations of
// GitHub.
const githubNames = "io.github."

// permits reports whether a bearer may act on the archives of a name. A name in a scope,
// "@scope/name", is for who may act on the server "io.github.scope/name": GitHub's names
// are the only ones that have one owner each in one segment, in which letters do not
// count as they are written. Otherwise, as for names without a scope, the token has to
// name it.
func permits(g registry.Grant, action registry.Action, name string) bool {
	if g.Allows(action, name) {
		return true
	}
	inScope, ok := strings.CutPrefix(name, "@")
	if !ok {
		return false
	}
	var owned registry.Grant
	for _, p := range g.Permissions {
		if strings.HasPrefix(p.Resource, githubNames) {
			p.Resource = strings.ToLower(p.Resource)
			owned.Permissions = append(owned.Permissions, p)
		}
	}
	return owned.Allows(action, githubNames+inScope)
}

// blocksArchive reports whether nobody may publish archives under name.
func (p Policy) blocksArchive(name string) bool {
	inScope, ok := strings.CutPrefix(name, "@")
	return p.blocks(name) || ok && p.blocks(githubNames+inScope)
}
