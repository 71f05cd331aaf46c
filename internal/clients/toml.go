package clients

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML reads a file as one object. Tables with one name, and dotted keys, are joined.
func readTOML(data []byte) (*node, error) {
	var whole map[string]any // says what the syntax tree does not: a key that is there twice
	if err := toml.Unmarshal(data, &whole); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, column := bad.Position()
			return nil, fmt.Errorf("line %d, column %d: not TOML", line, column)
		}
		return nil, errors.New("not TOML")
	}
	root := &node{kind: object, end: len(data)}
	t := tomlTree{data: data}
	t.parser.Reset(data)
	table := root
	for t.parser.NextExpression() {
		e := t.parser.Expression()
		switch e.Kind {
		case unstable.Table:
			table = t.walk(root, e.Key(), nil)
		case unstable.ArrayTable:
			// An item stands where its header does: each of a list has a place of its own.
			keys := e.Key()
			keys.Next()
			at := int(keys.Node().Raw.Offset)
			table = &node{kind: object, start: at, end: at}
			t.walk(root, e.Key(), table)
		case unstable.KeyValue:
			t.addKeyValue(table, e)
		}
	}
	return root, t.parser.Error()
}

type tomlTree struct {
	data   []byte
	parser unstable.Parser
}

// walk goes down keys from n, making objects where there are none. item, if not nil, is
// appended to the list at the end.
func (t *tomlTree) walk(n *node, keys unstable.Iterator, item *node) *node {
	for keys.Next() {
		k := keys.Node()
		next := n.get(string(k.Data))
		if next == nil {
			next = &node{kind: object, start: int(k.Raw.Offset), end: int(k.Raw.Offset + k.Raw.Length)}
			if item != nil && keys.IsLast() {
				next.kind = list
			}
			n.members = append(n.members, member{string(k.Data), int(k.Raw.Offset), next})
		}
		if next.kind == list && len(next.items) > 0 && (item == nil || !keys.IsLast()) {
			next = next.items[len(next.items)-1]
		}
		n = next
	}
	if item != nil {
		n.items = append(n.items, item)
	}
	return n
}

// addKeyValue adds "a.b = value" to the object n.
func (t *tomlTree) addKeyValue(n *node, e *unstable.Node) {
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
		next := n.get(p.key)
		if next == nil {
			next = &node{kind: object, start: p.at, end: p.behind}
			n.members = append(n.members, member{p.key, p.at, next})
		}
		n = next
	}
	last := parts[len(parts)-1]
	v := t.readValue(e.Value())
	// The tree tells where a key-value ends, and not where its value begins: that is
	// behind the "=" that follows the key.
	v.end = int(e.Raw.Offset + e.Raw.Length)
	v.start = last.behind
	for v.start < v.end && bytes.IndexByte([]byte(" \t="), t.data[v.start]) >= 0 {
		v.start++
	}
	for v.end > v.start && bytes.IndexByte([]byte(" \t\r\n"), t.data[v.end-1]) >= 0 {
		v.end--
	}
	n.members = append(n.members, member{last.key, last.at, v})
}

// readValue makes a node without its place, which its key-value knows.
func (t *tomlTree) readValue(v *unstable.Node) *node {
	n := &node{text: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.kind = text
	case unstable.Array:
		n.kind, n.text = list, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				n.items = append(n.items, t.readValue(it.Node()))
			}
		}
	case unstable.InlineTable:
		n.kind, n.text = object, ""
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				t.addKeyValue(n, it.Node())
			}
		}
	}
	return n
}
