// Package frontmatter reads the front matter of Markdown files: YAML between two lines "---" at the beginning.
//
// [Split] finds it and [Parse] reads it into nodes. What the keys mean, and which forms of YAML are accepted, is for
// the caller to decide.
package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of what [Parse] and [Documents] accept. They bound the work of a caller that follows aliases, too: each use
// of an alias counts as all that it stands for.
const (
	MaxSize  = 1 << 20 // bytes of text
	MaxNodes = 1 << 17 // keys, values, lists and mappings, of all documents
	MaxDepth = 100     // lists and mappings inside each other
)

var (
	// ErrTooLarge means that a text exceeds one of the limits.
	ErrTooLarge = errors.New("it has too much text, too many values, or too many inside each other")
	// ErrNotOne means that a text has more than one document.
	ErrNotOne = errors.New("it is more than one document")
)

// Matter is the front matter of a text, and what follows it.
type Matter struct {
	YAML   []byte // between the two lines "---", or to the end of the text if there is no second one
	Offset int    // of YAML in the text
	Closed bool   // there is a second line "---"
	Body   []byte // what follows that line
}

// Split finds the front matter of a text. A byte order mark before it is skipped. Found is false if the first line is
// no fence; see [IsFence].
func Split(text []byte) (m Matter, found bool) {
	start := len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))
	first, _, _ := bytes.Cut(text[start:], []byte("\n"))
	if !IsFence(first) {
		return Matter{}, false
	}
	m.Offset = min(start+len(first)+1, len(text))
	m.YAML = text[m.Offset:]
	end := 0
	for line := range bytes.Lines(m.YAML) {
		if IsFence(line) {
			m.Body, m.YAML, m.Closed = m.YAML[end+len(line):], m.YAML[:end:end], true
			break
		}
		end += len(line)
	}
	return m, true
}

// IsFence reports whether a line is "---". Blanks and line ends after the dashes do not count.
func IsFence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r\n")) == "---" }

// Parse reads a text of one YAML document and returns its value, or nil if the text has no document. Lines of nodes
// count from 1. Aliases are not replaced. A key may be in a mapping twice.
func Parse(text []byte) (*yaml.Node, error) {
	all, err := Documents(text)
	switch {
	case err != nil:
		return nil, err
	case len(all) > 1:
		return nil, ErrNotOne
	case len(all) == 0:
		return nil, nil
	}
	return all[0], nil
}

// Documents returns the values of all YAML documents of a text, or with an error those before it.
func Documents(text []byte) (all []*yaml.Node, err error) {
	if len(text) > MaxSize {
		return nil, ErrTooLarge
	}
	defer func() {
		// The parser panics where it meets what its author holds for impossible.
		if p := recover(); p != nil {
			err = fmt.Errorf("it is not YAML: %v", p)
		}
	}()
	left := MaxNodes
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, fmt.Errorf("it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		for _, n := range doc.Content {
			if left -= count(n, left, 0); left < 0 {
				return all, ErrTooLarge
			}
			all = append(all, n)
		}
	}
}

// count returns how many nodes n stands for, aliases followed. It stops above most, which it also exceeds if n is too
// deep: an alias can stand for what it is in.
func count(n *yaml.Node, most, depth int) int {
	if depth > MaxDepth {
		return most + 1
	}
	total := 1
	if n.Alias != nil {
		total += count(n.Alias, most-total, depth+1)
	}
	for _, c := range n.Content {
		if total > most {
			break
		}
		total += count(c, most-total, depth+1)
	}
	return total
}
