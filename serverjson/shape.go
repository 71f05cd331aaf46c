package serverjson

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// shape is what a JSON value must look like. The shapes below are the official schema of
// 2025-12-11 with the members of this package's format.
type shape struct {
	kind     kind
	members  map[string]*shape     // of an object; nil allows any
	required []string              // names of members
	each     *shape                // of an array, or of every member of an object without members
	min, max int                   // of a string, in code points; max 0 is no limit
	enum     []string              // of a string
	pattern  func() *regexp.Regexp // of a string
	says     string                // what pattern or enum demands, in words; "" shows them
}

type kind string

const (
	isString  kind = "string"
	isBoolean kind = "boolean"
	isArray   kind = "array"
	isObject  kind = "object"
)

var (
	text         = &shape{kind: isString}
	nonEmptyText = &shape{kind: isString, min: 1}
	boolean      = &shape{kind: isBoolean}
	object       = &shape{kind: isObject} // with any members

	hex64      = spelling.Form(`^[a-f0-9]{64}$`)
	httpURL    = spelling.Form(`^https?://[^\s]+$`)
	iconSize   = spelling.Form(`^([0-9]+x[0-9]+|any)$`)
	schemaName = spelling.Form(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

	input = map[string]*shape{
		"description": text, "isRequired": boolean, "isSecret": boolean,
		"value": text, "default": text, "placeholder": text,
		"format":  {kind: isString, enum: []string{"string", "number", "boolean", "filepath"}},
		"choices": {kind: isArray, each: text},
	}
	variables = &shape{kind: isObject, each: &shape{kind: isObject, members: input}}
	keyValues = &shape{kind: isArray, each: &shape{kind: isObject, required: []string{"name"},
		members: mergeShapes(input, map[string]*shape{"name": text, "variables": variables})}}
	arguments = &shape{kind: isArray, each: &shape{kind: isObject, required: []string{"type"},
		members: mergeShapes(input, map[string]*shape{
			"type": {kind: isString, enum: []string{"positional", "named"}},
			"name": text, "valueHint": text, "isRepeated": boolean, "variables": variables,
		})}}
	transport = map[string]*shape{
		"type":    {kind: isString, enum: []string{"stdio", "streamable-http", "sse"}},
		"url":     {kind: isString, pattern: httpURL},
		"headers": keyValues, "variables": variables,
	}
	document = &shape{kind: isObject, required: []string{"name", "description", "version"}, members: map[string]*shape{
		"$schema":     {kind: isString, min: 1},
		"name":        {kind: isString, min: 3, max: 200, pattern: schemaName},
		"title":       {kind: isString, min: 1, max: 100},
		"description": {kind: isString, min: 1, max: 100},
		"version":     {kind: isString, min: 1, max: 255},
		"websiteUrl":  nonEmptyText,
		"repository": {kind: isObject, required: []string{"url", "source"}, members: map[string]*shape{
			"url": nonEmptyText, "source": nonEmptyText, "id": text, "subfolder": text}},
		"icons": {kind: isArray, each: &shape{kind: isObject, required: []string{"src"}, members: map[string]*shape{
			"src": {kind: isString, min: 1, max: 255},
			"mimeType": {kind: isString, enum: []string{
				"image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"}},
			"sizes": {kind: isArray, each: &shape{kind: isString, pattern: iconSize}},
			"theme": {kind: isString, enum: []string{"light", "dark"}},
		}}},
		"packages": {kind: isArray, each: &shape{kind: isObject,
			required: []string{"registryType", "identifier", "transport"}, members: map[string]*shape{
				"registryType": {kind: isString, min: 1}, "identifier": {kind: isString, min: 1},
				"registryBaseUrl": nonEmptyText, "runtimeHint": text,
				"version": {kind: isString, min: 1, max: 255},
				"fileSha256": {kind: isString, pattern: hex64, says: "64 lower-case hex digits, without " +
					"sha256: before them"},
				"transport":        {kind: isObject, required: []string{"type"}, members: transport},
				"runtimeArguments": arguments, "packageArguments": arguments, "environmentVariables": keyValues,
			}}},
		"remotes": {kind: isArray, each: &shape{kind: isObject, required: []string{"type"},
			members: mergeShapes(transport, map[string]*shape{ // where stdio is refused with a reason of its own
				"type": {kind: isString, enum: transport["type"].enum, says: "streamable-http, sse"}})}},
		"file_hashes": {kind: isObject, each: text},
		"package_location": {kind: isObject, required: []string{"type"}, members: map[string]*shape{
			"type":         {kind: isString, enum: []string{"npm", "pypi", typeGitHub, typeURL}},
			"package_name": text, "version": {kind: isString, min: 1, max: 255}, "url": text}},
		"_meta": {kind: isObject, members: nil},
	}}
)

// mergeShapes are the members of a and b.
func mergeShapes(a, b map[string]*shape) map[string]*shape {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// walker compares a value with its shape and drops from it what does not fit, so that
// the rest can still be read.
type walker struct {
	issues      Issues
	underscored bool     // member names are written as_this
	beyond      []string // the paths of members that fit, and that the official schema does not have
}

func (w *walker) add(path, reference, format string, args ...any) {
	if len(w.issues) < maxIssues {
		w.issues = append(w.issues, Issue{TypeSchema, path, fmt.Sprintf(format, args...), SeverityError, reference})
	}
}

// walk reports whether v is of the kind that s wants. Objects are changed in place.
func (w *walker) walk(v any, s *shape, path string) bool {
	switch v := v.(type) {
	case nil:
		w.add(path, "null", "must be %s %s; a member without a value is left out", article(s.kind), s.kind)
		return false
	case string:
		if s.kind == isString {
			w.walkString(v, s, path)
			return true
		}
	case bool:
		if s.kind == isBoolean {
			return true
		}
	case []any:
		if s.kind == isArray {
			for i, x := range v {
				if s.each != nil && !w.walk(x, s.each, path+"/"+strconv.Itoa(i)) {
					v[i] = nil
				}
			}
			return true
		}
	case map[string]any:
		if s.kind == isObject {
			w.walkObject(v, s, path)
			return true
		}
	}
	w.add(path, "wrong-type", "must be %s %s", article(s.kind), s.kind)
	return false
}

func article(k kind) string {
	if k == isArray || k == isObject {
		return "an"
	}
	return "a"
}

func (w *walker) walkString(v string, s *shape, path string) {
	n := utf8.RuneCountInString(v)
	switch {
	case n < s.min && n == 0:
		w.add(path, "empty", "must not be empty")
	case n < s.min:
		w.add(path, "too-short", "must have at least %d characters", s.min)
	case s.max > 0 && n > s.max:
		w.add(path, "too-long", "must have at most %d characters, has %d", s.max, n)
	case s.enum != nil && !slices.Contains(s.enum, v):
		w.add(path, "not-one-of", "%+q is not one of %s", clip(v), cmp.Or(s.says, strings.Join(s.enum, ", ")))
	case s.pattern != nil && !s.pattern().MatchString(v):
		if problem := placeholderIn(v); problem != "" {
			w.add(path, "pattern", "%s", problem)
			return
		}
		if s.says != "" {
			w.add(path, "pattern", "%+q is not %s", clip(v), s.says)
			return
		}
		w.add(path, "pattern", "%+q does not match %s", clip(v), s.pattern())
	}
}

func (w *walker) walkObject(v map[string]any, s *shape, path string) {
	if s.members == nil && s.each == nil {
		return
	}
	for _, written := range slices.Sorted(maps.Keys(v)) {
		at := path + "/" + surface.PointerToken(written)
		x := v[written]
		if s.each != nil {
			if !w.walk(x, s.each, at) {
				delete(v, written)
			}
			continue
		}
		if strings.HasPrefix(written, "x-") {
			w.beyond = append(w.beyond, at)
			delete(v, written)
			continue
		}
		name := written
		if w.underscored && s.members[written] == nil {
			name = toCamel(written)
		}
		want := s.members[name]
		if want == nil || w.underscored && name == written && toUnderscored(name) != name {
			meant, why := w.meant(written, s)
			w.add(at, "unknown-member", "unknown member %+q%s", clip(written), why)
			delete(v, written)
			if _, there := v[meant]; !there && slices.Contains(s.required, meant) {
				v[meant] = nil // it was meant, so it is not reported as missing too
			}
			continue
		}
		delete(v, written)
		if w.walk(x, want, at) {
			v[name] = x
		} else if slices.Contains(s.required, name) {
			v[name] = nil // present, so not reported as missing
		}
	}
	for _, name := range s.required {
		if _, ok := v[name]; !ok {
			if w.underscored {
				name = toUnderscored(name)
			}
			w.add(path+"/"+name, "required", "%s is missing", name)
		}
	}
}

// otherNames are members that an unknown one is meant to be although it is spelled otherwise: those that documents of
// before the first schema have, and what manifests of packages call a page.
var otherNames = map[string]string{
	"homepage": "websiteUrl", "name": "identifier", "registry_name": "registryType", "transport_type": "type",
	"version_detail": "version",
}

// meant returns the member that an unknown one is meant to be, as newer schemas spell it, and says so; both are "" if
// none is like it.
func (w *walker) meant(written string, s *shape) (name, why string) {
	const most = 40 // bytes that are compared; no member's name has as many
	if len(written) > most || len(w.issues) >= maxIssues {
		return "", ""
	}
	plain := func(name string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) }
	best := 3
	if other := otherNames[written]; s.members[other] != nil {
		best, name = 0, other
	}
	for _, known := range slices.Sorted(maps.Keys(s.members)) {
		d := spelling.Distance(plain(written), plain(known))
		if d < best && (d == 0 || d*3 < len(known)) {
			best, name = d, known
		}
	}
	switch {
	case name == "":
		return "", ""
	case w.underscored && written == name:
		return name, fmt.Sprintf("; the schema of %s, which $schema names, writes it %s: if the rest is newer, "+
			"$schema is what is old",
			olderSchemas[0], toUnderscored(name))
	case w.underscored:
		return name, "; did you mean " + toUnderscored(name) + "?"
	case written == toUnderscored(name):
		return name, fmt.Sprintf("; did you mean %s? Only the schema of %s has names with an underscore", name,
			olderSchemas[0])
	}
	return name, "; did you mean " + name + "?"
}

// toCamel turns as_this into asThis, and underscore back. URL and SHA256 are ordinary
// words in member names: websiteUrl, fileSha256.
func toCamel(s string) string {
	words := strings.Split(s, "_")
	for i := 1; i < len(words); i++ {
		if w := words[i]; w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

func toUnderscored(s string) string {
	var b strings.Builder
	for _, c := range s {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
