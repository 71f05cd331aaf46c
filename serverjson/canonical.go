package serverjson

import (
	"github.com/gowebpki/jcs"

	"github.com/hallmark-mcp/hallmark/surface"
)

// Canonical is the RFC 8785 form of a JSON document. It refuses what that form would
// silently change, that is integers beyond ±2^53, and what parsers read differently.
func Canonical(raw []byte) ([]byte, error) {
	if err := surface.CheckJSON(raw, surface.Limits{Size: MaxSize, Depth: MaxDepth}); err != nil {
		return nil, err
	}
	if err := surface.CheckNumbers(raw); err != nil {
		return nil, err
	}
	return jcs.Transform(raw)
}
