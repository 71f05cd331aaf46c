package surface

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
)

// schemaDiff compares input schemas and reports every difference. A change is "widened" or
// "narrowed" only where that follows from the keyword and its place, and "schema changed"
// everywhere else.
type schemaDiff struct {
	d *differ
	// direct: at this place, accepting more makes the whole accept more. Not so
	// below not, if and oneOf, where one cannot tell.
	direct bool
	// definitions: the same holds below $defs, as no such keyword occurs anywhere.
	definitions bool
}

// schemaPair is the schemas in which a keyword stands; neither is nil.
type schemaPair struct{ old, new *value }

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

// report adds a change. Where the direction is not known, widened and narrowed become
// changed.
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
	s.d.add(class, path, x, y, summary, Escape(clip(path, 200)), changeVerb(x, y))
}

// compareRestriction reports a keyword that narrows when it comes and widens when it
// goes.
func (s schemaDiff) compareRestriction(path string, x, y *value) {
	switch {
	case equalValues(x, y):
	case x == nil:
		s.report(SchemaNarrowed, path, x, y)
	case y == nil:
		s.report(SchemaWidened, path, x, y)
	default:
		s.report(SchemaChanged, path, x, y)
	}
}

// withKnownDirection is s for a place below, where the direction is known only if ok.
func (s schemaDiff) withKnownDirection(ok bool) schemaDiff {
	s.direct = s.direct && ok
	return s
}

// compareSchemas compares two schemas; nil is a schema that is not there, which accepts
// everything, as do true and {}.
func (s schemaDiff) compareSchemas(path string, x, y *value) {
	switch {
	case equalValues(x, y):
	case x != nil && y != nil && x.kind == isObject && y.kind == isObject:
		eachMember(x, y, func(name string, a, b *value) { s.compareKeyword(path, name, a, b, schemaPair{x, y}) })
	case acceptsNone(y) && (acceptsAll(x) ||
		x.kind == isObject), acceptsAll(x) && y != nil && y.kind == isObject && !acceptsAll(y):
		s.report(SchemaNarrowed, path, x, y)
	case acceptsNone(x) && (acceptsAll(y) ||
		y.kind == isObject), acceptsAll(y) && x != nil && x.kind == isObject && !acceptsAll(x):
		s.report(SchemaWidened, path, x, y)
	default:
		s.report(SchemaChanged, path, x, y)
	}
}

func acceptsAll(v *value) bool {
	return v == nil || v.kind == isTrue || v.kind == isObject && len(v.members) == 0
}

func acceptsNone(v *value) bool { return v != nil && v.kind == isFalse }

// compareKeyword compares a and b, the members called name of two schemas at the path at; one
// of them may be nil.
func (s schemaDiff) compareKeyword(at, name string, a, b *value, in schemaPair) {
	if equalValues(a, b) {
		return
	}
	path := at + "/" + PointerToken(name)
	switch name {
	case "description":
		s.d.compareWhole(DescriptionChanged, path, a, b)
	case "type":
		s.report(ParameterType, path, a, b)
	case "required":
		s.compareRequired(at, a, b, in)
	case "properties":
		s.compareProperties(path, a, b, in)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		s.compareBound(path, a, b, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		s.compareBound(path, a, b, -1)
	case "enum":
		s.compareEnum(path, a, b)
	case "const", "pattern", "format", "multipleOf", "propertyNames", "contains":
		s.compareRestriction(path, a, b)
	case "uniqueItems":
		s.compareFlag(path, a, b)
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
		s.compareSchemas(path, a, b)
	case "items":
		s.compareItems(path, a, b)
	case "prefixItems":
		s.compareElements(path, a, b)
	case "allOf", "anyOf":
		s.compareAlternatives(name, path, a, b)
	case "oneOf":
		s.withKnownDirection(false).compareElements(path, a, b)
	case "not":
		if a == nil || b == nil {
			s.compareRestriction(path, a, b)
			return
		}
		s.withKnownDirection(false).compareSchemas(path, a, b)
	case "if", "then", "else", "contentSchema":
		s.withKnownDirection(false).comparePresent(path, a, b)
	case "patternProperties", "dependentSchemas", "dependencies":
		s.compareSchemaMap(path, a, b)
	case "$defs", "definitions":
		s.withKnownDirection(s.definitions).compareSchemaMap(path, a, b)
	default:
		s.d.compareParts(SchemaChanged, path, a, b)
	}
}

// compareItems compares two members "items", which are a schema for all elements or a list of one for each.
func (s schemaDiff) compareItems(path string, a, b *value) {
	if isList(a) || isList(b) {
		s.compareElements(path, a, b)
		return
	}
	s.compareSchemas(path, a, b)
}

func isList(v *value) bool { return v != nil && v.kind == isArray }

// comparePresent compares two schemas of a place where a schema that is not there does not
// mean one that accepts everything.
func (s schemaDiff) comparePresent(path string, a, b *value) {
	if a == nil || b == nil {
		s.report(SchemaChanged, path, a, b)
		return
	}
	s.compareSchemas(path, a, b)
}

// compareRequired compares the required arrays of two schemas at the path at.
func (s schemaDiff) compareRequired(at string, a, b *value, in schemaPair) {
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
		px, py := property(in.old, name), property(in.new, name)
		if is && px == nil && py != nil || was && px != nil && py == nil {
			continue // part of parameter-added or parameter-removed
		}
		where := path
		if px != nil {
			where = at + "/properties/" + PointerToken(name)
		}
		named := &value{kind: isString, text: name}
		if was {
			s.d.add(ParameterOptional, where, named, nil, "parameter %s became optional",
				Escape(clip(quoteJSON(name), 120)))
		} else {
			s.d.add(ParameterRequired, where, nil, named, "parameter %s became required",
				Escape(clip(quoteJSON(name), 120)))
		}
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

// compareProperties compares the properties objects of two schemas.
func (s schemaDiff) compareProperties(path string, a, b *value, in schemaPair) {
	empty := &value{kind: isObject}
	if a != nil && a.kind != isObject || b != nil && b.kind != isObject ||
		a == nil && equalValues(b, empty) || b == nil && equalValues(a, empty) {
		s.report(SchemaChanged, path, a, b)
		return
	}
	if a == nil {
		a = empty
	}
	if b == nil {
		b = empty
	}
	before, after := requiredOf(in.old), requiredOf(in.new)
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
			s.d.add(ParameterAdded, where, nil, q, "%s parameter %s added", need(after, name),
				Escape(clip(quoteJSON(name), 120)))
		case q == nil:
			s.d.add(ParameterRemoved, where, p, nil, "%s parameter %s removed", need(before, name),
				Escape(clip(quoteJSON(name), 120)))
		default:
			s.compareSchemas(where, p, q)
		}
	})
}

// requiredOf is the set of names that a schema requires.
func requiredOf(schema *value) map[string]bool {
	required, _ := schema.get("required")
	return stringSet(&required)
}

// compareBound compares a limit; sign is 1 if a greater one accepts less.
func (s schemaDiff) compareBound(path string, a, b *value, sign int) {
	if a == nil || b == nil {
		s.compareRestriction(path, a, b)
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

// compareEnum compares two lists of allowed values.
func (s schemaDiff) compareEnum(path string, a, b *value) {
	if !isList(a) || !isList(b) {
		s.compareRestriction(path, a, b)
		return
	}
	before, after := make(map[string]bool), make(map[string]bool)
	for i := range a.list {
		before[canonicalText(&a.list[i])] = true
	}
	for i := range b.list {
		after[canonicalText(&b.list[i])] = true
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

// compareFlag compares a keyword that restricts when true.
func (s schemaDiff) compareFlag(path string, a, b *value) {
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

// compareElements compares arrays of schemas place by place.
func (s schemaDiff) compareElements(path string, a, b *value) {
	if !isList(a) || !isList(b) || len(a.list) != len(b.list) {
		s.report(SchemaChanged, path, a, b)
		return
	}
	for i := range a.list {
		s.compareSchemas(path+"/"+strconv.Itoa(i), &a.list[i], &b.list[i])
	}
}

// compareAlternatives compares anyOf, where one more accepts more, or allOf, where one
// more accepts less.
func (s schemaDiff) compareAlternatives(name, path string, a, b *value) {
	if !isList(a) || !isList(b) {
		s.compareRestriction(path, a, b)
		return
	}
	if len(a.list) == len(b.list) {
		s.compareElements(path, a, b)
		return
	}
	class := SchemaChanged
	more := len(b.list) > len(a.list)
	if more && containsAll(a.list, b.list) || !more && containsAll(b.list, a.list) {
		class = SchemaNarrowed
		if more == (name == "anyOf") {
			class = SchemaWidened
		}
	}
	s.report(class, path, a, b)
}

// containsAll reports whether every element of few is one of many.
func containsAll(few, many []value) bool {
	set := make(map[string]bool, len(many))
	for i := range many {
		set[canonicalText(&many[i])] = true
	}
	for i := range few {
		if !set[canonicalText(&few[i])] {
			return false
		}
	}
	return true
}

// compareSchemaMap compares two objects whose members are schemas.
func (s schemaDiff) compareSchemaMap(path string, a, b *value) {
	if a == nil || b == nil || a.kind != isObject || b.kind != isObject {
		s.report(SchemaChanged, path, a, b)
		return
	}
	eachMember(a, b, func(name string, p, q *value) { s.comparePresent(path+"/"+PointerToken(name), p, q) })
}
