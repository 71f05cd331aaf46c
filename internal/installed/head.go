package installed

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hallmark-mcp/hallmark/internal/facet"
	"github.com/hallmark-mcp/hallmark/internal/frontmatter"
)

// maxHead is the largest front matter that is read, in bytes.
const maxHead = 64 << 10

// head is the front matter of a Markdown file.
type head struct {
	object          // its members
	prefix string   // lines before the first member: comments
	lines  []string // of each member, verbatim; nil if they cannot be distinguished
	end    string   // of its lines: "\n" or "\r\n"
	err    error    // why it cannot be read
}

// splitHead splits a Markdown file into its front matter, and what follows. Without one that ends text is nil, and body
// all: what a client reads as limits must not be text for Hallmark, nor the other way.
func splitHead(data []byte) (text, body []byte) {
	if m, found := frontmatter.Split(data); found && m.Closed {
		return m.YAML, m.Body
	}
	return nil, data
}

// otherBreaks are what YAML takes for the end of a line, and readers that go line by line do not.
var otherBreaks = []string{"\r", "\u0085", "\u2028", "\u2029"}

// isOneDocument reports whether all readers of YAML see the same lines in a text, and one document.
func isOneDocument(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.HasPrefix(line, "...") || strings.HasPrefix(line, "---") ||
			slices.ContainsFunc(otherBreaks, func(b string) bool { return strings.Contains(line, b) }) {
			return false
		}
	}
	return true
}

// readHead reads the text of a front matter. One that is no YAML has its error, and no members.
func readHead(text []byte) (h head) {
	h.end = "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		h.end = "\r\n"
	}
	if len(text) > maxHead {
		h.err = errTooLarge
		return h
	}
	if !isOneDocument(string(text)) {
		h.err = errors.New("not all readers of YAML read alike")
		return h
	}
	root, err := frontmatter.Parse(text)
	switch {
	case errors.Is(err, frontmatter.ErrTooLarge):
		h.err = errTooLarge
		return h
	case err != nil:
		h.err = errors.New("is no YAML")
		return h
	case root == nil:
		h.prefix = string(text)
		return h
	}
	v, err := (&yamlReader{}).readValue(root, 0)
	if err != nil {
		h.err = err
		return h
	}
	o, ok := v.(object)
	if !ok {
		h.err = errors.New("is no object")
		return h
	}
	h.object = o
	if canSplit(root) {
		h.splitLines(text, root)
	}
	return h
}

// limits are members that let an agent or a model do less.
var limits = []string{"disable-model-invocation", "disallowedTools", "tools", "user-invocable"}

// readLimits reads the limits of a front matter that readHead cannot read, line by line as facets are wrapped: people
// write descriptions that are no YAML, and an agent that may only read must not get every tool for that.
func readLimits(data []byte) (o object) {
	if len(data) > maxHead {
		return nil
	}
	all := facet.ParseHead(data)
	for _, name := range limits {
		lines := all.Written(name)
		if len(lines) == 0 {
			continue
		}
		text := strings.Join(lines, "\n  ")
		if one := readHead([]byte(name + ": " + text + "\n")); one.err == nil && len(one.object) == 1 {
			o = append(o, one.object[0])
		} else {
			o = append(o, member{name, text})
		}
	}
	return o
}

// limitsTools reports whether a front matter has one of the members that limit the tools of an agent.
func (o object) limitsTools() bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.name == "tools" || m.name == "disallowedTools" })
}

// canSplit reports whether each member of a mapping has lines of its own, and needs no other's.
func canSplit(root *yaml.Node) bool {
	if root.Style&yaml.FlowStyle != 0 || usesAnchors(root) {
		return false
	}
	line := 0
	for i := 0; i < len(root.Content); i += 2 {
		key := root.Content[i]
		if key.Column != 1 || key.Line <= line {
			return false
		}
		line = key.Line
	}
	return true
}

// usesAnchors reports whether a node has an anchor, or refers to one.
func usesAnchors(n *yaml.Node) bool {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return true
	}
	for _, c := range n.Content {
		if usesAnchors(c) {
			return true
		}
	}
	return false
}

// splitLines finds the lines of each member: from its key to the next.
func (h *head) splitLines(text []byte, root *yaml.Node) {
	var all []string
	for line := range bytes.Lines(text) {
		all = append(all, string(line))
	}
	at := 0
	for i := 0; i < len(root.Content); i += 2 {
		next := root.Content[i].Line - 1
		if next > len(all) {
			h.lines = nil
			return
		}
		if i == 0 {
			h.prefix = strings.Join(all[:next], "")
		} else {
			h.lines = append(h.lines, strings.Join(all[at:next], ""))
		}
		at = next
	}
	h.lines = append(h.lines, strings.Join(all[at:], ""))
}

// line is the text of a member: as it was written, or as one line.
func (h head) line(i int) string {
	if h.lines != nil {
		return h.lines[i]
	}
	return h.write(h.object[i])
}

// write is a member on one line.
func (h head) write(m member) string {
	if name, ok := m.value.(string); ok && m.name == "name" {
		return "name: " + yamlKey(name) + h.end // without quotes where it needs none, as people write it
	}
	return yamlKey(m.name) + ": " + yamlValue(m.value) + h.end
}
