package syntax

import (
	"bytes"
	"regexp"
	"sync"
)

// fence matches a line that begins or ends the front matter of Markdown.
var fence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^---[ \t]*\r?$`)
})

// mayNameServers matches front matter that may name servers or hooks, also in a spelling that only a
// reader of YAML resolves.
var mayNameServers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)mcp|^hooks[ \t]*:|\\[xu]|\\\r?\n|!!|!<|%TAG|__proto__`)
})

// readFront reads the front matter of Markdown: YAML between two lines of three dashes at the head. Clients
// read it leniently, since it often holds prose that is not YAML: that is an error only if it may name
// servers. If strict is set, so is a head that only some readers take for a fence: one of more dashes, or
// with other space around it.
func readFront(data []byte, strict bool) (*Node, error) {
	head := len(data) - len(bytes.TrimPrefix(data, []byte(mark)))
	lines := fence().FindAllIndex(data[head:], 2)
	if len(lines) == 0 || lines[0][0] != 0 {
		if text := bytes.TrimSpace(data[head:]); strict && bytes.HasPrefix(text, []byte("---")) &&
			mayNameServers().Match(text) {
			return nil, syntaxError(data, head, "front matter that its readers do not agree on")
		}
		return &Node{Kind: Object}, nil
	}
	end := len(data) // a client may read on to the end
	if len(lines) == 2 {
		end = head + lines[1][0]
	}
	front := data[:end]
	root, err := readYAML(front, strict)
	switch {
	case err != nil && !mayNameServers().Match(front):
		return &Node{Kind: Object}, nil
	case err != nil:
		return nil, err
	}
	return root, nil
}
