package clients

import (
	"strings"
)

// Shapes: paths of keys to the servers of a file.
const (
	usualKey  = "mcpServers"
	inPlugins = "plugins/*/mcpServers" // of each plugin in a list of plugins
	wholeFile = "."                    // the file itself is the object of servers
	oneServer = "server/mcp_config"    // leads to one server, in the manifest of a bundle
)

// roleKey is the key of Codex's configuration under which the file of an agent's role is named.
const roleKey = "config_file"

// scopedNode is a value that a path of keys leads to.
type scopedNode struct {
	scope string // the last key that "*" stands for, "" if there is none
	node  *Node
}

// lookup finds values by a path of keys, "mcp/servers": "*" is any key, which becomes the scope, or any
// item of a list. If fold is set, keys match in any case, as clients that are written in Go read them.
func lookup(root *Node, shape string, fold bool) []scopedNode {
	places := []scopedNode{{"", root}}
	if shape == wholeFile {
		return places
	}
	for key := range strings.SplitSeq(shape, "/") {
		var next []scopedNode
		for _, p := range places {
			for _, item := range p.node.Items {
				if key == "*" {
					next = append(next, scopedNode{p.scope, item})
				}
			}
			for _, m := range p.node.Members {
				switch {
				case key == "*":
					next = append(next, scopedNode{m.Key, m.Value})
				case m.Key == key, fold && strings.EqualFold(m.Key, key):
					next = append(next, scopedNode{p.scope, m.Value})
				}
			}
		}
		places = next
	}
	return places
}
