package clients

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML reads a file as one object. Tables of one name, and dotted keys, become one object.
func readTOML(data []byte) (*Node, error) {
	if bytes.HasPrefix(data, []byte(mark)) { // clients skip it, and the parser does not; the offsets stay
		data = slices.Concat(bytes.Repeat([]byte(" "), len(mark)), data[len(mark):])
	}
	var whole map[string]any // decoding finds errors that the syntax tree does not: a key that stands twice
	if err := toml.Unmarshal(data, &whole); err != nil {
		if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := bad.Position()
			return nil, fmt.Errorf("line %d, column %d: not TOML", line, column)
		}
		return nil, errors.New("not TOML")
	}
	root := &Node{Kind: Object, End: len(data)}
	t := tomlTree{data: data}
	t.parser.Reset(data)
	table := root
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		switch e.Kind {
		case unstable.Table:
			table = t.walk(root, e.Key(), nil)
		case unstable.ArrayTable:
			// The place of an item is its header's, so that each item of a list has its own.
			keys := e.Key()
			keys.Next()
			at := int(keys.Node().Raw.Offset)
			table = &Node{Kind: Object, Start: at, End: at}
			t.walk(root, e.Key(), table)
		case unstable.KeyValue:
			t.addKeyValue(table, e)
		}
	}
	return root, t.parser.Error()
}

// tomlTree makes nodes of what the parser reads.
type tomlTree struct {
	data   []byte
	parser unstable.Parser
}

// walk follows keys from n, and makes the objects that do not exist. It returns the last object. If item
// is not nil, the last key leads to a list, to which item is appended.
func (t *tomlTree) walk(n *Node, keys unstable.Iterator, item *Node) *Node {
	for keys.Next() {
		k := keys.Node()
		next := n.Get(string(k.Data))
		if next == nil {
			next = &Node{Kind: Object, Start: int(k.Raw.Offset), End: int(k.Raw.Offset + k.Raw.Length)}
			if item != nil && keys.IsLast() {
				next.Kind = List
			}
			n.Members = append(n.Members, Member{string(k.Data), int(k.Raw.Offset), next})
		}
		if next.Kind == List && len(next.Items) > 0 && (item == nil || !keys.IsLast()) {
			next = next.Items[len(next.Items)-1]
		}
		n = next
	}
	if item != nil {
		n.Items = append(n.Items, item)
	}
	return n
}

// addKeyValue adds the member of a line "a.b = value" to the object n.
func (t *tomlTree) addKeyValue(n *Node, e *unstable.Node) {
	type part struct {
		key    string
		at     int
		behind int
	}
	var parts []part
	for it := e.Key(); it.Next(); {
		k := it.Node()
		parts = append(parts, part{string(k.Data), int(k.Raw.Offset), int(k.Raw.Offset + k.Raw.Length)})
	}
	for _, p := range parts[:len(parts)-1] {
		next := n.Get(p.key)
		if next == nil {
			next = &Node{Kind: Object, Start: p.at, End: p.behind}
			n.Members = append(n.Members, Member{p.key, p.at, next})
		}
		n = next
	}
	last := parts[len(parts)-1]
	v := t.readValue(e.Value())
	// The parser says where a key-value ends, but not where its value begins: behind the "=" that follows
	// the key.
	v.End = int(e.Raw.Offset + e.Raw.Length)
	v.Start = last.behind
	for v.Start < v.End && bytes.IndexByte([]byte(" \t="), t.data[v.Start]) >= 0 {
		v.Start++
	}
	for v.End > v.Start && bytes.IndexByte([]byte(" \t\r\n"), t.data[v.End-1]) >= 0 {
		v.End--
	}
	n.Members = append(n.Members, Member{last.key, last.at, v})
}

// readValue makes a node without its place, which addKeyValue sets.
func (t *tomlTree) readValue(v *unstable.Node) *Node {
	n := &Node{Text: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.Kind = Text
	case unstable.Array:
		n.Kind, n.Text = List, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				n.Items = append(n.Items, t.readValue(it.Node()))
			}
		}
	case unstable.InlineTable:
		n.Kind, n.Text = Object, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				t.addKeyValue(n, it.Node())
			}
		}
	}
	return n
}
