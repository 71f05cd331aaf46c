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

	entry entry
}

// entry is a server's value in the syntax tree.
type entry struct {
	scope, name string
	at          int // offset of the name, or of the value in a list
	value       *node
}

// entries finds servers by a path of keys, "mcp/servers": "*" is any key, and becomes the
// scope. The last key leads to an object of servers by name, or to a list of servers that
// name themselves.
func entries(root *node, shape string) []entry {
	type place struct {
		scope string
		n     *node
	}
	places := []place{{"", root}}
	for key := range strings.SplitSeq(shape, "/") {
		var next []place
		for _, p := range places {
			for _, m := range p.n.members {
				switch {
				case key == "*":
					next = append(next, place{m.key, m.value})
				case m.key == key:
					next = append(next, place{p.scope, m.value})
				}
			}
		}
		places = next
	}
	var out []entry
	for _, p := range places {
		for _, m := range p.n.members {
			if m.value.kind == object {
				out = append(out, entry{p.scope, m.key, m.at, m.value})
			}
		}
		for _, item := range p.n.items {
			if name := item.get("name"); item.kind == object && name != nil {
				out = append(out, entry{p.scope, name.text, item.start, item})
			}
		}
	}
	return out
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
	command, key := e.value.first("command", "cmd")
	if command == nil {
		return l, false
	}
	l = launch{holder: e.value, command: command}
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
	if url, _ := e.value.first("url", "serverUrl", "httpUrl", "uri"); !ok && url != nil && url.kind == text && url.text != "" {
		s.URL, ok = url.text, true
	}
	if !ok {
		return s, false
	}
	holders := []*node{e.value}
	if c := e.value.get("command"); c != nil && c.kind == object {
		holders = append(holders, c)
	}
	for _, h := range holders {
		for _, key := range []string{"env", "environment", "envs", "env_keys", "env_vars", "variables"} {
			s.Variables = append(s.Variables, names(h.get(key))...)
		}
		for _, key := range []string{"headers", "http_headers", "env_http_headers"} {
			s.Headers = append(s.Headers, names(h.get(key))...)
		}
	}
	if v := e.value.get("disabled"); v != nil && v.text == "true" {
		s.Disabled = true
	}
	if v := e.value.get("enabled"); v != nil && v.text == "false" {
		s.Disabled = true
	}
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

// names are the keys of an object, or the texts of a list up to a "=".
func names(n *node) []string {
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
