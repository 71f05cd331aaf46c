package flow

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/jsscan/literal"
)

// plainIdentifier returns a name with its escapes resolved.
func plainIdentifier(name []byte) string {
	s := string(name)
	if strings.Contains(s, `\`) {
		if plain, ok := literal.Unescape(s); ok {
			return plain
		}
	}
	return s
}
