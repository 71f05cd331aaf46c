package surface

import (
	"slices"
	"strings"
)

// Where JSON Schema has schemas below a schema. The tables serve drafts 4 to
// 2020-12; a member that is in none of them holds data, not a schema.
var (
	schemaMembers = map[string]bool{ // the value is a schema or an array of schemas
		"additionalItems": true, "additionalProperties": true, "allOf": true, "anyOf": true,
		"contains": true, "contentSchema": true, "else": true, "if": true, "items": true, "not": true,
		"oneOf": true, "prefixItems": true, "propertyNames": true, "then": true,
		"unevaluatedItems": true, "unevaluatedProperties": true,
	}
	schemaMaps = map[string]bool{ // the value is an object whose members are schemas
		"$defs": true, "definitions": true, "dependencies": true, "dependentSchemas": true,
		"patternProperties": true, "properties": true,
	}
)

// sortRequired sorts the required arrays of the schema v, an object, and of the
// schemas below it, in byte order. An array with anything but strings in it is
// left alone, and so is all data: const, enum, default, examples. It reports whether all
// were sorted before.
func sortRequired(v *value) (were bool) {
	were = true
	for i := range v.members {
		m := &v.members[i]
		switch {
		case m.name == "required" && stringsOnly(&m.value):
			order := func(a, b value) int { return strings.Compare(a.text, b.text) }
			if !slices.IsSortedFunc(m.value.list, order) {
				slices.SortFunc(m.value.list, order)
				were = false
			}
		case schemaMembers[m.name]:
			were = sortRequired(&m.value) && were
			for j := range m.value.list {
				were = sortRequired(&m.value.list[j]) && were
			}
		case schemaMaps[m.name]:
			for j := range m.value.members {
				were = sortRequired(&m.value.members[j].value) && were
			}
		}
	}
	return were
}

func stringsOnly(v *value) bool {
	return v.kind == isArray && !slices.ContainsFunc(v.list, func(x value) bool { return x.kind != isString })
}
