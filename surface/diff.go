package surface

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Class says what kind of change a [Change] is.
type Class string

// The classes. What a tool accepts is described by the classes from
// parameter-added to schema-changed, which occur below inputSchema only.
const (
	ToolAdded           Class = "tool-added"
	ToolRemoved         Class = "tool-removed"
	ToolRenamed         Class = "tool-renamed" // the same item but for the name
	ParameterAdded      Class = "parameter-added"
	ParameterRemoved    Class = "parameter-removed"
	ParameterType       Class = "parameter-type-changed"
	ParameterRequired   Class = "parameter-required" // was optional
	ParameterOptional   Class = "parameter-optional" // was required
	SchemaWidened       Class = "schema-widened"     // accepts all that it did, and more
	SchemaNarrowed      Class = "schema-narrowed"    // accepts only some of what it did
	SchemaChanged       Class = "schema-changed"     // neither can be told: default, title, pattern, …
	DescriptionChanged  Class = "description-changed"
	AnnotationChanged   Class = "annotation-changed"
	MemberChanged       Class = "member-changed" // another member of a tool: title, icons, _meta, …
	OutputSchemaChanged Class = "output-schema-changed"
	InstructionsChanged Class = "instructions-changed"
	PromptAdded         Class = "prompt-added"
	PromptRemoved       Class = "prompt-removed"
	PromptChanged       Class = "prompt-changed"
	ResourceAdded       Class = "resource-added"
	ResourceRemoved     Class = "resource-removed"
	ResourceChanged     Class = "resource-changed"
	TemplateAdded       Class = "template-added"
	TemplateRemoved     Class = "template-removed"
	TemplateChanged     Class = "template-changed"
)

// Change is one difference between two surfaces.
//
// Item, Path, Old and New hold text from servers as it is; Summary is escaped.
type Change struct {
	Class    Class    `json:"class"`
	Severity Severity `json:"severity"`
	Item     string   `json:"item"`          // the item's key; for a renamed tool, the new one
	Path     string   `json:"path"`          // JSON pointer (RFC 6901) in the item, "" for all of it
	Old      string   `json:"old,omitempty"` // the value at Path in canonical JSON, "" if there was none
	New      string   `json:"new,omitempty"` // the same afterwards
	Summary  string   `json:"summary"`       // one line, without item and values
}

// Diff lists what differs between two surfaces, in the order of their items and
// within an item by path. It is empty if and only if the canonical forms are the
// same.
func Diff(old, new *Surface) []Change {
	d := &differ{}
	gone, come := d.matchItems(old.items, new.items)
	d.pairRenames(gone, come)
	for _, i := range gone {
		if i.JSON != nil {
			d.addOneSided(i, "removed")
		}
	}
	for _, i := range come {
		if i.JSON != nil {
			d.addOneSided(i, "added")
		}
	}
	slices.SortStableFunc(d.found, func(a, b datedChange) int {
		return cmp.Or(compareItems(a.at, b.at), strings.Compare(a.Path, b.Path), cmp.Compare(a.Class, b.Class))
	})
	changes := make([]Change, len(d.found))
	for i, f := range d.found {
		changes[i] = f.Change
	}
	return changes
}

type differ struct {
	found []datedChange
	item  Item // the one being compared
}

type datedChange struct {
	Change
	at Item // for the order
}

// matchItems compares the items that both sides have, and returns those that only one has.
func (d *differ) matchItems(old, new []Item) (gone, come []Item) {
	i, j := 0, 0
	for i < len(old) && j < len(new) {
		switch c := compareItems(old[i], new[j]); {
		case c < 0:
			gone = append(gone, old[i])
			i++
		case c > 0:
			come = append(come, new[j])
			j++
		default:
			if !bytes.Equal(old[i].JSON, new[j].JSON) {
				d.compareItem(old[i], new[j])
			}
			i, j = i+1, j+1
		}
	}
	return append(gone, old[i:]...), append(come, new[j:]...)
}

// pairRenames reports tools that are gone under one name and have come with the same content
// under another as renamed, in order of their names. It sets their JSON to nil, so that
// they are not reported again.
func (d *differ) pairRenames(gone, come []Item) {
	nameless := make(map[string][]int) // content without the name -> places in gone
	for n, i := range gone {
		if i.Kind == KindTool {
			k := i.nameless()
			nameless[k] = append(nameless[k], n)
		}
	}
	if len(nameless) == 0 {
		return
	}
	for n := range come {
		i := &come[n]
		if i.Kind != KindTool {
			continue
		}
		k := i.nameless()
		places := nameless[k]
		if len(places) == 0 {
			continue
		}
		before := &gone[places[0]]
		nameless[k] = places[1:]
		d.item = *i
		d.add(ToolRenamed, "/name", &value{kind: isString, text: before.Name}, &value{kind: isString, text: i.Name},
			"renamed from %s", Escape(quoteJSON(before.Name)))
		before.JSON, i.JSON = nil, nil
	}
}

// nameless is the item's content without its name.
func (i Item) nameless() string {
	v := i.parseJSON()
	v.members = slices.DeleteFunc(v.members, func(m member) bool { return m.name == i.Kind.naming() })
	return string(v.canonical())
}

// quoteJSON is s as a JSON string.
func quoteJSON(s string) string { return string(appendString(nil, s)) }

// add reports a change of d's item at path, with its severity and a formatted summary. A value that is not there is
// nil.
func (d *differ) add(class Class, path string, old, new *value, summary string, args ...any) {
	d.found = append(d.found, datedChange{Change{Class: class, Severity: severityOf(class, path, old, new),
		Item: d.item.Key(), Path: path, Old: canonicalText(old), New: canonicalText(new),
		Summary: fmt.Sprintf(summary, args...)}, d.item})
}

// addOneSided reports an item that is on one side only, as what says.
func (d *differ) addOneSided(i Item, what string) {
	d.item = i
	v := i.parseJSON()
	old, new := &v, (*value)(nil)
	if what == "added" {
		old, new = nil, &v
	}
	if i.Kind == KindInstructions {
		d.add(InstructionsChanged, "", old, new, "instructions %s", what)
		return
	}
	d.add(Class(string(i.Kind)+"-"+what), "", old, new, "%s %s", i.Kind, what)
}

// compareItem compares two items of the same key that are not the same.
func (d *differ) compareItem(old, new Item) {
	d.item = new
	a, b := old.parseJSON(), new.parseJSON()
	switch new.Kind {
	case KindInstructions:
		d.add(InstructionsChanged, "", &a, &b, "instructions changed")
	case KindTool:
		eachMember(&a, &b, func(name string, x, y *value) { d.compareToolMember(name, x, y) })
	default:
		d.compareParts(Class(new.Kind+"-changed"), "", &a, &b)
	}
}

// compareToolMember compares one member of a tool; x or y is nil if a side does not have it.
func (d *differ) compareToolMember(name string, x, y *value) {
	path := "/" + PointerToken(name)
	switch name {
	case "description":
		d.compareWhole(DescriptionChanged, path, x, y)
	case "annotations":
		d.compareParts(AnnotationChanged, path, x, y)
	case "outputSchema":
		d.compareParts(OutputSchemaChanged, path, x, y)
	case "inputSchema":
		if x == nil || y == nil {
			d.compareWhole(SchemaChanged, path, x, y)
			return
		}
		newSchemaDiff(d, x, y).compareSchemas(path, x, y)
	default:
		d.compareParts(MemberChanged, path, x, y)
	}
}

// compareParts reports the smallest parts in which x and y differ: members of objects,
// elements of arrays of the same length, else the whole.
func (d *differ) compareParts(class Class, path string, x, y *value) {
	switch {
	case x == nil || y == nil:
		d.compareWhole(class, path, x, y)
	case x.kind == isObject && y.kind == isObject:
		eachMember(x, y, func(name string, a, b *value) { d.compareParts(class, path+"/"+PointerToken(name), a, b) })
	case x.kind == isArray && y.kind == isArray && len(x.list) == len(y.list):
		for i := range x.list {
			d.compareParts(class, path+"/"+strconv.Itoa(i), &x.list[i], &y.list[i])
		}
	default:
		d.compareWhole(class, path, x, y)
	}
}

// compareWhole reports x and y as a whole if they differ.
func (d *differ) compareWhole(class Class, path string, x, y *value) {
	if equalValues(x, y) {
		return
	}
	d.add(class, path, x, y, "%s %s", Escape(clip(path, 200)), changeVerb(x, y))
}

// changeVerb says what happened to a value: "added", "removed" or "changed".
func changeVerb(x, y *value) string {
	switch {
	case x == nil:
		return "added"
	case y == nil:
		return "removed"
	}
	return "changed"
}

// canonicalText is a value in canonical JSON, or "" for none.
func canonicalText(v *value) string {
	if v == nil {
		return ""
	}
	return string(v.canonical())
}

// equalValues reports whether two values are the same; nil equals nil alone.
func equalValues(x, y *value) bool {
	switch {
	case x == nil || y == nil:
		return x == y
	case x.kind != y.kind || x.text != y.text:
		return false
	}
	return slices.EqualFunc(x.list, y.list, func(a, b value) bool { return equalValues(&a, &b) }) &&
		slices.EqualFunc(x.members, y.members, func(a, b member) bool {
			return a.name == b.name && equalValues(&a.value, &b.value)
		})
}

// eachMember calls f for every member name of x or y, in canonical order.
func eachMember(x, y *value, f func(name string, x, y *value)) {
	i, j := 0, 0
	for i < len(x.members) || j < len(y.members) {
		c := 0
		switch {
		case i == len(x.members):
			c = 1
		case j == len(y.members):
			c = -1
		default:
			c = compareUTF16(x.members[i].name, y.members[j].name)
		}
		switch {
		case c < 0:
			f(x.members[i].name, &x.members[i].value, nil)
			i++
		case c > 0:
			f(y.members[j].name, nil, &y.members[j].value)
			j++
		default:
			f(x.members[i].name, &x.members[i].value, &y.members[j].value)
			i, j = i+1, j+1
		}
	}
}
