package clients

import (
	"slices"
	"strings"
)

// Server is one entry of a client's file.
type Server struct {
	Client    string // id of the client, "" if the file's name does not tell
	File      string
	Line      int    // of the entry, from 1
	Column    int    // in characters, from 1
	Scope     string // the project that the entry belongs to, in a file with several
	Name      string
	Command   string
	Args      []string
	Variables []string // names of environment variables that it sets or wants
	URL       string   // in place of Command
	Headers   []string // names of headers for URL
	Disabled  bool
	Verify    string // the type of a verify block, or "checksum" for the older one; "" if there is none
	Algorithm string // of that block

	// Of [Inspect] alone: why the entry cannot be read as one server, and whether an extension
	// of the client says what is started.
	Problem   string
	Extension bool

	names string // the text that stands in place of the entry: see NamedFile
	entry entry
}

// entry is a server's value in the syntax tree.
type entry struct {
	scope, name string
	at          int // offset of the name, or of the value in a list
	value       *node
	item        bool // of a list, where servers name themselves
}

// found is a value that a path of keys leads to.
type found struct {
	scope string // the last key that the path does not name
	n     *node
}

// lookup finds values by a path of keys, "mcp/servers": "*" is any key, and becomes the
// scope, or any item of a list. With fold set, keys are found in any case: clients that are
// written in Go read them so.
func lookup(root *node, shape string, fold bool) []found {
	places := []found{{"", root}}
	if shape == itself {
		return places
	}
	for key := range strings.SplitSeq(shape, "/") {
		var next []found
		for _, p := range places {
			for _, item := range p.n.items {
				if key == "*" {
					next = append(next, found{p.scope, item})
				}
			}
			for _, m := range p.n.members {
				switch {
				case key == "*":
					next = append(next, found{m.key, m.value})
				case m.key == key, fold && strings.EqualFold(m.key, key):
					next = append(next, found{p.scope, m.value})
				}
			}
		}
		places = next
	}
	return places
}

// entries finds servers by a path of keys, as lookup does. The last key leads to an object of
// servers by name, or to a list of servers that name themselves, or of such objects. What is no
// object there is an entry too, and no server.
func entries(root *node, shape string, fold bool) []entry {
	var out []entry
	for _, p := range lookup(root, shape, fold) {
		for _, m := range p.n.members {
			out = append(out, entry{scope: p.scope, name: m.key, at: m.at, value: m.value})
		}
		for _, value := range p.n.items {
			if value.holdsServers() {
				for _, m := range value.members {
					out = append(out, entry{scope: p.scope, name: m.key, at: m.at, value: m.value})
				}
				continue
			}
			e := entry{scope: p.scope, at: value.start, value: value, item: true}
			if e.at == 0 {
				e.at = p.n.start // items of a list of TOML have no places
			}
			if name := value.get("name"); name != nil {
				e.name = name.text
			}
			out = append(out, e)
		}
		if p.n.kind < list && !p.n.isNull() {
			out = append(out, entry{scope: p.scope, name: shape[strings.LastIndexByte(shape, '/')+1:], at: p.n.start,
				value: p.n})
		}
	}
	return out
}

// holdsServers reports whether an item of a list is an object of servers by name.
func (n *node) holdsServers() bool {
	return len(n.members) > 0 && n.get("name") == nil &&
		!slices.ContainsFunc(n.members, func(m member) bool { return m.value.kind != object })
}

// isTable reports whether e can be a server: an object, with a name.
func (e entry) isTable() bool {
	return e.value.kind == object && (!e.item || e.value.get("name") != nil)
}

// holder is the object that says what runs: the entry, or the one in it that says how the
// server is reached.
func (e entry) holder() *node {
	if t := e.value.get("transport"); t != nil && t.kind == object {
		return t
	}
	return e.value
}

// launch is where an entry says what runs.
type launch struct {
	holder  *node  // the object that command is a member of
	command *node  // a text, or a list whose first item is the command
	args    *node  // nil if there is none
	argsKey string // what args is called, or would be
}

// launch finds them: command and args (arguments), cmd; a list in command; or an object
// in command with path and args.
func (e entry) launch() (l launch, ok bool) {
	command, key := e.holder().first("command", "cmd")
	if command == nil {
		return l, false
	}
	l = launch{holder: e.holder(), command: command}
	if command.kind == object {
		l.holder = command
		if l.command, key = command.first("path", "command"); l.command == nil {
			return l, false
		}
	}
	if l.args, l.argsKey = l.holder.first("args", "arguments"); l.args == nil {
		l.argsKey = "args"
		if l.holder.get("variables") != nil {
			l.argsKey = "arguments"
		}
	}
	switch l.command.kind {
	case text:
		return l, l.command.text != "" && (l.args == nil || l.args.kind == list)
	case list:
		return l, key == "command" && len(l.command.items) > 0 && l.command.items[0].text != ""
	}
	return l, false
}

// objects are those whose members say how a server is started or reached.
func (e entry) objects() []*node {
	out := []*node{e.value}
	if h := e.holder(); h != e.value {
		out = append(out, h)
	}
	if c := e.holder().get("command"); c != nil && c.kind == object {
		out = append(out, c)
	}
	return out
}

// The keys under which clients look for a URL, and for variables.
var (
	urlKeys      = []string{"url", "serverUrl", "httpUrl", "uri"}
	variableKeys = []string{"env", "environment", "envs", "env_keys", "env_vars", "variables"}
)

// server reads an entry; ok is false if it starts nothing and reaches nothing.
func (e entry) server(f File) (s Server, ok bool) {
	s = Server{Client: f.Client, File: f.Path, Scope: e.scope, Name: e.name, entry: e}
	if l, found := e.launch(); found {
		words := []*node{l.command}
		if l.command.kind == list {
			words = l.command.items
		}
		if l.args != nil {
			words = slices.Concat(words, l.args.items)
		}
		s.Command = words[0].text
		for _, w := range words[1:] {
			s.Args = append(s.Args, w.text)
		}
		ok = true
	}
	if url, _ := e.holder().first(urlKeys...); !ok && url != nil && url.kind == text && url.text != "" {
		s.URL, ok = url.text, true
	}
	if !ok {
		return s, false
	}
	for _, h := range e.objects() {
		for _, key := range variableKeys {
			s.Variables = append(s.Variables, variableNames(h.get(key))...)
		}
		for _, key := range []string{"headers", "http_headers", "env_http_headers"} {
			s.Headers = append(s.Headers, variableNames(h.get(key))...)
		}
	}
	s.Disabled = e.disabled()
	for _, key := range []string{"checksum", "verify"} {
		v := e.value.get(key)
		if v == nil || v.kind != object {
			continue
		}
		s.Verify, s.Algorithm = key, "sha256"
		if t := v.get("type"); t != nil && key == "verify" {
			s.Verify = t.text
		}
		if a := v.get("algorithm"); a != nil {
			s.Algorithm = a.text
		}
	}
	return s, true
}

// variableNames returns the keys of an object, or the texts of a list up to a "=", never values.
func variableNames(n *node) []string {
	if n == nil {
		return nil
	}
	var out []string
	for _, m := range n.members {
		out = append(out, m.key)
	}
	for _, item := range n.items {
		if item.kind == text {
			name, _, _ := strings.Cut(item.text, "=") // what follows is a value
			out = append(out, name)
		}
	}
	return out
}
