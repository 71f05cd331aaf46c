package clients

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// kind is what a value of a configuration file is.
type kind int

const (
	scalar kind = iota // a number, a boolean, null, a date
	text
	list
	object
)

// node is a value and where it stands in its file.
type node struct {
	kind       kind
	start, end int    // its bytes
	text       string // of a text; of a scalar as written
	members    []member
	items      []*node
	flow       bool // a list of YAML in brackets; lists and objects of the other formats always are
}

// member is a member of an object. A key may stand there twice.
type member struct {
	key   string
	at    int // offset of the key
	value *node
}

// get returns the last member of n called key, as most readers do, or nil.
func (n *node) get(key string) *node {
	var found *node
	if n != nil {
		for _, m := range n.members {
			if m.key == key {
				found = m.value
			}
		}
	}
	return found
}

// isNull reports whether n is null, as JSON or YAML write it.
func (n *node) isNull() bool {
	return n.kind == scalar && slices.Contains([]string{"null", "Null", "NULL", "~", ""}, n.text)
}

// first returns the first of the named members that n has, and its name.
func (n *node) first(keys ...string) (*node, string) {
	for _, key := range keys {
		if v := n.get(key); v != nil {
			return v, key
		}
	}
	return nil, ""
}

// texts appends to out the texts of n and of all that it holds.
func (n *node) texts(out []string) []string {
	if n.kind == text {
		out = append(out, n.text)
	}
	for _, m := range n.members {
		out = m.value.texts(out)
	}
	for _, item := range n.items {
		out = item.texts(out)
	}
	return out
}

// maxDepth bounds how deep values nest.
const maxDepth = 200

var errDepth = fmt.Errorf("values nest deeper than %d", maxDepth)

// position is the line and the column of an offset, from 1. A column counts characters.
func position(data []byte, offset int) (line, column int) {
	before := data[:min(offset, len(data))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[begin:])
}

// syntaxError is a place where a file cannot be read.
func syntaxError(data []byte, offset int, what string) error {
	line, column := position(data, offset)
	return fmt.Errorf("line %d, column %d: %s", line, column, what)
}

// format is how a file is written.
type format string

const (
	formatJSON format = "json" // and JSONC, and JSON5
	formatTOML format = "toml"
	formatYAML format = "yaml"

	formatFront format = "front" // YAML at the head of Markdown
)

// layout is how what is written into a file is laid out.
func (f format) layout() format {
	if f == formatFront {
		return formatYAML
	}
	return f
}

// read parses a file. With strict set it refuses one that readers of its format understand in
// different ways, which nobody writes by accident.
func (f format) read(data []byte, strict bool) (*node, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8")
	}
	switch f {
	case formatTOML:
		return readTOML(data)
	case formatYAML:
		return readYAML(data, strict)
	case formatFront:
		return readFront(data, strict)
	}
	return readJSON(data, strict)
}
