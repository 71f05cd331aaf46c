package clients

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML reads a file of one document. It follows aliases, and ignores tags. It refuses what readers of
// YAML read in different ways: a second document, a merge key, a key that is not a scalar. If strict is
// set it also refuses tags, and line ends that only one version of YAML has.
func readYAML(data []byte, strict bool) (*Node, error) {
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
		return &Node{Kind: Object}, nil
	}
	t := yamlTree{data: data, strict: strict, lines: []int{0}}
	if bytes.HasPrefix(data, []byte(mark)) {
		t.lines[0] = len(mark) // the library does not count it as a character
	}
	for i, c := range data {
		if c == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t.readValue(doc.Content[0], 0, false)
}

// yamlTree makes nodes of what the library reads.
type yamlTree struct {
	data   []byte
	strict bool
	lines  []int // offsets of the first bytes of lines
	count  int   // of nodes
}

// maxNodes bounds the nodes of a file, which aliases may multiply.
const maxNodes = 1 << 20

// offset returns the offset of a place that the library counts in lines and characters.
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

// readValue makes a node of y, which lies in depth lists and objects. inside says that it is in
// brackets.
func (t *yamlTree) readValue(y *yaml.Node, depth int, inside bool) (*Node, error) {
	if t.count++; depth > maxDepth || t.count > maxNodes {
		return nil, errDepth
	}
	if y.Kind == yaml.AliasNode {
		n, err := t.readValue(y.Alias, depth+1, inside)
		if err == nil {
			n = &Node{Kind: n.Kind, Text: n.Text, Members: n.Members, Items: n.Items} // it stands elsewhere
		}
		return n, err
	}
	if t.strict && y.Style&yaml.TaggedStyle != 0 && y.ShortTag() != "!!str" {
		return nil, syntaxError(t.data, t.offset(y.Line, y.Column), "a tag, which some readers of YAML obey")
	}
	n := &Node{Start: t.offset(y.Line, y.Column), Flow: y.Style&yaml.FlowStyle != 0}
	inside = inside || n.Flow
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Object
		if err := t.readMapping(n, y, depth, inside); err != nil {
			return nil, err
		}
	case yaml.SequenceNode:
		n.Kind = List
		if err := t.readSequence(n, y, depth, inside); err != nil {
			return nil, err
		}
	default:
		n.Kind, n.Text = Text, y.Value
		if y.Tag != "!!str" && y.Style == 0 {
			n.Kind = Scalar
		}
		n.End = t.scalarEnd(n.Start, y.Style, inside)
	}
	if n.Flow && n.Kind >= List {
		n.End = t.flowEnd(n.Start)
	}
	return n, nil
}

// readMapping reads the members of y, a mapping, into n.
func (t *yamlTree) readMapping(n *Node, y *yaml.Node, depth int, inside bool) error {
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		if k.Kind != yaml.ScalarNode || k.Value == "<<" || t.strict &&
			(k.Value == "__proto__" || k.Style&yaml.TaggedStyle != 0) {
			return syntaxError(t.data, t.offset(k.Line, k.Column),
				"a key that readers of YAML read differently")
		}
		v, err := t.readValue(y.Content[i+1], depth+1, inside)
		if err != nil {
			return err
		}
		n.Members = append(n.Members, Member{k.Value, t.offset(k.Line, k.Column), v})
		n.End = max(n.End, v.End)
	}
	return nil
}

// readSequence reads the items of y, a sequence, into n.
func (t *yamlTree) readSequence(n *Node, y *yaml.Node, depth int, inside bool) error {
	for _, c := range y.Content {
		v, err := t.readValue(c, depth+1, inside)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, v)
		n.End = max(n.End, v.End)
	}
	return nil
}

// scalarEnd returns the offset at which the scalar at start ends, or 0 if that is not known because it has
// several lines.
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

// flowEnd returns the offset behind the bracket that closes the one at start, or 0.
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
