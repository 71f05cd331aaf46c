package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/launcher"
)

// maxServers bounds the entries of one file.
const maxServers = 10_000

// Inspect reads all entries in data, the bytes of f, in their order: the servers that [Parse] returns, and
// entries that cannot be read as one server, with the reason in Problem. A judgement on a file must not
// pass over an entry that a client may read. If f is not the user's own, what clients read in different
// ways is an error.
func Inspect(f File, data []byte) ([]Server, error) {
	root, err := f.format.Parse(data, !f.User)
	if err != nil {
		return nil, err
	}
	var out []Server
	at, readers := map[*Node]int{}, f.readers()
	for _, e := range f.entries(root, true) {
		if f.isReference(e) {
			continue
		}
		i, again := at[e.value]
		if again && out[i].Problem == "" {
			continue
		}
		s, ok := e.inspect(f)
		if !ok && !f.holdsOnly(e.shape) {
			continue // the key often means something else than servers
		}
		s.AutoApprove = e.findAutoApproving(readers)
		if again {
			out[i] = s
			continue
		}
		at[e.value] = len(out)
		if out = append(out, s); len(out) > maxServers {
			return nil, fmt.Errorf("has more than %d servers", maxServers)
		}
	}
	slices.SortStableFunc(out, func(a, b Server) int { return a.entry.at - b.entry.at })
	from, line := 0, 1
	for i := range out { // lines are counted from the entry before, not from the start of the file each time
		to := min(out[i].entry.at, len(data))
		line, from = line+bytes.Count(data[from:to], []byte("\n")), to
		_, column := Position(data[bytes.LastIndexByte(data[:to], '\n')+1:to], to)
		out[i].Line, out[i].Column = line, column
	}
	return out, nil
}

// holdsOnly reports whether all values that a shape leads to are servers. In hallmark.toml they need not
// be: its own reader refuses what is not a server.
func (f File) holdsOnly(shape string) bool {
	if f.Client != "" {
		return !clientOf(f.Client).isHallmark && shape != wholeFile
	}
	return !slices.Contains([]string{"servers", "mcp", "extensions", "mcp/servers"}, shape)
}

// inspect reads an entry, with a Problem if it is not one server. ok is false if it is no server at all.
func (e entry) inspect(f File) (s Server, ok bool) {
	if !e.isTable() {
		what, names := "is not a table of a server", ""
		if e.item && e.value.Kind == Object {
			what = "has no name"
		} else if e.value.Kind == Text {
			what, names = "is a text; if it names another file, that is not followed", e.value.Text
		}
		return Server{Client: f.Client, File: f.Path, Scope: e.scope, Name: e.name, Problem: what, reference: names,
			entry: e}, false
	}
	s, ok = e.readServer(f)
	s.Secrets = e.findSecrets()
	defer func() { s.Disabled = s.Disabled || f.off }()
	switch {
	case !ok && e.isPartOf(clientOf(f.Client)):
		s.Disabled, s.Starts = e.isDisabled(), StartsClient
	case !ok && e.isExtension():
		s.Disabled, s.Extension = e.isDisabled(), true
		s.Problem = "is started by an extension of its client, which says what runs"
	case !ok && s.startsNothing(f):
		s.Disabled, s.Starts = e.isDisabled(), StartsNothing
	case !ok:
		s.Disabled = e.isDisabled()
		s.Problem = "has neither a command nor a URL that can be read"
	default:
		s.Problem = e.findAmbiguity()
	}
	return s, ok
}

// findAmbiguity returns why clients may start different servers for e, which starts or reaches one; "" if they do not.
func (e entry) findAmbiguity() string {
	_, url := e.holder().FirstFilled(urlKeys...)
	_, starts := e.findLaunch()
	switch {
	case e.duplicateKey() != "":
		return fmt.Sprintf("has two members called %+q, of which clients take one or the other", e.duplicateKey())
	case starts && url != "":
		return "has both a command and a URL, of which clients take one or the other"
	case e.holder() != e.value && !e.value.Get("command").IsEmpty():
		return "has two commands, of which clients take one or the other"
	case len(e.presentCommandKeys()) > 1:
		return "has both command and cmd, of which clients take one or the other"
	case e.hasUnreadableArgument():
		return "has an argument that is not a text"
	}
	return ""
}

// findSecrets returns the names of the variables and headers of e that have a secret as their value.
func (e entry) findSecrets() (out []string) {
	for _, h := range e.objects() {
		for _, key := range slices.Concat(variableKeys, headerKeys) {
			if key != "env_http_headers" { // whose values are names of variables
				out = append(out, secretNames(h.Get(key))...)
			}
		}
	}
	return out
}

// secretNames returns those of the names of an object or a list that have a secret as their value.
func secretNames(n *Node) (out []string) {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Value.Kind == Text && launcher.IsSecret(m.Key, m.Value.Text) {
			out = append(out, m.Key)
		}
	}
	for _, item := range n.Items {
		if name, value, ok := strings.Cut(item.Text, "="); ok && launcher.IsSecret(name, value) {
			out = append(out, name)
		}
	}
	return out
}

// isPartOf reports whether an entry, which has no command and no URL, stands for a part of its client.
func (e entry) isPartOf(c client) bool {
	kind := e.value.Get("type")
	return kind != nil && slices.Contains(c.ownTypes, kind.Text) && e.duplicateKey() == ""
}

// isExtension reports whether an entry has settings for something that an extension of the client starts.
func (e entry) isExtension() bool {
	return e.value.Get("settings") != nil && e.value.Get("command") == nil
}

// startsNothing reports whether no member of an entry of f that has no command and no URL may say what runs:
// all are known, and those that could are empty. A client may add the environment of a project's entry to a
// server that its user has under the same name.
func (s Server) startsNothing(f File) bool {
	keys := launchKeys
	if !f.User {
		keys = slices.Concat(launchKeys, variableKeys, []string{"cwd"})
	}
	says := func(m Member) bool { return slices.Contains(keys, m.Key) && !m.Value.IsEmpty() }
	for _, o := range s.entry.objects() {
		if slices.ContainsFunc(o.Members, says) {
			return false
		}
	}
	return !slices.ContainsFunc(s.Unknown(), func(key string) bool { return !slices.Contains(headerKeys, key) })
}

// presentCommandKeys returns the keys of a command that e has.
func (e entry) presentCommandKeys() (out []string) {
	for _, key := range []string{"command", "cmd"} {
		if !e.holder().Get(key).IsEmpty() {
			out = append(out, key)
		}
	}
	return out
}

// duplicateKey returns a key that an object of e has more than once, or "".
func (e entry) duplicateKey() string {
	for _, o := range e.objects() {
		seen := map[string]bool{}
		for _, m := range o.Members {
			if seen[m.Key] {
				return m.Key
			}
			seen[m.Key] = true
		}
	}
	return ""
}

// hasUnreadableArgument reports whether e has an argument that is neither a text nor a scalar.
func (e entry) hasUnreadableArgument() bool {
	l, ok := e.findLaunch()
	if !ok {
		return false
	}
	var words []*Node
	for _, n := range []*Node{l.command, l.args} {
		if n != nil {
			words = append(words, n.Items...)
		}
	}
	return slices.ContainsFunc(words,
		func(n *Node) bool { return n.Kind != Text && n.Kind != Scalar })
}

// plainKeys are the keys of members that do not change which program is started, with what arguments,
// where, or in what environment, and of members that [Server] has.
var plainKeys = slices.Concat(launchKeys, []string{
	"type", "transport", "cwd", "name", "description", "title",
	"display_name", "disabled", "enabled", "timeout", "networkTimeout", "tools", "autoApprove", "alwaysAllow", "trust",
	"source", "gallery", "version", "bundled", "includeTools", "excludeTools", "enabled_tools", "disabled_tools",
	"disabledTools", "available_tools", "startup_timeout_sec", "startup_timeout_secs", "startup_timeout_ms",
	"tool_timeout_sec", "required", "optional",
	"checksum", "verify", codexMode,
})

// memberKeys are the keys of members of a server that are known.
var memberKeys = slices.Concat(plainKeys, urlKeys, headerKeys, variableKeys, []string{"oauth", "envFile"})

// Unknown returns the keys of members that may change which program is started, or how, in a way that
// this package does not know. A member that is null does not count.
func (s Server) Unknown() []string {
	var out []string
	kinds, reached := []string{"stdio", "local"}, []string{"http", "sse", "streamable-http", "streamableHttp", "remote"}
	switch {
	case s.URL != "":
		kinds = reached
	case s.Command == "":
		kinds = append(kinds, reached...)
	}
	for _, o := range s.entry.objects() {
		for _, m := range o.Members {
			switch {
			case slices.Contains(plainKeys, m.Key), m.Value.IsNull():
			case slices.Contains(urlKeys, m.Key) && (s.URL != "" || m.Value.IsEmpty()):
			case slices.Contains(headerKeys, m.Key) && m.Value.IsEmpty():
			// of which variableNames finds all names
			case slices.Contains(variableKeys, m.Key) &&
				(m.Value.Kind == Object || m.Value.IsTextList() || m.Value.IsEmpty()):
			case slices.Contains(out, m.Key):
			default:
				out = append(out, m.Key)
			}
		}
		if clientOf(s.Client).runsSubstitutions &&
			slices.ContainsFunc(o.Texts(),
				func(t string) bool { return strings.Contains(t, "$(") || strings.Contains(t, "`") }) {
			out = append(out, "$(command) in a value")
		}
		for key, known := range map[string][]string{"type": kinds, "transport": kinds, "source": {"custom"}} {
			if t := o.Get(key); t != nil && !(key == "transport" && t.Kind == Object) && !t.IsNull() &&
				!slices.Contains(known, t.Text) {
				out = append(out, key+" "+t.Text)
			}
		}
	}
	return out
}

// WorkingDir returns the working directory that the entry sets, "" if it sets none, and "?" if its
// value is no text.
func (s Server) WorkingDir() string {
	for _, o := range s.entry.objects() {
		if d := o.Get("cwd"); d != nil && !d.IsNull() {
			if d.Kind != Text {
				return "?" // differs from every directory that an entry can set
			}
			return d.Text
		}
	}
	return ""
}
