package official

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// node is a JSON value that can be printed again with the order of its members, and
// with members that occur twice.
type node struct {
	text    string // of a string, number, literal; "" for objects and arrays
	object  bool
	names   []string // of the members, beside items
	items   []*node
	version bool // is the value of a member named version
}

// parse reads one JSON value.
func parse(data []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	n, err := parseNext(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return n, nil
}

func parseNext(dec *json.Decoder) (*node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	opened, ok := token.(json.Delim)
	if !ok {
		text, err := json.Marshal(token)
		return &node{text: string(text)}, err
	}
	n := &node{object: opened == '{'}
	for dec.More() {
		if n.object {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, name.(string))
		}
		item, err := parseNext(dec)
		if err != nil {
			return nil, err
		}
		item.version = n.object && n.names[len(n.names)-1] == "version"
		n.items = append(n.items, item)
	}
	_, err = dec.Token()
	return n, err
}

func (n *node) String() string {
	if n.text != "" {
		return n.text
	}
	parts := make([]string, len(n.items))
	for i, item := range n.items {
		parts[i] = item.String()
		if n.object {
			parts[i] = quote(n.names[i]) + ":" + parts[i]
		}
	}
	if n.object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func quote(s string) string {
	text, _ := json.Marshal(s) // strings always encode
	return string(text)
}

// all lists n and everything below it for which ok holds.
func (n *node) all(ok func(*node) bool) []*node {
	var found []*node
	if ok(n) {
		found = append(found, n)
	}
	for _, item := range n.items {
		found = append(found, item.all(ok)...)
	}
	return found
}

func isContainer(n *node) bool { return n.text == "" && len(n.items) > 0 }
func isObject(n *node) bool    { return n.object }
func isString(n *node) bool    { return strings.HasPrefix(n.text, `"`) }
func isVersion(n *node) bool   { return n.version }
func anything(*node) bool      { return true }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// A mutation is one kind of mechanical change. It changes n in place and reports
// whether there was anything to change.
type mutation struct {
	kind   string
	mutate func(r *rand.Rand, n *node) bool
}

var mutations = []mutation{
	{"drop", func(r *rand.Rand, n *node) bool {
		at := pick(r, n.all(isContainer))
		i := r.IntN(len(at.items))
		at.items = slices.Delete(at.items, i, i+1)
		if at.object {
			at.names = slices.Delete(at.names, i, i+1)
		}
		return true
	}},
	{"retype", func(r *rand.Rand, n *node) bool {
		below := n.all(anything)
		if r.IntN(50) > 0 { // the document itself is no array, now and then only
			below = below[1:]
		}
		at := pick(r, below)
		old := at.String()
		*at = node{text: pick(r,
			[]string{`"text"`, `""`, `7`, `-0.5`, `true`, `false`, `null`, `{}`, `[]`, `{"a":1}`, `["a"]`,
				`[` + old + `]`, quote(old)})}
		return at.text != old
	}},
	{"lengthen", func(r *rand.Rand, n *node) bool {
		at := pick(r, n.all(isString))
		body := strings.TrimSuffix(at.text, `"`)
		length := pick(r, []int{1, 3, 60, 101, 201, 256, 300, 5000})
		at.text = body + strings.Repeat(pick(r, []string{"a", "0", ".", "ä", " ", "/", "-"}), length) + `"`
		return true
	}},
	{"duplicate", func(r *rand.Rand, n *node) bool {
		at := pick(r, n.all(isContainer))
		i := r.IntN(len(at.items))
		at.items = append(at.items, at.items[i])
		if at.object {
			at.names = append(at.names, at.names[i])
		}
		return true
	}},
	{"unknown field", func(r *rand.Rand, n *node) bool {
		at := pick(r, n.all(isObject))
		name := pick(r,
			[]string{"unknown", "x-acme", "status", "Name", "hash", "file_hashes", "is_required", "$comment",
				"com.example/x"})
		if slices.Contains(at.names, name) {
			return false
		}
		at.names = append(at.names, name)
		at.items = append(at.items, &node{text: pick(r, []string{`"text"`, `""`, `7`, `true`, `null`, `{}`, `[]`})})
		return true
	}},
	{"range version", func(r *rand.Rand, n *node) bool {
		versions := n.all(isVersion)
		if len(versions) == 0 {
			return false
		}
		at := pick(r, versions)
		at.text = quote(pick(r, []string{
			"^1.2.3", "~1.2", ">=1.0.0", "<=2", ">1", "<2.0.0-rc.1", "=1.0.0", "^ 1.2.3", ">= v1.0", "~>1.2", "!=1.0",
			"==1.0", "===1.0",
			"1.x", "1.2.*", "1.2.X", "x", "X", "*", "x.y", "*.1", "1.x.2", "1.2.3.x", "v1.x", "1.2.x-rc", "1.*-beta",
			"1.0 - 2.0", "1.0.0 -2.0.0", "1.0.0-2.0.0", "1 || 2", "1||2", "1.0 || ", "1.2 1.3", "^1 || ^2", ">=1 <2",
			"[1.0,2.0)", "(,1.0]",
			"latest", "Latest", " latest", "latest ", "next", "stable", "", " ", " 1.0.0", "1.0.0 ", "1.0.0,2.0.0", "1",
			"1.0", "v1.0.0", "1.0.0+build", "1.0.0-x.1", "2024.01.05", "1.0.0-alpha..1", "01.2.3",
		}))
		return true
	}},
}
