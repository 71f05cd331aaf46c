package workspace

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// isServerKey reports whether path leads to key of a server, or below it.
func isServerKey(path []string, key string) bool {
	return len(path) >= 4 && path[0] == "providers" && path[1] == "mcp" && path[3] == key
}

// UnfilledServer is the server called name, in a file whose verify blocks may have empty values:
// those are read as digests of zeros, for [SetVerify] to fill in.
func UnfilledServer(data []byte, name string) (project.Server, error) {
	c, err := parseUnfilled(data)
	if err != nil {
		return project.Server{}, err
	}
	s, ok := c.Servers[name]
	if !ok {
		return s, project.NoSuch("server", project.ConfigFile, name, slices.Collect(maps.Keys(c.Servers)))
	}
	return s, nil
}

// ServersToVerify returns the servers of hallmark.toml that have a verify block, filled in or not, by name.
func ServersToVerify(data []byte) (names []string, err error) {
	c, err := parseUnfilled(data)
	if err != nil {
		return nil, err
	}
	for name, s := range c.Servers {
		if s.Verify != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func parseUnfilled(data []byte) (*project.Config, error) {
	all, err := tomltext.Keys(data)
	if err != nil {
		return nil, invalid(project.ConfigFile, tomltext.Explain(err))
	}
	text := func(p tomltext.Key) string { return strings.Trim(string(data[p.Value.Start:p.Value.End]), `"'`) }
	digits := map[string]int{} // of a digest, by server
	for _, p := range all {
		if p.Last && len(p.Path) == 5 && isServerKey(p.Path, "verify") && p.Path[4] == "algorithm" &&
			text(p) == string(digest.SHA1) {
			digits[p.Path[2]] = 40
		}
	}
	var edits []tomltext.Edit
	for _, p := range all {
		if p.Last && len(p.Path) > 4 && isServerKey(p.Path, "verify") &&
			p.Path[len(p.Path)-1] == "value" && text(p) == "" {
			zeros := strings.Repeat("0", cmp.Or(digits[p.Path[2]], 64))
			edits = append(edits, tomltext.Replace(p.Value, `"`+zeros+`"`))
		}
	}
	return project.ParseConfig(tomltext.Apply(data, edits...))
}

// SetVerify returns data with the values of the verify block of the server name set to
// those of v, in its order; without a block one is added behind the command. Everything
// else stays. A deprecated checksum has to be migrated first.
func SetVerify(data []byte, name string, v project.Verify) ([]byte, error) {
	at, err := findVerify(data, name)
	if err != nil {
		return nil, err
	}
	var edits []tomltext.Edit
	switch {
	case at.block && len(at.values) == len(v.Claims):
		for n, p := range at.values {
			edits = append(edits, tomltext.Replace(p.Value, strconv.Quote(v.Claims[n].Want.Hex())))
		}
	case at.block:
		return nil, invalidServer(name, `: each file of the verify block needs a value; write value = ""`)
	case at.command == nil || len(v.Claims) != 1:
		return nil, invalidServer(name, " has no command to verify")
	default:
		c := v.Claims[0]
		text := fmt.Sprintf("verify = { type = %q, ", v.Type)
		if c.Path != "" {
			text += "path = " + tomltext.Quote(c.Path) + ", "
		}
		text += fmt.Sprintf("algorithm = %q, value = %q }", c.Want.Algorithm(), c.Want.Hex())
		edits = append(edits, insertBehind(data, *at.command, text))
	}
	out := tomltext.Apply(data, edits...)
	c, err := parseUnfilled(out)
	if err != nil {
		return nil, err
	}
	if got := c.Servers[name].Verify; got == nil ||
		!slices.EqualFunc(got.Claims, v.Claims, func(a, b project.FileClaim) bool {
			return a.Path == b.Path && evidence.Same(a.Want, b.Want)
		}) {
		return nil, invalidServer(name, ": the verify block is written in a way that cannot be filled in")
	}
	return out, nil
}

// verifyKeys is where a hallmark.toml has the verify block of a server.
type verifyKeys struct {
	block   bool                 // there is one
	values  map[int]tomltext.Key // by the index in files, or 0
	command *tomltext.Key        // the server's; nil if it has none
}

// findVerify returns where the verify block of the server name stands. It fails if the server has a checksum instead.
func findVerify(data []byte, name string) (verifyKeys, error) {
	at := verifyKeys{values: map[int]tomltext.Key{}}
	all, err := tomltext.Keys(data)
	if err != nil {
		return at, invalid(project.ConfigFile, tomltext.Explain(err))
	}
	for i, p := range all {
		switch {
		case isServerKey(p.Path, "checksum") && p.Path[2] == name:
			return at, invalidServer(name, " has a checksum; run 'hallmark config migrate' first")
		case isServerKey(p.Path, "command") && p.Path[2] == name && p.Last:
			at.command = &all[i]
		case isServerKey(p.Path, "verify") && p.Path[2] == name:
			at.block = true
			if rest := p.Path[4:]; p.Last && len(rest) == 1 && rest[0] == "value" {
				at.values[0] = p
			} else if p.Last && len(rest) == 3 && rest[0] == "files" && rest[2] == "value" {
				n, _ := strconv.Atoi(rest[1])
				at.values[n] = p
			}
		}
	}
	return at, nil
}

// insertBehind inserts a member behind the command of a server, written as that is.
func insertBehind(data []byte, command tomltext.Key, text string) tomltext.Edit {
	text = string(data[command.First:command.Name.Start]) + text
	at := command.Value.End
	switch end := bytes.IndexByte(data[at:], '\n'); {
	case command.Inline:
		text = ", " + text
	case end < 0:
		at, text = len(data), tomltext.LineEnd(data)+tomltext.Indent(data, command.First)+text
	default: // on a line of its own, so that a comment stays with the command
		at, text = at+end+1, tomltext.Indent(data, command.First)+text+tomltext.LineEnd(data)
	}
	return tomltext.Insert(at, text)
}

// SetTree returns data in which the server name has dir as its tree. Everything else stays.
func SetTree(data []byte, name, dir string) ([]byte, error) {
	all, err := tomltext.Keys(data)
	if err != nil {
		return nil, invalid(project.ConfigFile, tomltext.Explain(err))
	}
	var tree, command []tomltext.Edit
	for _, p := range all {
		if len(p.Path) != 4 || p.Path[2] != name || !p.Last {
			continue
		}
		text := tomltext.Requote(data[p.Value.Start:], dir)
		switch {
		case isServerKey(p.Path, "tree"):
			tree = append(tree, tomltext.Replace(p.Value, text))
		case isServerKey(p.Path, "command"):
			command = append(command, insertBehind(data, p, "tree = "+text))
		}
	}
	if tree == nil {
		tree = command
	}
	if tree == nil {
		return nil, invalidServer(name, " has no command, and so no tree")
	}
	out := tomltext.Apply(data, tree...)
	after, err := project.ParseConfig(out)
	if err == nil && after.Servers[name].Tree != dir {
		err = invalidServer(name, " is written in a way that cannot be rewritten; write tree = "+tomltext.Quote(dir))
	}
	return out, err
}

// SetLaunch returns data with the arguments and the record of a declared server set to those
// of s, each string at its place. Everything else stays.
func SetLaunch(data []byte, s project.Server) ([]byte, error) {
	before, all, err := parseConfigParts(data)
	if err != nil {
		return nil, err
	}
	old := before.Servers[s.Name]
	var edits []tomltext.Edit
	for _, p := range all {
		if len(p.Path) != 4 || p.Path[2] != s.Name || !p.Last {
			continue
		}
		switch {
		case isServerKey(p.Path, "server") && old.Record != s.Record:
			edits = append(edits, tomltext.Replace(p.Value, tomltext.Requote(data[p.Value.Start:], s.Record)))
		case isServerKey(p.Path, "arguments") &&
			len(p.Strings) == len(s.Arguments) && len(old.Arguments) == len(s.Arguments):
			for i, at := range p.Strings {
				if old.Arguments[i] != s.Arguments[i] {
					edits = append(edits, tomltext.Replace(at, tomltext.Requote(data[at.Start:], s.Arguments[i])))
				}
			}
		}
	}
	out := tomltext.Apply(data, edits...)
	after, err := project.ParseConfig(out)
	if err != nil {
		return nil, err
	}
	if got := after.Servers[s.Name]; got.Record != s.Record || !slices.Equal(got.Arguments, s.Arguments) {
		line := strings.Join(append([]string{s.Command + s.Record}, s.Arguments...), " ")
		return nil, invalidServer(s.Name, " is written in a way that cannot be rewritten; write "+surface.Escape(line))
	}
	return out, nil
}

// AddServers returns data, or a new file where that is nil, with a table for each server after
// everything else: its command, arguments and variables, or its URL and headers.
func AddServers(data []byte, servers []project.Server) ([]byte, error) {
	out := slices.Clone(data)
	if data == nil {
		out = []byte(project.EmptyConfig)
	}
	end := tomltext.LineEnd(out)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, end...)
	}
	for _, s := range servers {
		if err := project.CheckServerName(s.Name); err != nil {
			return nil, invalid(fmt.Sprintf("%+q", s.Name), err)
		}
		out = append(out, strings.Join(serverTable(s), end)+end...)
	}
	c, err := project.ParseConfig(out)
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		got := c.Servers[s.Name]
		if got.Command != s.Command || got.URL != s.URL || !maps.Equal(got.Headers, s.Headers) ||
			!slices.Equal(got.Arguments, s.Arguments) || !slices.Equal(got.Variables, s.Variables) {
			return nil, invalidServer(s.Name, " cannot be added")
		}
	}
	return out, nil
}

// serverTable returns the lines of the table of a server, after an empty one.
func serverTable(s project.Server) []string {
	key := s.Name
	if strings.Contains(key, ".") {
		key = tomltext.Quote(key)
	}
	lines := []string{"", "[providers.mcp." + key + "]"}
	if s.Remote() {
		lines = append(lines, `type = "http"`, "url = "+tomltext.Quote(s.URL))
		var headers []string
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			headers = append(headers, tomltext.Quote(name)+" = "+tomltext.Quote(s.Headers[name]))
		}
		if len(headers) > 0 {
			lines = append(lines, "headers = { "+strings.Join(headers, ", ")+" }")
		}
	} else {
		lines = append(lines, "command = "+tomltext.Quote(s.Command))
	}
	for _, list := range []struct {
		key    string
		values []string
	}{{"arguments", s.Arguments}, {"variables", s.Variables}} {
		if len(list.values) > 0 {
			var texts []string
			for _, v := range list.values {
				texts = append(texts, tomltext.Quote(v))
			}
			lines = append(lines, list.key+" = ["+strings.Join(texts, ", ")+"]")
		}
	}
	return lines
}

// RemoveServers returns data without the tables of the servers called names, and everything else as it was. What
// is in these tables goes with them, comments too. A name that is not declared is ignored.
func RemoveServers(data []byte, names []string) ([]byte, error) {
	for _, name := range names {
		before, all, err := parseConfigParts(data)
		if err != nil {
			return nil, err
		}
		if _, ok := before.Servers[name]; !ok {
			continue
		}
		edit, ok := removeTable(data, all, []string{"providers", "mcp", name})
		if !ok {
			return nil, invalidServer(name, " is spread over the file; edit it by hand")
		}
		if data, err = applyEdit(data, edit, before, func(c *project.Config) { delete(c.Servers, name) }); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// removeTable is the edit that removes the table at path with those below it, and the empty line before it. ok is false
// if something else stands between its lines.
func removeTable(data []byte, all []tomltext.Key, path []string) (e tomltext.Edit, ok bool) {
	isBelow := func(k tomltext.Key) bool { return len(k.Path) >= len(path) && slices.Equal(k.Path[:len(path)], path) }
	first := slices.IndexFunc(all, isBelow)
	if first < 0 || !all[first].Header {
		return e, false
	}
	start, end := tomltext.LineStart(data, all[first].First), 0
	for _, k := range all {
		switch {
		case isBelow(k):
			end = max(end, tomltext.LineAfter(data, max(k.Name.End, k.Value.End)))
		case k.First > start && len(k.Path) >= len(path): // its table's header has the shorter paths
			if end > 0 && k.First < end {
				return e, false
			}
		}
	}
	before := bytes.TrimRight(data[:start], "\r\n")
	if at := start - len(tomltext.LineEnd(data)); at > len(before) {
		start = at
	}
	return tomltext.Replace(tomltext.Span{Start: start, End: end}, ""), true
}
