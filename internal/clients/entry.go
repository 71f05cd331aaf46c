package clients

import (
	"cmp"
	"slices"
	"strings"
)

// entry is the value of a server in a syntax tree.
type entry struct {
	scope, name string
	at          int // offset of the name, or of the value in a list
	value       *Node
	shape       string // the path of keys that led to it
	in          *Node  // the object or list of servers
	item        bool   // it is an item of a list, in which each server has a member for its name
}

// entries returns the entries of f in root. An object that another path of keys says holds servers, such as "servers"
// of {"mcp": {"servers": ...}}, is none, unless it looks like a server; then all in it that is not known to be a part
// of one counts too.
func (f File) entries(root *Node, fold bool) (out []entry) {
	holders := map[*Node]bool{}
	for _, shape := range f.shapes {
		if shape == wholeFile {
			continue
		}
		for _, p := range lookup(root, shape, fold) {
			holders[p.node] = shape != oneServer && p.node.Kind >= List && !looksServer(p.node)
		}
	}
	for _, shape := range f.shapes {
		outer := ""
		if i := strings.LastIndexByte(shape, '/'); i > 0 {
			outer = shape[:i]
		}
		for _, e := range findEntries(root, shape, fold) {
			both := slices.Contains(f.shapes, outer) && looksServer(e.in)
			if isMember := both && slices.Contains(memberKeys, e.name) && !looksServer(e.value); !holders[e.value] &&
				!isMember {
				out = append(out, e)
			}
		}
	}
	return out
}

// findEntries finds servers by a path of keys, as lookup does. The path leads to an object of servers by
// name, to a list of servers with a member "name", or to a list of objects of servers by name. A value
// there that is not an object is an entry too, which is not a server.
func findEntries(root *Node, shape string, fold bool) []entry {
	var out []entry
	for _, p := range lookup(root, shape, fold) {
		if shape == oneServer {
			e := entry{at: p.node.Start, value: p.node, in: p.node, name: "server"}
			if name := root.Get("name"); name != nil && name.Text != "" {
				e.name = name.Text
			}
			out = append(out, e)
			for _, m := range membersOf(p.node.Get("platform_overrides")) {
				other := e
				other.name, other.value = e.name+" on "+m.Key, overridden(p.node, m.Value)
				out = append(out, other)
			}
			continue
		}
		for _, m := range p.node.Members {
			out = append(out, entry{scope: p.scope, name: m.Key, at: m.At, value: m.Value, in: p.node})
		}
		for _, value := range p.node.Items {
			if holdsServers(value) {
				for _, m := range value.Members {
					out = append(out, entry{scope: p.scope, name: m.Key, at: m.At, value: m.Value, in: p.node})
				}
				continue
			}
			e := entry{scope: p.scope, at: value.Start, value: value, item: true, in: p.node}
			e.at = cmp.Or(e.at, p.node.Start) // items of an inline list of TOML have no offsets
			if name := value.Get("name"); name != nil {
				e.name = name.Text
			}
			out = append(out, e)
		}
		if p.node.Kind < List && !p.node.IsNull() {
			out = append(out, entry{scope: p.scope, name: shape[strings.LastIndexByte(shape, '/')+1:], at: p.node.Start,
				value: p.node, in: p.node})
		}
	}
	for i := range out {
		out[i].shape = shape
	}
	return out
}

// membersOf returns the members of an object, or none.
func membersOf(n *Node) []Member {
	if n == nil {
		return nil
	}
	return n.Members
}

// overridden returns the server that n is on a platform for which by replaces members.
func overridden(n, by *Node) *Node {
	out := &Node{Kind: Object, Start: by.Start, Members: slices.Clone(by.Members)}
	for _, m := range n.Members {
		if by.Get(m.Key) == nil && m.Key != "platform_overrides" {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// holdsServers reports whether an item of a list is an object of servers by name.
func holdsServers(item *Node) bool {
	return len(item.Members) > 0 && item.Get("name") == nil &&
		!slices.ContainsFunc(item.Members, func(m Member) bool { return m.Value.Kind != Object })
}

// isTable reports whether e can be a server: an object that has a name.
func (e entry) isTable() bool {
	return e.value.Kind == Object && (!e.item || e.value.Get("name") != nil)
}

// holder returns the object that says what runs: the entry, or its member "transport".
func (e entry) holder() *Node {
	if t := e.value.Get("transport"); t != nil && t.Kind == Object {
		return t
	}
	return e.value
}

// launch is the part of an entry that says what runs.
type launch struct {
	holder  *Node  // the object that command is a member of
	command *Node  // a text, or a list whose first item is the command
	args    *Node  // nil if there is none
	argsKey string // what args is called, or would be
}

// findLaunch finds what runs in the forms that clients read: members command or cmd and args or
// arguments; a list in command; or an object in command with path and args.
func (e entry) findLaunch() (l launch, ok bool) {
	command, key := e.holder().FirstFilled("command", "cmd")
	if command == nil {
		return l, false
	}
	l = launch{holder: e.holder(), command: command}
	if command.Kind == Object {
		l.holder = command
		if l.command, key = command.FirstFilled("path", "command"); l.command == nil {
			return l, false
		}
	}
	if l.args, l.argsKey = l.holder.FirstFilled("args", "arguments"); l.args == nil {
		l.args, l.argsKey = l.holder.First("args", "arguments") // an empty one, which an edit fills
	}
	if l.args == nil {
		l.argsKey = "args"
		if l.holder.Get("variables") != nil {
			l.argsKey = "arguments"
		}
	}
	switch l.command.Kind {
	case Text:
		return l, l.args.IsEmpty() || l.args.Kind == List
	case List:
		return l, key == "command" && len(l.command.Items) > 0 && l.command.Items[0].Text != ""
	}
	return l, false
}

// objects returns the objects whose members say how the server is started or reached.
func (e entry) objects() []*Node {
	out := []*Node{e.value}
	if h := e.holder(); h != e.value {
		out = append(out, h)
	}
	if c := e.holder().Get("command"); c != nil && c.Kind == Object {
		out = append(out, c)
	}
	return out
}

// isDisabled reports whether the client is told not to start the server.
func (e entry) isDisabled() bool {
	if v := e.value.Get("disabled"); v != nil && v.Text == "true" {
		return true
	}
	v := e.value.Get("enabled")
	return v != nil && v.Text == "false"
}

// isReference reports whether e only names a server that another file has, as agents do in their
// front matter to say which servers they may use.
func (f File) isReference(e entry) bool {
	return f.format == FrontMatter && e.item && e.value.Kind == Text
}
