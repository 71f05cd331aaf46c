package surface

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// FullText is all that a model may read of the item, escaped and indented: every member of its JSON. Nothing is left
// out or cut, whatever the member is called, because a model may be given any of it.
func (i Item) FullText() string {
	var b strings.Builder
	writeWhole(&b, i.parseJSON(), "  ")
	return b.String()
}

// writeWhole writes an item: its members, or the text of instructions.
func writeWhole(b *strings.Builder, v value, indent string) {
	if v.kind == isObject {
		writeMembers(b, v, indent)
	} else {
		writeText(b, indent, v.text)
	}
}

// FullText is the text of all items, in their order, each below its key.
func (s *Surface) FullText() string {
	var b strings.Builder
	for _, i := range s.items {
		fmt.Fprintf(&b, "%s\n%s", Escape(i.Key()), i.FullText())
	}
	return b.String()
}

// writeMembers writes the members of an object, or the elements of a list, each on lines of its own.
func writeMembers(b *strings.Builder, v value, indent string) {
	for _, m := range v.members {
		writeValue(b, m.value, indent, Escape(m.name)+":")
	}
	for _, each := range v.list {
		writeValue(b, each, indent, "-")
	}
}

// writeValue writes a value after its label.
func writeValue(b *strings.Builder, v value, indent, label string) {
	switch {
	case v.kind == isString && strings.Contains(v.text, "\n"):
		fmt.Fprintf(b, "%s%s\n", indent, label)
		writeText(b, indent+"  ", v.text)
	case len(v.members)+len(v.list) == 0:
		fmt.Fprintf(b, "%s%s %s\n", indent, label, v.plain())
	case len(v.members) == 0 && v.isShortList():
		var words []string
		for _, each := range v.list {
			words = append(words, each.plain())
		}
		fmt.Fprintf(b, "%s%s %s\n", indent, label, strings.Join(words, ", "))
	default:
		fmt.Fprintf(b, "%s%s\n", indent, label)
		writeMembers(b, v, indent+"  ")
	}
}

// writeText writes a text line by line.
func writeText(b *strings.Builder, indent, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(b, "%s%s\n", indent, Escape(line))
	}
}

// plain is a value without members as a person reads it.
func (v value) plain() string {
	switch v.kind {
	case isString, isNumber, isBig:
		return Escape(v.text)
	case isObject:
		return "{}"
	case isArray:
		return "[]"
	case isTrue:
		return "true"
	case isFalse:
		return "false"
	}
	return "null"
}

// isShortList reports whether a list is words that one line holds.
func (v value) isShortList() bool {
	const most = 60 // characters
	n := 0
	for _, each := range v.list {
		if len(each.members)+len(each.list) > 0 || strings.ContainsAny(each.text, "\n, ") {
			return false
		}
		n += utf8.RuneCountInString(each.text)
	}
	return n <= most
}
