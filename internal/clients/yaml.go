package clients

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML reads a file of one document. Aliases are followed once and tags are not
// obeyed. What readers of YAML read differently is refused: a second document, a merge
// key, a key that is no plain text; and with one set tags, and line ends of one version of
// YAML that are none in the other.
func readYAML(data []byte, strict bool) (*node, error) {
	if at := bytes.IndexAny(data, "\u0085\u2028\u2029"); strict && at >= 0 {
		return nil, syntaxError(data, at, "a line end that readers of YAML read differently")
	}
	var doc, more yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New("not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := documents.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("not one document of YAML")
	}
	if len(doc.Content) == 0 {
		return &node{kind: object}, nil
	}
	t := yamlTree{data: data, strict: strict, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t.readValue(doc.Content[0], 0, false)
}

type yamlTree struct {
	data   []byte
	strict bool
	lines  []int // offsets of their first bytes
	count  int
}

// maxNodes bounds what aliases may multiply.
const maxNodes = 1 << 20

// offset of a place that the library counts in lines and characters.
func (t *yamlTree) offset(line, column int) int {
	if line < 1 || line > len(t.lines) {
		return len(t.data)
	}
	at := t.lines[line-1]
	for range column - 1 {
		if at >= len(t.data) || t.data[at] == '\n' {
			break
		}
		at++
		for at < len(t.data) && t.data[at]&0xc0 == 0x80 {
			at++
		}
	}
	return at
}

// readValue makes a node of y; inside says that it stands in brackets.
func (t *yamlTree) readValue(y *yaml.Node, depth int, inside bool) (*node, error) {
	if t.count++; depth > maxDepth || t.count > maxNodes {
		return nil, errDepth
	}
	if y.Kind == yaml.AliasNode {
		n, err := t.readValue(y.Alias, depth+1, inside)
		if err == nil {
			n = &node{kind: n.kind, text: n.text, members: n.members, items: n.items} // stands elsewhere
		}
		return n, err
	}
	if t.strict && y.Style&yaml.TaggedStyle != 0 && y.ShortTag() != "!!str" {
		return nil, syntaxError(t.data, t.offset(y.Line, y.Column), "a tag, which some readers of YAML obey")
	}
	n := &node{start: t.offset(y.Line, y.Column), flow: y.Style&yaml.FlowStyle != 0}
	inside = inside || n.flow
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = object
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			if k.Kind != yaml.ScalarNode || k.Value == "<<" || t.strict &&
				(k.Value == "__proto__" || k.Style&yaml.TaggedStyle != 0) {
				return nil, syntaxError(t.data, t.offset(k.Line, k.Column),
					"a key that readers of YAML read differently")
			}
			v, err := t.readValue(y.Content[i+1], depth+1, inside)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{k.Value, t.offset(k.Line, k.Column), v})
			n.end = max(n.end, v.end)
		}
	case yaml.SequenceNode:
		n.kind = list
		for _, c := range y.Content {
			v, err := t.readValue(c, depth+1, inside)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, v)
			n.end = max(n.end, v.end)
		}
	default:
		n.kind, n.text = text, y.Value
		if y.Tag != "!!str" && y.Style == 0 {
			n.kind = scalar
		}
		n.end = t.scalarEnd(n.start, y.Style, inside)
	}
	if n.flow && n.kind >= list {
		n.end = t.flowEnd(n.start)
	}
	return n, nil
}

// scalarEnd is where the scalar at start ends, or 0 where that is not known: over several
// lines.
func (t *yamlTree) scalarEnd(start int, style yaml.Style, inside bool) int {
	line := t.data[start:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	switch {
	case len(line) == 0 || style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0
	case line[0] == '"':
		for i := 1; i < len(line); i++ {
			if line[i] == '\\' {
				i++
			} else if line[i] == '"' {
				return start + i + 1
			}
		}
		return 0
	case line[0] == '\'':
		for i := 1; i < len(line); i++ {
			if line[i] == '\'' && i+1 < len(line) && line[i+1] == '\'' {
				i++
			} else if line[i] == '\'' {
				return start + i + 1
			}
		}
		return 0
	}
	if i := bytes.Index(line, []byte(" #")); i >= 0 {
		line = line[:i]
	}
	if i := bytes.IndexAny(line, ",[]{}"); i >= 0 && inside {
		line = line[:i]
	}
	return start + len(bytes.TrimRight(line, " \t\r"))
}

// flowEnd is where the brackets at start close, or 0.
func (t *yamlTree) flowEnd(start int) int {
	depth := 0
	for i := start; i < len(t.data); i++ {
		switch c := t.data[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			// A quote inside a plain scalar is part of it.
			if i > start && bytes.IndexByte([]byte(" [{,:\t\n"), t.data[i-1]) < 0 {
				continue
			}
			end := t.scalarEnd(i, 0, true)
			if end == 0 {
				return 0
			}
			i = end - 1
		case '#':
			if t.data[i-1] == ' ' || t.data[i-1] == '\t' || t.data[i-1] == '\n' {
				if end := bytes.IndexByte(t.data[i:], '\n'); end >= 0 {
					i += end
				}
			}
		}
	}
	return 0
}
