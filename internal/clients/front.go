package clients

import (
	"bytes"
	"regexp"
)

// fence is a line that begins or ends the front matter of Markdown.
var fence = regexp.MustCompile(`(?m)^---[ \t]*\r?$`)

// mayNameServers matches front matter that may name servers or hooks, also in a spelling that only a
// reader of YAML resolves.
var mayNameServers = regexp.MustCompile(`(?im)mcp|^hooks[ \t]*:|\\[xu]|\\\r?\n|!!|!<|%TAG|__proto__`)

// readFront reads the front matter of Markdown, which is YAML between two lines of three
// dashes at its head. Prose in it that is not YAML is common, and its clients read it leniently:
// it is an error only if it may name servers. With one set, so is a head that is a fence to
// some: of more dashes, or with other space around it.
func readFront(data []byte, strict bool) (*node, error) {
	const mark = "\ufeff"
	head := len(data) - len(bytes.TrimPrefix(data, []byte(mark)))
	lines := fence.FindAllIndex(data[head:], 2)
	if len(lines) == 0 || lines[0][0] != 0 {
		if text := bytes.TrimSpace(data[head:]); strict && bytes.HasPrefix(text, []byte("---")) &&
			mayNameServers.Match(text) {
			return nil, syntaxError(data, head, "front matter that its readers do not agree on")
		}
		return &node{kind: object}, nil
	}
	end := len(data) // a client may read on to the end
	if len(lines) == 2 {
		end = head + lines[1][0]
	}
	front := data[:end]
	root, err := readYAML(front, strict)
	switch {
	case err != nil && !mayNameServers.Match(front):
		return &node{kind: object}, nil
	case err != nil:
		return nil, err
	}
	return root, nil
}

// refers reports whether an entry of a list only names a server that another file has: so
// agents say in their front matter which of the servers they may use.
func (f File) refers(e entry) bool {
	return f.format == formatFront && e.item && e.value.kind == text
}
