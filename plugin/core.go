package plugin

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/nodecore"
)

// SDK is the package that hosts provide.
const SDK = "@modelcontextprotocol/sdk"

func (p Permissions) has(need string) bool {
	switch need {
	case nodecore.Network:
		return p.Network
	case nodecore.Files:
		return p.FSRead || p.FSWrite
	case nodecore.Execute:
		return p.Exec
	}
	return need == ""
}

// spellPermission is how a manifest declares a permission.
func spellPermission(need string) string {
	var out []string
	for name := range strings.SplitSeq(need, " or ") {
		out = append(out, `"permissions": {"`+name+`": true}`)
	}
	return strings.Join(out, " or ")
}

// IsCore reports whether a specifier names a module of Node, which is looked for nowhere else.
func IsCore(specifier string) bool {
	_, ok := nodecore.OfModule(specifier)
	return ok
}

// packageOf is the package that a bare specifier names: its first segment, or two of them
// if it has a scope.
func packageOf(specifier string) string {
	parts := strings.SplitN(specifier, "/", 3)
	if strings.HasPrefix(specifier, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
