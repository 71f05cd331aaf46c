package clients

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/clients/syntax"
)

// Elsewhere is a part of a client's file that holds what looks like servers, where no client is known to read any.
type Elsewhere struct {
	Key          string // the path of keys to it, "mcp/servers"; "" for the file itself
	Line, Column int    // of the first of them, from 1
}

// maxNested bounds how deep a file is searched for servers.
const maxNested = 12

// FindElsewhere finds what looks like servers in data, the bytes of files, which are one file as its clients read it, and
// is none for any of them: a client of another version may read it, or its user may think so. What looks like a server is
// an object with a command or a URL, below a key with "mcp" in its name or one under which some client has its servers, or
// anywhere in a file that holds nothing but servers.
func FindElsewhere(files []File, data []byte) (out []Elsewhere) {
	root, err := files[0].format.Parse(data, false)
	if err != nil || files[0].Client != "" && clientOf(files[0].Client).isHallmark {
		return nil
	}
	known := map[*syntax.Node]bool{}
	for _, f := range files {
		for _, shape := range slices.Concat(f.shapes, f.commandShapes) {
			for _, p := range lookup(root, shape, true) {
				known[p.node] = known[p.node] || shape != wholeFile && !looksServer(p.node)
			}
		}
		for _, e := range f.entries(root, true) {
			known[e.value] = known[e.value] || e.shape != wholeFile || looksServer(e.value)
		}
	}
	var find func(n *syntax.Node, keys []string, about bool)
	find = func(n *syntax.Node, keys []string, about bool) {
		if known[n] || len(keys) > maxNested {
			return
		}
		at := -1
		for _, m := range n.Members {
			about := about || strings.Contains(strings.ToLower(m.Key), "mcp") ||
				len(keys) == 0 && slices.Contains(anyShapes, m.Key)
			if about && at < 0 && !known[m.Value] && looksServer(m.Value) {
				at = m.At
			}
			find(m.Value, append(slices.Clip(keys), m.Key), about)
		}
		for i, item := range n.Items {
			if about && at < 0 && looksServer(item) {
				at = max(item.Start, n.Start)
			}
			find(item, append(slices.Clip(keys), strconv.Itoa(i)), about)
		}
		if at >= 0 {
			e := Elsewhere{Key: strings.Join(keys, "/")}
			e.Line, e.Column = syntax.Position(data, at)
			out = append(out, e)
		}
	}
	about := HoldsOnlyServers(files[0].Path)
	if about && looksServer(root) && !known[root] {
		return []Elsewhere{{Line: 1, Column: 1}}
	}
	find(root, nil, about)
	return out
}

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
func looksServer(n *syntax.Node) bool {
	if n.Kind != syntax.Object {
		return false
	}
	if t := n.Get("transport"); t != nil && t.Kind == syntax.Object {
		n = t
	}
	command, _ := n.FirstFilled("command", "cmd")
	url, _ := n.FirstFilled(urlKeys...)
	_, args := n.First("args", "arguments")
	switch {
	case command != nil && command.Kind == syntax.List:
		return command.IsTextList()
	case command != nil && command.Kind == syntax.Text:
		return args != "" || n.Get("type") != nil || n.Get("env") != nil || len(n.Members) == 1
	}
	return url != nil && url.Kind == syntax.Text && strings.HasPrefix(url.Text, "http")
}
