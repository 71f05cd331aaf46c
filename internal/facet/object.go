package facet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxIssues bounds what is reported of one document.
const maxIssues = 200

// Issue is one problem of a document.
type Issue struct {
	Path    string `json:"path"` // JSON pointer; of an archive the member; "" for the whole
	Message string `json:"message"`
}

// Invalid is the error of a document, or of an archive, with problems.
type Invalid struct {
	File   string // "facet.json", "server.json", "build-manifest.json" or "archive"
	Issues []Issue
}

// Error lists the first ten issues, a line each.
func (e *Invalid) Error() string {
	lines := make([]string, min(len(e.Issues), 10))
	for i := range lines {
		lines[i] = surface.Escape(e.Issues[i].Message)
		if path := e.Issues[i].Path; path != "" {
			lines[i] = surface.Escape(path) + ": " + lines[i]
		}
	}
	if more := len(e.Issues) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return e.File + " is not valid: " + strings.Join(lines, "; ")
}

// Class is validation.
func (e *Invalid) Class() evidence.Class { return evidence.Validation }

// problems collects what is wrong with a document.
type problems struct{ issues []Issue }

// add reports a problem at a JSON pointer, up to maxIssues of them.
func (p *problems) add(at, format string, args ...any) {
	if len(p.issues) < maxIssues {
		p.issues = append(p.issues, Issue{at, fmt.Sprintf(format, args...)})
	}
}

// asError is an [*Invalid] of the file with all problems, or nil if there are none.
func (p *problems) asError(file string) error {
	if len(p.issues) == 0 {
		return nil
	}
	return &Invalid{file, p.issues}
}

// object is a JSON object whose members are taken one by one. Member names are
// compared exactly, as encoding/json does not.
type object struct {
	*problems
	at      string // JSON pointer
	members map[string]json.RawMessage
}

// readDocument parses a whole document of at most size bytes, strictly.
func (p *problems) readDocument(data []byte, size int) (object, bool) {
	if err := surface.CheckJSON(data, surface.Limits{Size: size, Depth: MaxDepth}); err != nil {
		p.add("", "%v", err)
		return object{}, false
	}
	return p.readObject(data, "")
}

// readObject reads raw, which is JSON already.
func (p *problems) readObject(raw json.RawMessage, at string) (object, bool) {
	o := object{problems: p, at: at}
	if kindOf(raw) != '{' || json.Unmarshal(raw, &o.members) != nil {
		p.add(at, "must be an object")
		return object{}, false
	}
	return o, true
}

// kindOf is the first byte of a JSON value: one of { [ " t f n or of a number.
func kindOf(raw json.RawMessage) byte {
	if text := strings.TrimLeft(string(raw[:min(len(raw), 64)]), " \t\r\n"); text != "" {
		return text[0]
	}
	return 0
}

// takeMember removes a member.
func (o object) takeMember(name string) (raw json.RawMessage, at string, ok bool) {
	raw, ok = o.members[name]
	delete(o.members, name)
	return raw, o.at + "/" + surface.PointerToken(name), ok
}

// takeText takes a string, which must not be empty if it is required.
func (o object) takeText(name string, required bool) string {
	raw, at, ok := o.takeMember(name)
	if !ok {
		if required {
			o.add(at, "is missing")
		}
		return ""
	}
	s, ok := o.readString(raw, at)
	if ok && s == "" && required {
		o.add(at, "must not be empty")
	}
	return s
}

// readString reads raw, which is JSON already, as a string.
func (p *problems) readString(raw json.RawMessage, at string) (s string, ok bool) {
	if n := len(raw); n > 1 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : n-1]), true // valid JSON without escapes is the text itself
	}
	if kindOf(raw) != '"' || json.Unmarshal(raw, &s) != nil {
		p.add(at, "must be a string")
		return "", false
	}
	return s, true
}

// takeBool takes a boolean; false if it is missing.
func (o object) takeBool(name string) (b bool) {
	raw, at, ok := o.takeMember(name)
	if c := kindOf(raw); ok && (c != 't' && c != 'f' || json.Unmarshal(raw, &b) != nil) {
		o.add(at, "must be true or false")
	}
	return b
}

// takeObject takes an object and calls f for its members, sorted by name.
func (o object) takeObject(name string, f func(name string, raw json.RawMessage, at string)) {
	raw, at, ok := o.takeMember(name)
	if !ok {
		return
	}
	in, ok := o.readObject(raw, at)
	if !ok {
		return
	}
	for _, key := range sortedKeys(in.members) {
		f(key, in.members[key], at+"/"+surface.PointerToken(key))
	}
}

// takeList takes an array and calls f for its elements.
func (o object) takeList(name string, f func(raw json.RawMessage, at string)) {
	raw, at, ok := o.takeMember(name)
	if !ok {
		return
	}
	var elements []json.RawMessage
	if kindOf(raw) != '[' || json.Unmarshal(raw, &elements) != nil {
		o.add(at, "must be an array")
		return
	}
	for i, raw := range elements {
		f(raw, fmt.Sprintf("%s/%d", at, i))
	}
}

// takeTexts takes an array of strings, none of them twice, and checks each.
func (o object) takeTexts(name string, check func(s, at string)) []string {
	var out []string
	seen := map[string]bool{}
	o.takeList(name, func(raw json.RawMessage, at string) {
		s, ok := o.readString(raw, at)
		if !ok {
			return
		}
		if seen[s] {
			o.add(at, "%+q is there twice", s)
			return
		}
		seen[s] = true
		check(s, at)
		out = append(out, s)
	})
	return out
}

// refuseUnknown reports the members that were not taken as unknown.
func (o object) refuseUnknown() {
	for _, name := range sortedKeys(o.members) {
		o.add(o.at+"/"+surface.PointerToken(name), "unknown member")
	}
}

// warnUnknown returns a warning for each member that was not taken.
func (o object) warnUnknown() []string {
	var out []string
	for _, name := range sortedKeys(o.members) {
		out = append(out, fmt.Sprintf("unknown member %+q", name))
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
