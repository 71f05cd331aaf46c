package surface

import "strings"

// PointerToken is a member's name as a token of a JSON pointer (RFC 6901).
func PointerToken(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// lastToken is the member's name at the end of a JSON pointer.
func lastToken(pointer string) string {
	token := pointer[strings.LastIndexByte(pointer, '/')+1:]
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
