package surface

import (
	"slices"
	"strings"
	"sync"
)

// Severity orders changes for a reviewer's attention, by what a change can do. It decides nothing.
type Severity string

// The severities.
const (
	Low    Severity = "low"    // less is offered, said or promised
	Medium Severity = "medium" // the contract differs, in what can carry no instruction
	High   Severity = "high"   // something new is offered or promised, or text comes that was not approved
)

// rank is higher for what is to be looked at first.
func (s Severity) rank() int { return slices.Index([]Severity{Low, Medium, High}, s) }

// standardWords are the words that JSON Schema (drafts 4 to 2020-12) and MCP give a meaning to: no text is made of
// them alone. The list is in spec/surface.md; every other string is text.
var standardWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.Fields(`
		array boolean integer null number object string
		date date-time duration email hostname idn-email idn-hostname ipv4 ipv6 iri iri-reference json-pointer regex
		relative-json-pointer time uri uri-reference uri-template uuid
		http://json-schema.org/draft-04/schema# http://json-schema.org/draft-06/schema#
		http://json-schema.org/draft-07/schema# https://json-schema.org/draft/2019-09/schema
		https://json-schema.org/draft/2020-12/schema
		$anchor $comment $defs $id $ref $schema additionalItems additionalProperties allOf anyOf const contains
		contentEncoding contentMediaType contentSchema default definitions dependencies dependentRequired
		dependentSchemas deprecated description else enum examples exclusiveMaximum exclusiveMinimum format id if items
		maxContains maxItems maxLength maxProperties maximum minContains minItems minLength minProperties minimum
		multipleOf not oneOf pattern patternProperties prefixItems properties propertyNames readOnly required then title
		type unevaluatedItems unevaluatedProperties uniqueItems writeOnly
		annotations arguments destructiveHint execution forbidden icons idempotentHint inputSchema name openWorldHint
		optional outputSchema readOnlyHint taskSupport`) {
		words[word] = true
	}
	return words
})

// severityOf rates a change of the class c at path; a value that is not there is nil.
func severityOf(c Class, path string, old, new *value) Severity {
	switch c {
	case ToolAdded, PromptAdded, ResourceAdded, TemplateAdded, ToolRenamed, ParameterAdded:
		return High
	case ToolRemoved, PromptRemoved, ResourceRemoved, TemplateRemoved, ParameterRemoved:
		return Low
	case ParameterRequired, ParameterOptional:
		if new == nil || new.text == lastToken(path) {
			return Medium // of a parameter that there was before
		}
	}
	switch {
	case bringsText(path, old, new):
		return High
	case c == AnnotationChanged:
		return promiseSeverity(path, old, new)
	case new == nil && !ofContract(c):
		return Low
	}
	return Medium
}

// ofContract reports whether c is about what a tool accepts, where less of a schema is another contract.
func ofContract(c Class) bool {
	return c == ParameterType || c == SchemaWidened || c == SchemaNarrowed || c == SchemaChanged
}

// bringsText reports whether new, or the name at the end of path if there was nothing there, has text that old has not.
func bringsText(path string, old, new *value) bool {
	if new == nil {
		return false
	}
	known := map[string]bool{}
	if old != nil {
		old.eachString(func(s string) bool { known[s] = true; return true })
	} else if name := lastToken(path); !standardWords()[name] {
		return true
	}
	return !new.eachString(func(s string) bool { return known[s] || standardWords()[s] })
}

// eachString calls f for every string and member name of v, until f returns false; it reports whether f never did.
func (v *value) eachString(f func(string) bool) bool {
	if v.kind == isString && !f(v.text) {
		return false
	}
	return !slices.ContainsFunc(v.list, func(x value) bool { return !x.eachString(f) }) &&
		!slices.ContainsFunc(v.members, func(m member) bool { return !f(m.name) || !m.value.eachString(f) })
}

// cautious are the hints of a tool's annotations, as they are if a server says nothing: what a client asks about most.
var cautious = map[string]kind{
	"readOnlyHint": isFalse, "destructiveHint": isTrue, "idempotentHint": isFalse, "openWorldHint": isTrue,
}

// promiseSeverity rates a change of annotations, or of one of them: promising more, a client may ask less.
func promiseSeverity(path string, old, new *value) Severity {
	var before, after func(name string) *value
	if path == "/annotations" {
		before, after = old.lookup, new.lookup
	} else {
		only := func(v *value) func(string) *value {
			return func(name string) *value {
				if path != "/annotations/"+name {
					return nil
				}
				return v
			}
		}
		before, after = only(old), only(new)
	}
	severity := Medium
	if new == nil {
		severity = Low
	}
	for name, none := range cautious {
		was, is := before(name), after(name)
		switch {
		case equalValues(was, is):
		case is != nil && is.kind != none:
			return High
		default:
			severity = Low
		}
	}
	return severity
}

// lookup is the member of an object, or nil.
func (v *value) lookup(name string) *value {
	if v == nil {
		return nil
	}
	if m, ok := v.get(name); ok {
		return &m
	}
	return nil
}
