package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hallmark-mcp/hallmark/surface"
)

// drafts are the values of $schema of the drafts that are known.
var drafts = []string{
	"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
	"http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-06/schema",
	"http://json-schema.org/draft-04/schema",
}

// checkToolSchema reports why the inputSchema of a tool is no JSON Schema of an object: a
// keyword with a value that it cannot have, a pattern that is none, a reference to
// nothing. What a schema refers to outside of itself is not read, save a draft's own.
func checkToolSchema(data []byte) error {
	var doc any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return errors.New("it has no inputSchema")
	}
	if object, ok := doc.(map[string]any); !ok || object["type"] != "object" {
		return errors.New(`its inputSchema is no object with "type": "object"`)
	}
	var p problems
	schemaForm()(&p, "", doc)
	if len(p.issues) > 0 {
		return fmt.Errorf("its inputSchema is no JSON Schema: %s", p.issues[0])
	}
	return checkReferences(doc)
}

// checkReferences reports a reference of a schema to what is not part of it. The library
// is stricter than the drafts in other things, such as names of keywords in capitals or
// definitions beside $defs, so that it reads only schemas that refer to something.
func checkReferences(doc any) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	if !bytes.Contains(data, []byte(`"$ref":`)) && !bytes.Contains(data, []byte(`"$dynamicRef":`)) {
		return nil
	}
	var s jsonschema.Schema
	if err = json.Unmarshal(data, &s); err == nil {
		_, err = s.Resolve(&jsonschema.ResolveOptions{BaseURI: "hallmark:///schema",
			Loader: func(u *url.URL) (*jsonschema.Schema, error) {
				if slices.Contains(drafts, u.String()) {
					return new(jsonschema.Schema), nil
				}
				return nil, errors.New("it is not part of the schema")
			}})
	}
	if err != nil {
		return fmt.Errorf("its inputSchema is no JSON Schema: %w", err)
	}
	return nil
}

// schemaForm is the form of a JSON Schema, as drafts 6 to 2020-12 have it. Unknown
// keywords mean nothing.
var schemaForm = sync.OnceValue(func() form {
	var schema form
	var keywords map[string]form
	schema = func(p *problems, at string, v any) {
		o, ok := v.(map[string]any)
		if _, always := v.(bool); always {
			return
		}
		if !ok {
			p.add(at, "is %s, and must be object or boolean", typeOf(v))
		}
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if f := keywords[name]; f != nil {
				f(p, at+"/"+surface.PointerToken(name), o[name])
			}
		}
	}
	one := func(p *problems, at string, v any) { schema(p, at, v) }
	anything := func(*problems, string, any) {}
	const all = math.MaxInt
	// some is an array that is not empty.
	some := func(f form) form {
		return func(p *problems, at string, v any) {
			if l, ok := v.([]any); ok && len(l) == 0 {
				p.add(at, "is empty")
			}
			f(p, at, v)
		}
	}
	// either is a form for arrays, and another for all else.
	either := func(elements, other form) form {
		return func(p *problems, at string, v any) {
			if _, ok := v.([]any); ok {
				elements(p, at, v)
			} else {
				other(p, at, v)
			}
		}
	}
	number := func(p *problems, at string, v any) { hasType[json.Number](p, at, "number", v) }
	positive := func(p *problems, at string, v any) {
		if n, ok := hasType[json.Number](p, at, "number", v); ok {
			if f, err := n.Float64(); err != nil || f <= 0 {
				p.add(at, "must be more than 0")
			}
		}
	}
	expression := func(p *problems, at string, v any) {
		if s, ok := v.(string); ok {
			if _, err := regexp.Compile(s); err != nil {
				p.add(at, "%+q is no pattern", clip(s))
			}
		}
	}
	draft := func(p *problems, at string, v any) {
		if s, ok := hasType[string](p, at, "string", v); ok && !slices.Contains(drafts, strings.TrimSuffix(s, "#")) {
			p.add(at, "%+q is no known draft", clip(s))
		}
	}
	patterns := func(p *problems, at string, v any) {
		namedMembers(all, one)(p, at, v)
		o, _ := v.(map[string]any)
		for pattern := range o {
			expression(p, at+"/"+surface.PointerToken(pattern), pattern)
		}
	}
	plain, count := text(0, all), whole(0, math.MaxInt32)
	names, schemas, several := unique(array(all, plain)), namedMembers(all, one), some(array(all, one))
	kind := word("array", "boolean", "integer", "null", "number", "object", "string")
	keywords = map[string]form{
		"$schema": draft, "$id": plain, "$ref": plain, "$anchor": plain, "$dynamicRef": plain, "$dynamicAnchor": plain,
		"$comment": plain,
		"$defs":    schemas, "definitions": schemas, "properties": schemas, "patternProperties": patterns,
		"dependentSchemas": schemas,
		"dependencies":     namedMembers(all, either(names, one)), "dependentRequired": namedMembers(all, names),
		"type": either(some(unique(array(all, kind))), kind), "enum": array(all, anything), "required": names,
		"items": either(array(all, one), one), "prefixItems": several, "additionalItems": one, "unevaluatedItems": one,
		"contains":             one,
		"additionalProperties": one, "unevaluatedProperties": one, "propertyNames": one,
		"allOf": several, "anyOf": several, "oneOf": several, "not": one, "if": one, "then": one, "else": one,
		"minLength": count, "maxLength": count, "minItems": count, "maxItems": count, "minContains": count,
		"maxContains":   count,
		"minProperties": count, "maxProperties": count, "uniqueItems": boolean, "pattern": text(0, all, expression),
		"format":  plain,
		"minimum": number, "maximum": number, "exclusiveMinimum": number, "exclusiveMaximum": number,
		"multipleOf": positive,
		"title":      plain, "description": plain, "readOnly": boolean, "writeOnly": boolean, "deprecated": boolean,
		"examples": array(all, anything), "contentEncoding": plain, "contentMediaType": plain, "contentSchema": one,
	}
	return schema
})
