package surface

import "strings"

// PointerToken is a member's name as a token of a JSON pointer (RFC 6901).
func PointerToken(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
