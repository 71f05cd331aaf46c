package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind int

// The kinds. Those from List on hold other values.
const (
	Scalar Kind = iota // a number, a boolean, null, a date
	Text
	List
	Object
)

// Node is a value and its place in its file.
type Node struct {
	Kind       Kind
	Start, End int      // offsets of its bytes; an End of 0 is not known
	Text       string   // of a text; of a scalar as written
	Members    []Member // of an object
	Items      []*Node  // of a list
	Flow       bool     // of YAML: a list or an object in brackets
}

// Member is a member of an object. An object may have several members of one key.
type Member struct {
	Key   string
	At    int // offset of the key
	Value *Node
}

// Get returns the value of the last member called key, as most readers do, or nil. n may be nil.
func (n *Node) Get(key string) *Node {
	var found *Node
	if n != nil {
		for _, m := range n.Members {
			if m.Key == key {
				found = m.Value
			}
		}
	}
	return found
}

// IsNull reports whether n is null, as JSON or YAML write it.
func (n *Node) IsNull() bool {
	return n.Kind == Scalar && slices.Contains([]string{"null", "Null", "NULL", "~", ""}, n.Text)
}

// IsEmpty reports whether n says no more than if it were absent: it is null, or a text, a list or an object
// with nothing in it. n may be nil.
func (n *Node) IsEmpty() bool {
	return n == nil || n.IsNull() || n.Kind != Scalar && n.Text == "" && len(n.Members)+len(n.Items) == 0
}

// FirstFilled returns the value of the first of keys under which n has a value that is not empty, and the key.
func (n *Node) FirstFilled(keys ...string) (*Node, string) {
	for _, key := range keys {
		if v := n.Get(key); !v.IsEmpty() {
			return v, key
		}
	}
	return nil, ""
}

// First returns the value of the first of keys that n has, and the key.
func (n *Node) First(keys ...string) (*Node, string) {
	for _, key := range keys {
		if v := n.Get(key); v != nil {
			return v, key
		}
	}
	return nil, ""
}

// SameValue reports whether n and o are the same value, however they are laid out and in whatever order
// their members are. Scalars are the same if they are written alike. Both may be nil.
func (n *Node) SameValue(o *Node) bool {
	if n == nil || o == nil {
		return n == o
	}
	if n.Kind != o.Kind || n.Text != o.Text {
		return false
	}
	sorted := func(n *Node) []Member { // members of one key stay in their order: the last counts
		byKey := func(a, b Member) int { return strings.Compare(a.Key, b.Key) }
		return slices.SortedStableFunc(slices.Values(n.Members), byKey)
	}
	same := func(a, b Member) bool { return a.Key == b.Key && a.Value.SameValue(b.Value) }
	return slices.EqualFunc(n.Items, o.Items, (*Node).SameValue) && slices.EqualFunc(sorted(n), sorted(o), same)
}

// Texts returns the texts of n and of all that it holds.
func (n *Node) Texts() []string { return n.appendTexts(nil) }

func (n *Node) appendTexts(out []string) []string {
	if n.Kind == Text {
		out = append(out, n.Text)
	}
	for _, m := range n.Members {
		out = m.Value.appendTexts(out)
	}
	for _, item := range n.Items {
		out = item.appendTexts(out)
	}
	return out
}

// IsTextList reports whether n is a list of texts.
func (n *Node) IsTextList() bool {
	return n.Kind == List && !slices.ContainsFunc(n.Items, func(item *Node) bool { return item.Kind != Text })
}

// maxDepth bounds how deep values nest.
const maxDepth = 200

// errDepth says that values nest deeper than maxDepth, or that aliases multiply them.
var errDepth = fmt.Errorf("values nest deeper than %d", maxDepth)

// Position returns the line and the column of an offset, both from 1. A column counts characters.
func Position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[begin:])
}

// syntaxError returns an error that says where a file cannot be read, and why.
func syntaxError(data []byte, offset int, what string) error {
	line, column := Position(data, offset)
	return fmt.Errorf("line %d, column %d: %s", line, column, what)
}
