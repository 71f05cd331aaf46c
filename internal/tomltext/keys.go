// Package tomltext reads and edits the text of TOML files: where each key stands ([Keys], [Lines]),
// what replaces bytes of it ([Apply]), how a string is written ([Quote]), and at which line and
// column a file is wrong ([Explain]). Comments, order and spacing stay as a person wrote them.
//
// It decides nothing about what a file says, and does no I/O.
package tomltext

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Span are the bytes of a file from Start to End, without that at End.
type Span struct{ Start, End int }

// Key is one key of a file at its place, with the keys that lead to it.
type Key struct {
	Path    []string // an item of a list of tables is its index: "0"
	Name    Span     // of the key itself
	First   int      // where the first key of its expression begins
	Header  bool     // it is in the header of a table
	Inline  bool     // it is in braces
	Last    bool     // it is the last key of its expression, whose value follows
	Table   bool     // that value is a table in braces
	Value   Span     // of that value
	Strings []Span   // of each string of that value, where it is a list
}

// Keys are all keys of a file, in its order.
func Keys(data []byte) ([]Key, error) {
	r := keyReader{data: data}
	var parser unstable.Parser
	parser.Reset(data)
	var table []string
	items := map[string]int{} // that were read of each list of tables
	for parser.NextExpression() {
		e := parser.Expression()
		switch e.Kind {
		case unstable.KeyValue:
			r.add(table, e, false)
		case unstable.Table, unstable.ArrayTable:
			r.add(nil, e, false)
			table = nil
			if len(r.keys) > 0 {
				table = slices.Clone(r.keys[len(r.keys)-1].Path)
			}
			if list := strings.Join(table, "\x00"); e.Kind == unstable.ArrayTable {
				table = append(table, strconv.Itoa(items[list]))
				items[list]++
			}
		}
	}
	return r.keys, parser.Error()
}

// keyReader collects the keys of a file.
type keyReader struct {
	data []byte
	keys []Key
}

// add adds the keys of an expression, and those in its value. Prefix are the keys of the table
// that it is in.
func (r *keyReader) add(prefix []string, e *unstable.Node, inline bool) {
	path, from := slices.Clone(prefix), len(r.keys)
	for it := e.Key(); it.Next(); {
		k := it.Node()
		path = append(path, string(k.Data))
		r.keys = append(r.keys, Key{
			Path: slices.Clone(path), Name: spanOf(k), Inline: inline, Header: e.Kind != unstable.KeyValue,
		})
	}
	if len(r.keys) == from {
		return
	}
	for i := from; i < len(r.keys); i++ {
		r.keys[i].First = r.keys[from].Name.Start
	}
	last := &r.keys[len(r.keys)-1]
	last.Last = true
	if e.Kind != unstable.KeyValue {
		return
	}
	v, end := e.Value(), spanOf(e).End
	start := last.Name.End
	for start < end && bytes.IndexByte([]byte(" \t="), r.data[start]) >= 0 {
		start++
	}
	last.Value = Span{start, start + len(bytes.TrimRight(r.data[start:end], " \t\r\n"))}
	switch v.Kind {
	case unstable.InlineTable:
		last.Table = true
		r.addNested(path, v)
	case unstable.Array:
		last.Strings = stringsOf(v)
		r.addItems(path, v)
	}
}

// addNested adds the keys of a table in braces.
func (r *keyReader) addNested(path []string, table *unstable.Node) {
	for it := table.Children(); it.Next(); {
		if it.Node().Kind == unstable.KeyValue {
			r.add(path, it.Node(), true)
		}
	}
}

// addItems adds the keys of the tables of a list.
func (r *keyReader) addItems(path []string, list *unstable.Node) {
	i := 0
	for it := list.Children(); it.Next(); {
		if it.Node().Kind == unstable.InlineTable {
			r.addNested(append(slices.Clone(path), strconv.Itoa(i)), it.Node())
		}
		if it.Node().Kind != unstable.Comment {
			i++
		}
	}
}

// stringsOf are the places of the strings of a list.
func stringsOf(list *unstable.Node) (all []Span) {
	for it := list.Children(); it.Next(); {
		if it.Node().Kind == unstable.String {
			all = append(all, spanOf(it.Node()))
		}
	}
	return all
}

// spanOf is the place of a node.
func spanOf(n *unstable.Node) Span {
	return Span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)}
}

// Lines maps the dotted key of each table, and of each key below it outside of braces, to the line
// where it first stands, counted from 1.
func Lines(data []byte) (map[string]int, error) {
	lines := map[string]int{}
	var parser unstable.Parser
	parser.Reset(data)
	var table []string
	for parser.NextExpression() {
		e := parser.Expression()
		var keys []string
		var line int
		for it := e.Key(); it.Next(); {
			node := it.Node()
			if line == 0 {
				line = 1 + bytes.Count(data[:node.Raw.Offset], []byte("\n"))
			}
			keys = append(keys, string(node.Data))
		}
		prefix := table
		if e.Kind == unstable.Table || e.Kind == unstable.ArrayTable {
			table, prefix = keys, nil
		}
		full := slices.Concat(prefix, keys)
		for n := range full {
			key := strings.Join(full[:n+1], ".")
			if _, ok := lines[key]; !ok {
				lines[key] = line
			}
		}
	}
	return lines, parser.Error()
}
