package registry

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

// pagesStyle is the style sheet.
//
//go:embed pages.css
var pagesStyle string

// pageSecurity lets a browser load nothing, use this one style sheet, and send the search
// to this registry.
var pageSecurity = "default-src 'none'; style-src '" + styleHash(pagesStyle) + "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// styleHash is the source of a style sheet as a policy names it.
func styleHash(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
