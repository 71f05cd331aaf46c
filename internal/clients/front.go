package clients

import (
	"bytes"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/frontmatter"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// mayNameServers matches front matter that may name servers or hooks, also in a spelling that only a
// reader of YAML resolves.
var mayNameServers = spelling.Form(`(?im)mcp|^hooks[ \t]*:|\\[xu]|\\\r?\n|!!|!<|%TAG|__proto__`)

// readFront reads the front matter of Markdown: YAML between two lines of three dashes at the head. Clients
// read it leniently, since it often holds prose that is not YAML: that is an error only if it may name
// servers. If strict is set, so is a head that only some readers take for a fence: one of more dashes, or
// with other space around it.
func readFront(data []byte, strict bool) (*Node, error) {
	m, found := frontmatter.Split(data)
	front := data[:m.Offset+len(m.YAML)] // without an end all of it: a client may read on to the end
	// A carriage return that ends no line is a blank to some readers, and the end of a line to others.
	fences := slices.Concat(data[:m.Offset], data[len(front):len(data)-len(m.Body)], []byte("\n"))
	fences = bytes.ReplaceAll(fences, []byte("\r\n"), nil)
	if !found || bytes.Contains(fences, []byte("\r")) {
		head := len(data) - len(bytes.TrimPrefix(data, []byte(mark)))
		text := bytes.TrimSpace(data[head:])
		if (strict || found) && bytes.HasPrefix(text, []byte("---")) && mayNameServers().Match(text) {
			return nil, syntaxError(data, head, "front matter that its readers do not agree on")
		}
		return &Node{Kind: Object}, nil
	}
	root, err := readYAML(front, strict)
	switch {
	case err != nil && !mayNameServers().Match(front):
		return &Node{Kind: Object}, nil
	case err != nil:
		return nil, err
	}
	return root, nil
}
