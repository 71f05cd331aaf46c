package serverjson

import "github.com/hallmark-mcp/hallmark/surface"

// Canonical is the RFC 8785 form of a JSON document. It refuses what that form would
// silently change, that is integers beyond ±2^53, and what parsers read differently.
func Canonical(raw []byte) ([]byte, error) {
	return surface.Canonical(raw, surface.Limits{Size: MaxSize, Depth: MaxDepth})
}
