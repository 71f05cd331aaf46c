package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxIssues bounds what is reported of one manifest.
const maxIssues = 200

// Issue is one problem of a manifest.
type Issue struct {
	Path    string `json:"path"` // JSON pointer; "" for the whole
	Message string `json:"message"`
}

// String is the path and the message, escaped.
func (i Issue) String() string { return surface.Escape(i.text()) }

// text is the path and the message as they stand.
func (i Issue) text() string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

// Invalid is the error of a manifest with problems.
type Invalid struct {
	Issues []Issue
	// NoHash says that dist.hash is missing or malformed besides; it is one of Issues.
	NoHash bool
}

// Error lists the first ten issues, a line each.
func (e *Invalid) Error() string {
	var lines []string
	for _, i := range e.Issues[:min(len(e.Issues), 10)] {
		lines = append(lines, i.String())
	}
	if more := len(e.Issues) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return ManifestFile + " is not valid: " + strings.Join(lines, "; ")
}

// Class is validation, or integrity where dist.hash is at fault too: without it nothing
// can be compared, whatever else is wrong.
func (e *Invalid) Class() evidence.Class {
	if e.NoHash {
		return evidence.Integrity
	}
	return evidence.Validation
}

// Issues are the problems of the manifest's form, in the order of their places.
func (m *Manifest) Issues() []Issue { return slices.Clone(m.issues) }

// invalid is the error of a manifest with problems.
func (m *Manifest) invalid() *Invalid { return &Invalid{m.issues, m.noHash} }
