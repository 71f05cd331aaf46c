package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// maxServers bounds the entries of one file that are judged.
const maxServers = 10_000

// Inspect reads all entries of a file's bytes, in its order: besides the servers that
// [Parse] gives those that cannot be read as one server, with what is the matter with
// them. Whoever judges a file must not pass over an entry that a client may read, and what
// clients read differently in a file that is not the user's own is an error.
func Inspect(f File, data []byte) ([]Server, error) {
	root, err := f.format.read(data, !f.User)
	if err != nil {
		return nil, err
	}
	var out []Server
	at := map[*node]int{}
	for _, shape := range f.shapes {
		for _, e := range entries(root, shape, true) {
			if f.refers(e) {
				continue
			}
			i, again := at[e.value]
			if again && out[i].Problem == "" {
				continue
			}
			s, ok := e.inspect(f)
			if !ok && !f.holdsOnly(shape) {
				continue // the key means something else as often as it means servers
			}
			if again {
				out[i] = s
				continue
			}
			at[e.value] = len(out)
			if out = append(out, s); len(out) > maxServers {
				return nil, fmt.Errorf("has more than %d servers", maxServers)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Server) int { return a.entry.at - b.entry.at })
	from, line := 0, 1
	for i := range out { // counted on, and not from the head of the file for each
		to := min(out[i].entry.at, len(data))
		line, from = line+bytes.Count(data[from:to], []byte("\n")), to
		_, column := position(data[bytes.LastIndexByte(data[:to], '\n')+1:to], to)
		out[i].Line, out[i].Column = line, column
	}
	return out, nil
}

// holdsOnly reports whether all that is found by a shape are servers. hallmark.toml has a
// reader of its own, which refuses what is none.
func (f File) holdsOnly(shape string) bool {
	if f.Client != "" {
		return !clientOf(f.Client).own && shape != itself
	}
	return !slices.Contains([]string{"servers", "mcp", "extensions", "mcp/servers"}, shape)
}

// inspect reads an entry with what is the matter with it; ok is false if it is no server.
func (e entry) inspect(f File) (s Server, ok bool) {
	if !e.isTable() {
		what, names := "is not a table of a server", ""
		if e.item && e.value.kind == object {
			what = "has no name"
		} else if e.value.kind == text {
			what, names = "is a text; if it names another file, that is not followed", e.value.text
		}
		return Server{Client: f.Client, File: f.Path, Scope: e.scope, Name: e.name, Problem: what, names: names,
			entry: e}, false
	}
	s, ok = e.server(f)
	_, url := e.holder().first(urlKeys...)
	switch {
	case !ok:
		s.Disabled = e.disabled()
		s.Problem = "has neither a command nor a URL that can be read"
		if s.Extension = e.extension(); s.Extension {
			s.Problem = "is started by an extension of its client, which says what runs"
		}
	case e.duplicateKey() != "":
		s.Problem = fmt.Sprintf("has two members called %+q, of which clients take one or the other", e.duplicateKey())
	case s.Command != "" && url != "":
		s.Problem = "has both a command and a URL, of which clients take one or the other"
	case e.holder() != e.value && e.value.get("command") != nil:
		s.Problem = "has two commands, of which clients take one or the other"
	case len(e.commands()) > 1:
		s.Problem = "has both command and cmd, of which clients take one or the other"
	case e.unreadableArgument():
		s.Problem = "has an argument that is not a text"
	}
	return s, ok
}

// extension reports whether an entry has settings for what an extension of a client, or the
// client itself, starts.
func (e entry) extension() bool {
	if kind := e.value.get("type"); kind != nil && slices.Contains([]string{"builtin", "platform"}, kind.text) {
		return true
	}
	return e.value.get("settings") != nil && e.value.get("command") == nil
}

// commands are the keys of a command that e has.
func (e entry) commands() (out []string) {
	for _, key := range []string{"command", "cmd"} {
		if e.holder().get(key) != nil {
			out = append(out, key)
		}
	}
	return out
}

// duplicateKey returns a key that an object of e has more than once, or "".
func (e entry) duplicateKey() string {
	for _, o := range e.objects() {
		seen := map[string]bool{}
		for _, m := range o.members {
			if seen[m.key] {
				return m.key
			}
			seen[m.key] = true
		}
	}
	return ""
}

func (e entry) unreadableArgument() bool {
	l, ok := e.launch()
	if !ok {
		return false
	}
	var words []*node
	for _, n := range []*node{l.command, l.args} {
		if n != nil {
			words = append(words, n.items...)
		}
	}
	return slices.ContainsFunc(words, func(n *node) bool { return n.kind != text && n.kind != scalar })
}

// plainKeys are the members of an entry that do not change which program is started, with
// what arguments, where, or in what environment; and those that [Server] has.
var plainKeys = []string{
	"type", "transport", "command", "cmd", "path", "args", "arguments", "cwd", "name", "description", "title",
	"display_name", "disabled", "enabled", "timeout", "networkTimeout", "tools", "autoApprove", "alwaysAllow", "trust",
	"source", "gallery", "version", "bundled", "includeTools", "excludeTools", "enabled_tools", "disabled_tools",
	"disabledTools", "available_tools", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "required",
	"checksum", "verify",
}

// Unknown returns the members of the entry that may change which program is started, or how, in a way
// that is not known here. A member that is null counts as none.
func (s Server) Unknown() []string {
	var out []string
	kinds := []string{"stdio", "local"}
	if s.URL != "" {
		kinds = []string{"http", "sse", "streamable-http", "streamableHttp", "remote"}
	}
	for _, o := range s.entry.objects() {
		for _, m := range o.members {
			switch {
			case s.URL != "" && slices.Contains(urlKeys, m.key):
			case slices.Contains(plainKeys, m.key), m.value.isNull():
			case slices.Contains(variableKeys, m.key) && m.value.namesAll():
			case slices.Contains(out, m.key):
			default:
				out = append(out, m.key)
			}
		}
		if clientOf(s.Client).substitutes &&
			slices.ContainsFunc(o.texts(nil),
				func(t string) bool { return strings.Contains(t, "$(") || strings.Contains(t, "`") }) {
			out = append(out, "$(command) in a value")
		}
		for key, known := range map[string][]string{"type": kinds, "transport": kinds, "source": {"custom"}} {
			if t := o.get(key); t != nil && !(key == "transport" && t.kind == object) && !t.isNull() &&
				!slices.Contains(known, t.text) {
				out = append(out, key+" "+t.text)
			}
		}
	}
	return out
}

// namesAll reports whether names finds all names in n: of an object its keys, of a list its
// texts.
func (n *node) namesAll() bool {
	return n.kind == object || n.kind == list &&
		!slices.ContainsFunc(n.items, func(item *node) bool { return item.kind != text })
}

// WorkingDir returns the working directory that the entry sets, "" if it sets none, and "?" if its
// value is no text.
func (s Server) WorkingDir() string {
	for _, o := range s.entry.objects() {
		if d := o.get("cwd"); d != nil && !d.isNull() {
			if d.kind != text {
				return "?" // differs from every directory that a client can be given
			}
			return d.text
		}
	}
	return ""
}

// disabled reports whether the client is told not to start the server.
func (e entry) disabled() bool {
	if v := e.value.get("disabled"); v != nil && v.text == "true" {
		return true
	}
	v := e.value.get("enabled")
	return v != nil && v.text == "false"
}
