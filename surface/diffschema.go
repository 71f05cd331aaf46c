package surface

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
)

// schemaDiff compares input schemas. "Widened" and "narrowed" are said only
// where they follow from the keyword and its place; everything else is "schema
// changed". Every difference is reported.
type schemaDiff struct {
	d *differ
	// direct: at this place, accepting more makes the whole accept more. Not so
	// below not, if and oneOf, where one cannot tell.
	direct bool
	// definitions: the same holds below $defs, as no such keyword occurs anywhere.
	definitions bool
}

// newSchemaDiff prepares to compare the input schemas x and y of d's item.
func newSchemaDiff(d *differ, x, y *value) schemaDiff {
	s := schemaDiff{d: d, direct: true, definitions: true}
	for _, v := range []*value{x, y} {
		// What is "unevaluated" depends on schemas elsewhere.
		s.direct = s.direct && !mentions(v, "unevaluatedProperties", "unevaluatedItems")
		s.definitions = s.definitions && s.direct && !mentions(v, "not", "if", "oneOf")
	}
	return s
}

// mentions reports whether a member of one of the names occurs in v at any
// depth. A property of such a name counts too, which errs on the safe side.
func mentions(v *value, names ...string) bool {
	for i := range v.members {
		if slices.Contains(names, v.members[i].name) || mentions(&v.members[i].value, names...) {
			return true
		}
	}
	return slices.ContainsFunc(v.list, func(x value) bool { return mentions(&x, names...) })
}

// report adds a change, turning a direction that is not known into "changed".
func (s schemaDiff) report(class Class, path string, x, y *value) {
	if !s.direct && (class == SchemaWidened || class == SchemaNarrowed) {
		class = SchemaChanged
	}
	summary := "%s %s"
	switch class {
	case SchemaWidened:
		summary = "%s %s: accepts more"
	case SchemaNarrowed:
		summary = "%s %s: accepts less"
	case ParameterType:
		summary = "type at %s %s"
	}
	s.d.add(class, path, text(x), text(y), summary, Escape(clip(path, 200)), did(x, y))
	if class != ParameterType && y != nil && hasText(y) {
		s.d.found[len(s.d.found)-1].Severity = High // an enum may speak to the model too
	}
}

func hasText(v *value) bool {
	return v.kind == isString || slices.ContainsFunc(v.list, func(x value) bool { return hasText(&x) }) ||
		len(v.members) > 0
}

// restriction reports a keyword that narrows when it comes and widens when it
// goes.
func (s schemaDiff) restriction(path string, x, y *value) {
	switch {
	case same(x, y):
	case x == nil:
		s.report(SchemaNarrowed, path, x, y)
	case y == nil:
		s.report(SchemaWidened, path, x, y)
	default:
		s.report(SchemaChanged, path, x, y)
	}
}

// below is s for a place where the direction is known only if ok.
func (s schemaDiff) below(ok bool) schemaDiff {
	s.direct = s.direct && ok
	return s
}

// schema compares two schemas; nil is a schema that is not there, which accepts
// everything, as do true and {}.
func (s schemaDiff) schema(path string, x, y *value) {
	switch {
	case same(x, y):
	case x != nil && y != nil && x.kind == isObject && y.kind == isObject:
		eachMember(x, y, func(name string, a, b *value) { s.keyword(path, name, a, b, x, y) })
	case never(y) && (anything(x) || x.kind == isObject), anything(x) && y != nil && y.kind == isObject && !anything(y):
		s.report(SchemaNarrowed, path, x, y)
	case never(x) && (anything(y) || y.kind == isObject), anything(y) && x != nil && x.kind == isObject && !anything(x):
		s.report(SchemaWidened, path, x, y)
	default:
		s.report(SchemaChanged, path, x, y)
	}
}

func anything(v *value) bool {
	return v == nil || v.kind == isTrue || v.kind == isObject && len(v.members) == 0
}

func never(v *value) bool { return v != nil && v.kind == isFalse }

// keyword compares one member of the schemas x and y at path.
func (s schemaDiff) keyword(at, name string, a, b, x, y *value) {
	if same(a, b) {
		return
	}
	path := at + "/" + PointerToken(name)
	switch name {
	case "description":
		s.d.leaf(DescriptionChanged, path, a, b)
	case "type":
		s.report(ParameterType, path, a, b)
	case "required":
		s.required(at, a, b, x, y)
	case "properties":
		s.properties(path, a, b, x, y)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		s.bound(path, a, b, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		s.bound(path, a, b, -1)
	case "enum":
		s.enum(path, a, b)
	case "const", "pattern", "format", "multipleOf", "propertyNames", "contains":
		s.restriction(path, a, b)
	case "uniqueItems":
		s.flag(path, a, b)
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
		s.schema(path, a, b)
	case "items":
		if list(a) || list(b) {
			s.elements(path, a, b)
			return
		}
		s.schema(path, a, b)
	case "prefixItems":
		s.elements(path, a, b)
	case "allOf", "anyOf":
		s.alternatives(name, path, a, b)
	case "oneOf":
		s.below(false).elements(path, a, b)
	case "not":
		if a == nil || b == nil {
			s.restriction(path, a, b)
			return
		}
		s.below(false).schema(path, a, b)
	case "if", "then", "else", "contentSchema":
		s.below(false).both(path, a, b)
	case "patternProperties", "dependentSchemas", "dependencies":
		s.each(path, a, b)
	case "$defs", "definitions":
		s.below(s.definitions).each(path, a, b)
	default:
		s.d.leaves(SchemaChanged, path, a, b)
	}
}

func list(v *value) bool { return v != nil && v.kind == isArray }

// both compares two schemas of a place where a schema that is not there does not
// mean one that accepts everything.
func (s schemaDiff) both(path string, a, b *value) {
	if a == nil || b == nil {
		s.report(SchemaChanged, path, a, b)
		return
	}
	s.schema(path, a, b)
}

// required compares two required arrays of the schemas x and y at path at.
func (s schemaDiff) required(at string, a, b, x, y *value) {
	path := at + "/required"
	if a != nil && !stringsOnly(a) || b != nil && !stringsOnly(b) {
		s.report(SchemaChanged, path, a, b)
		return
	}
	before, after := stringSet(a), stringSet(b)
	reported := false
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		was, is := before[name], after[name]
		if was == is {
			continue
		}
		reported = true
		px, py := property(x, name), property(y, name)
		if is && px == nil && py != nil || was && px != nil && py == nil {
			continue // part of parameter-added or parameter-removed
		}
		where := path
		if px != nil {
			where = at + "/properties/" + PointerToken(name)
		}
		class, old, new, what := ParameterRequired, "", quoted(name), "became required"
		if was {
			class, old, new, what = ParameterOptional, quoted(name), "", "became optional"
		}
		s.d.add(class, where, old, new, "parameter %s %s", Escape(clip(quoted(name), 120)), what)
	}
	if !reported { // [] beside none, or a name twice
		s.report(SchemaChanged, path, a, b)
	}
}

// stringSet is the set of strings in an array.
func stringSet(v *value) map[string]bool {
	set := make(map[string]bool)
	if v != nil {
		for i := range v.list {
			set[v.list[i].text] = true
		}
	}
	return set
}

func union(a, b map[string]bool) map[string]bool {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// property finds a property of a schema.
func property(schema *value, name string) *value {
	properties, ok := schema.get("properties")
	if !ok {
		return nil
	}
	if v, ok := properties.get(name); ok {
		return &v
	}
	return nil
}

// properties compares two properties objects of the schemas x and y.
func (s schemaDiff) properties(path string, a, b, x, y *value) {
	empty := &value{kind: isObject}
	if a != nil && a.kind != isObject || b != nil && b.kind != isObject || a == nil && same(b, empty) || b == nil && same(a, empty) {
		s.report(SchemaChanged, path, a, b)
		return
	}
	if a == nil {
		a = empty
	}
	if b == nil {
		b = empty
	}
	before, after := requiredOf(x), requiredOf(y)
	need := func(set map[string]bool, name string) string {
		if set[name] {
			return "required"
		}
		return "optional"
	}
	eachMember(a, b, func(name string, p, q *value) {
		where := path + "/" + PointerToken(name)
		switch {
		case p == nil:
			s.d.add(ParameterAdded, where, "", text(q), "%s parameter %s added", need(after, name), Escape(clip(quoted(name), 120)))
		case q == nil:
			s.d.add(ParameterRemoved, where, text(p), "", "%s parameter %s removed", need(before, name), Escape(clip(quoted(name), 120)))
		default:
			s.schema(where, p, q)
		}
	})
}

// requiredOf is the set of names that a schema requires.
func requiredOf(schema *value) map[string]bool {
	required, _ := schema.get("required")
	return stringSet(&required)
}

// bound compares a limit; sign is 1 if a greater one accepts less.
func (s schemaDiff) bound(path string, a, b *value, sign int) {
	if a == nil || b == nil {
		s.restriction(path, a, b)
		return
	}
	p, ok := rational(a)
	q, ok2 := rational(b)
	switch {
	case !ok || !ok2:
		s.report(SchemaChanged, path, a, b) // draft 4 has a boolean exclusiveMinimum
	case p.Cmp(q) == -sign:
		s.report(SchemaNarrowed, path, a, b)
	default:
		s.report(SchemaWidened, path, a, b)
	}
}

func rational(v *value) (*big.Rat, bool) {
	if v.kind != isNumber && v.kind != isBig {
		return nil, false
	}
	return new(big.Rat).SetString(v.text)
}

// enum compares two lists of allowed values.
func (s schemaDiff) enum(path string, a, b *value) {
	if !list(a) || !list(b) {
		s.restriction(path, a, b)
		return
	}
	before, after := make(map[string]bool), make(map[string]bool)
	for i := range a.list {
		before[text(&a.list[i])] = true
	}
	for i := range b.list {
		after[text(&b.list[i])] = true
	}
	kept := 0
	for v := range after {
		if before[v] {
			kept++
		}
	}
	switch {
	case kept == len(before) && kept < len(after):
		s.report(SchemaWidened, path, a, b)
	case kept < len(before) && kept == len(after):
		s.report(SchemaNarrowed, path, a, b)
	default:
		s.report(SchemaChanged, path, a, b)
	}
}

// flag compares a keyword that restricts when true.
func (s schemaDiff) flag(path string, a, b *value) {
	on := func(v *value) bool { return v != nil && v.kind == isTrue }
	switch {
	case on(b) && (a == nil || a.kind == isFalse):
		s.report(SchemaNarrowed, path, a, b)
	case on(a) && (b == nil || b.kind == isFalse):
		s.report(SchemaWidened, path, a, b)
	default:
		s.report(SchemaChanged, path, a, b)
	}
}

// elements compares arrays of schemas place by place.
func (s schemaDiff) elements(path string, a, b *value) {
	if !list(a) || !list(b) || len(a.list) != len(b.list) {
		s.report(SchemaChanged, path, a, b)
		return
	}
	for i := range a.list {
		s.schema(path+"/"+strconv.Itoa(i), &a.list[i], &b.list[i])
	}
}

// alternatives compares anyOf, where one more accepts more, or allOf, where one
// more accepts less.
func (s schemaDiff) alternatives(name, path string, a, b *value) {
	if !list(a) || !list(b) {
		s.restriction(path, a, b)
		return
	}
	if len(a.list) == len(b.list) {
		s.elements(path, a, b)
		return
	}
	class := SchemaChanged
	more := len(b.list) > len(a.list)
	if more && contained(a.list, b.list) || !more && contained(b.list, a.list) {
		class = SchemaNarrowed
		if more == (name == "anyOf") {
			class = SchemaWidened
		}
	}
	s.report(class, path, a, b)
}

// contained reports whether every element of few is one of many.
func contained(few, many []value) bool {
	set := make(map[string]bool, len(many))
	for i := range many {
		set[text(&many[i])] = true
	}
	for i := range few {
		if !set[text(&few[i])] {
			return false
		}
	}
	return true
}

// each compares two objects whose members are schemas.
func (s schemaDiff) each(path string, a, b *value) {
	if a == nil || b == nil || a.kind != isObject || b.kind != isObject {
		s.report(SchemaChanged, path, a, b)
		return
	}
	eachMember(a, b, func(name string, p, q *value) { s.both(path+"/"+PointerToken(name), p, q) })
}
