package clients

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Elsewhere is a part of a client's file that holds what looks like servers, where no client is known to read any.
type Elsewhere struct {
	Key          string // the path of keys to it, "mcp/servers"; "" for the file itself
	Line, Column int    // of the first of them, from 1
}

// maxNested bounds how deep a file is searched for servers, and maxElsewhere how many places in it are named.
const maxNested, maxElsewhere = 12, 20

// FindElsewhere finds what looks like servers in data, the bytes of files, which are one file as its clients read it,
// and is none for any of them: a client of another version may read it, or its user may think so. What looks like a
// server is an object with a command or a URL, under a key that is called as those of servers are and below one with
// "mcp" in its name or one under which some client has its servers, or in a file that holds nothing but servers.
func FindElsewhere(files []File, data []byte) (out []Elsewhere) {
	root, err := files[0].format.Parse(data, false)
	if err != nil || files[0].Client != "" && clientOf(files[0].Client).isHallmark {
		return nil
	}
	known := map[*Node]bool{}
	for _, f := range files {
		for _, shape := range slices.Concat(f.shapes, f.commandShapes) {
			for _, p := range lookup(root, shape, true) {
				known[p.node] = known[p.node] || shape != wholeFile
			}
		}
		for _, e := range f.entries(root, true) {
			known[e.value] = known[e.value] || e.shape != wholeFile || looksServer(e.value)
		}
	}
	only := HoldsOnlyServers(files[0].Path)
	if only && looksServer(root) && !known[root] {
		return []Elsewhere{{Line: 1, Column: 1}}
	}
	var find func(n *Node, keys []string, about bool)
	find = func(n *Node, keys []string, about bool) {
		if known[n] || len(keys) > maxNested || len(out) == maxElsewhere {
			return
		}
		at := -1
		holds := only && len(keys) == 0 || about && holdsServersName().MatchString(keys[len(keys)-1])
		for _, m := range n.Members {
			if holds && at < 0 && !known[m.Value] && looksServer(m.Value) {
				at = m.At
			}
			find(m.Value, append(slices.Clip(keys), m.Key), about || only ||
				strings.Contains(strings.ToLower(m.Key), "mcp") || len(keys) == 0 && slices.Contains(anyShapes, m.Key))
		}
		for i, item := range n.Items {
			if named := item.Get("name") != nil || item.Get("command") != nil; holds && at < 0 &&
				named && looksServer(item) {
				at = max(item.Start, n.Start)
			}
			find(item, append(slices.Clip(keys), strconv.Itoa(i)), about)
		}
		if at >= 0 && len(out) < maxElsewhere {
			e := Elsewhere{Key: strings.Join(keys, "/")}
			e.Line, e.Column = Position(data, at)
			out = append(out, e)
		}
	}
	find(root, nil, false)
	return out
}

// holdsServersName is the name of a key under which servers would stand.
var holdsServersName = spelling.Form(`(?i)(mcp|servers?|extensions)$`)

// Keys returns the paths of keys under which clients read servers in files.
func Keys(files []File) (out []string) {
	for _, f := range files {
		for _, shape := range f.shapes {
			if shape != wholeFile && !slices.Contains(out, shape) {
				out = append(out, shape)
			}
		}
	}
	return out
}

// looksServer reports whether a value looks like a server: an object that says what to start, or which URL to reach.
func looksServer(n *Node) bool {
	if n.Kind != Object {
		return false
	}
	if t := n.Get("transport"); t != nil && t.Kind == Object {
		n = t
	}
	command, _ := n.FirstFilled("command", "cmd")
	url, _ := n.FirstFilled(urlKeys...)
	_, args := n.First("args", "arguments")
	switch {
	case command != nil && command.Kind == List:
		return command.IsTextList()
	case command != nil && command.Kind == Text:
		return args != "" || n.Get("type") != nil || n.Get("env") != nil || len(n.Members) == 1
	}
	return url != nil && url.Kind == Text && strings.HasPrefix(url.Text, "http")
}
