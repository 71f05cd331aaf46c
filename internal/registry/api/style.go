package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

// Sheet is the style sheet.
//
//go:embed pages.css
var Sheet string

// Security lets a browser load nothing, use this one style sheet, and send the search
// to this registry.
var Security = "default-src 'none'; style-src '" + Hash(Sheet) +
	"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Hash is the source of a style sheet as a policy names it.
func Hash(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
