package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// normalName is the one form of all spellings of a package's name. PyPI has the one of PEP 503; others have one
// spelling.
func normalName(kind artifact.Kind, name string) string {
	if kind != artifact.PyPI {
		return name
	}
	var b strings.Builder
	for i, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_.", r) }) {
		if i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(strings.ToLower(part))
	}
	return b.String()
}

// mostPackageNames is how many names of one document are kept; one with more is always decoded.
const mostPackageNames = 64

var (
	nameMember = []byte(`"name"`)
	errNoJSON  = errors.New("is no JSON")
)

// findPackageNames returns the values of all members "name" in a document, which is not decoded for it, as most are
// about packages that nobody asks about. It is unsure if a name is, or may be, written with escapes, or if there are
// more than mostPackageNames. A document without such a member must be JSON.
func findPackageNames(data []byte, kind artifact.Kind) (names []string, unsure bool, err error) {
	// A letter of the member's own name can be escaped: the codes of a, e, m and n begin so.
	unsure = bytes.Contains(data, []byte(`\u006`))
	found := false
	for rest := data; ; {
		_, after, ok := bytes.Cut(rest, nameMember)
		if !ok {
			break
		}
		rest = after
		value, member := bytes.CutPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(":"))
		value, named := bytes.CutPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte(`"`))
		if !member || !named {
			continue
		}
		text, _, ok := bytes.Cut(value, []byte(`"`))
		if !ok {
			return nil, false, errNoJSON
		}
		found = true
		if bytes.IndexByte(text, '\\') >= 0 || len(names) == mostPackageNames {
			unsure = true
		} else if name := normalName(kind, string(text)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !found && !unsure && !json.Valid(data) {
		return nil, false, errNoJSON
	}
	return names, unsure, nil
}
