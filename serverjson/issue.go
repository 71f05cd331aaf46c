package serverjson

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// maxIssues bounds what is reported of one document.
const maxIssues = 200

// The types of issues: where in reading a document a problem was found.
const (
	TypeJSON     = "json"     // not strict JSON
	TypeSchema   = "schema"   // members missing, unknown or of the wrong type or form
	TypeSemantic = "semantic" // well formed, but wrong
)

// The severities of issues.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
	SeverityInfo    = "info"
)

// Issue is one problem of a document.
type Issue struct {
	Type      string `json:"type"`
	Path      string `json:"path"` // JSON pointer, "" for the whole document
	Message   string `json:"message"`
	Severity  string `json:"severity"`
	Reference string `json:"reference"` // stable name of the rule
}

// String is one line, path and message, escaped.
func (i Issue) String() string {
	return surface.Escape(cmp.Or(i.Path, "document")) + ": " + surface.EscapeSentence(i.Message)
}

// Issues is a list of problems.
type Issues []Issue

// ForPublish returns issues as registries judge them: see [Document.ValidateForPublish].
func (is Issues) ForPublish() Issues {
	out := slices.Clone(is)
	for i := range out {
		if out[i].Reference == "schema-field-required" {
			out[i].Severity = SeverityError
		}
	}
	return out
}

// Errors returns the issues that make a document unusable.
func (is Issues) Errors() Issues {
	var out Issues
	for _, i := range is {
		if i.Severity == SeverityError {
			out = append(out, i)
		}
	}
	return out
}

// Err is an [*Invalid] holding all issues if one of them is an error, else nil.
func (is Issues) Err() error {
	if len(is.Errors()) == 0 {
		return nil
	}
	return &Invalid{is}
}

// sortIssues orders issues by place.
func sortIssues(is Issues) Issues {
	slices.SortStableFunc(is, func(a, b Issue) int { return cmp.Compare(a.Path, b.Path) })
	return is
}

// Invalid is the error of a document with problems.
type Invalid struct{ Issues Issues }

const sourceModeReference = "source-mode"

// SourceMode reports whether the document is no document of this package, but the
// server.json of a server that is packed from source.
func (e *Invalid) SourceMode() bool {
	return len(e.Issues) == 1 && e.Issues[0].Reference == sourceModeReference
}

// Error lists the first ten errors, a line each.
func (e *Invalid) Error() string {
	errs := e.Issues.Errors()
	lines := make([]string, min(len(errs), 10))
	for i := range lines {
		lines[i] = errs[i].String()
	}
	if more := len(errs) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return "server.json is not valid: " + strings.Join(lines, "; ")
}
