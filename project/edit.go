package project

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// part is one key of hallmark.toml at its place, with the keys that lead to it.
type part struct {
	path       []string
	start, end int  // of the key itself
	first      int  // of the expression: where its first key begins
	header     bool // it stands in the header of a table
	inline     bool // it stands in braces
	last       bool // it is the last key of its expression, whose value follows
	kind       unstable.Kind
	value      [2]int   // bytes of that value
	strings    [][2]int // of an array of strings: bytes of each
}

// parts are all keys of a file, in its order.
func parts(data []byte) ([]part, error) {
	var out []part
	var parser unstable.Parser
	parser.Reset(data)
	var add func(prefix []string, e *unstable.Node, inline bool)
	add = func(prefix []string, e *unstable.Node, inline bool) {
		path, from := slices.Clone(prefix), len(out)
		for it := e.Key(); it.Next(); {
			k := it.Node()
			path = append(path, string(k.Data))
			out = append(out, part{
				path: slices.Clone(path), start: int(k.Raw.Offset), end: int(k.Raw.Offset + k.Raw.Length),
				inline: inline, header: e.Kind != unstable.KeyValue,
			})
		}
		if len(out) == from {
			return
		}
		for i := from; i < len(out); i++ {
			out[i].first = out[from].start
		}
		last := &out[len(out)-1]
		last.last = true
		if e.Kind != unstable.KeyValue {
			return
		}
		v := e.Value()
		last.kind = v.Kind
		end := int(e.Raw.Offset + e.Raw.Length)
		start := last.end
		for start < end && bytes.IndexByte([]byte(" \t="), data[start]) >= 0 {
			start++
		}
		last.value = [2]int{start, start + len(bytes.TrimRight(data[start:end], " \t\r\n"))}
		nested := func(v *unstable.Node, path []string) {
			for it := v.Children(); it.Next(); {
				if it.Node().Kind == unstable.KeyValue {
					add(path, it.Node(), true)
				}
			}
		}
		switch v.Kind {
		case unstable.InlineTable:
			nested(v, path)
		case unstable.Array:
			i := 0
			for it := v.Children(); it.Next(); {
				if n := it.Node(); n.Kind == unstable.String {
					last.strings = append(last.strings, [2]int{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
				}
				if it.Node().Kind == unstable.InlineTable {
					nested(it.Node(), append(slices.Clone(path), strconv.Itoa(i)))
				}
				if it.Node().Kind != unstable.Comment {
					i++
				}
			}
		}
	}
	var table []string
	arrays := map[string]int{}
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind == unstable.KeyValue {
			add(table, e, false)
			continue
		}
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		add(nil, e, false)
		table = nil
		if len(out) > 0 {
			table = slices.Clone(out[len(out)-1].path)
		}
		if key := strings.Join(table, "\x00"); e.Kind == unstable.ArrayTable {
			table = append(table, strconv.Itoa(arrays[key]))
			arrays[key]++
		}
	}
	return out, parser.Error()
}

// edit replaces the bytes of a file from start to end.
type edit struct {
	start, end int
	text       string
}

// apply makes edits, which do not overlap.
func apply(data []byte, edits []edit) []byte {
	// What is inserted at a place stands before what is replaced there.
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, data[at:]...)
}

// lineEnd is how the file ends its lines.
func lineEnd(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indent is the white space before offset at on its line.
func indent(data []byte, at int) string {
	begin := bytes.LastIndexByte(data[:at], '\n') + 1
	line := data[begin:at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// MigrateConfig rewrites each deprecated checksum as the verify block that it stands for,
// and keeps comments, order and everything else. migrated names the servers; kept those
// whose checksum is ignored because there is a verify block too, for a person to remove.
func MigrateConfig(data []byte) (out []byte, migrated, kept []string, err error) {
	before, err := ParseConfig(data)
	if err != nil {
		return nil, nil, nil, err
	}
	all, err := parts(data)
	if err != nil {
		return nil, nil, nil, invalid(ConfigFile, err)
	}
	both := map[string]bool{}
	for _, p := range all {
		if isServerKey(p.path, "verify") {
			both[p.path[2]] = true
		}
	}
	const kind = `type = "command"`
	var edits []edit
	done := map[string]bool{}
	for _, p := range all {
		if !isServerKey(p.path, "checksum") || len(p.path) != 4 {
			continue
		}
		name := p.path[2]
		if both[name] {
			if !slices.Contains(kept, name) {
				kept = append(kept, name)
			}
			continue
		}
		edits = append(edits, edit{p.start, p.end, "verify"})
		if done[name] {
			continue
		}
		done[name] = true
		migrated = append(migrated, name)
		switch {
		case p.header && p.last:
			end := bytes.IndexByte(data[p.end:], '\n')
			if end < 0 {
				end = len(data) - p.end - 1
			}
			edits = append(edits, edit{p.end + end + 1, p.end + end + 1, indent(data, p.first-1) + kind + lineEnd(data)})
		case p.last:
			edits = append(edits, edit{p.value[0] + 1, p.value[0] + 1, " " + kind + ","})
		default:
			between := lineEnd(data) + indent(data, p.first)
			if p.inline {
				between = ", "
			}
			edits = append(edits, edit{p.first, p.first, string(data[p.first:p.start]) + "verify." + kind + between})
		}
	}
	out = apply(data, edits)
	after, err := ParseConfig(out)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("the checksum is written in a way that cannot be rewritten: %w", err)
	}
	for name, s := range before.Servers {
		if !reflect.DeepEqual(s.withoutLines(), after.Servers[name].withoutLines()) {
			return nil, nil, nil, invalid(ConfigFile,
				fmt.Errorf("providers.mcp.%s: checksum is written in a way that cannot be rewritten", surface.Escape(name)))
		}
	}
	return out, migrated, kept, nil
}

// isServerKey reports whether path leads to key of a server, or below it.
func isServerKey(path []string, key string) bool {
	return len(path) >= 4 && path[0] == "providers" && path[1] == "mcp" && path[3] == key
}

// Unfilled is the server called name, in a file whose verify blocks may have empty values:
// those are read as digests of zeros, for [SetVerify] to fill in.
func Unfilled(data []byte, name string) (Server, error) {
	c, err := parseUnfilled(data)
	if err != nil {
		return Server{}, err
	}
	s, ok := c.Servers[name]
	if !ok {
		return s, NoSuch("server", ConfigFile, name, slices.Collect(maps.Keys(c.Servers)))
	}
	return s, nil
}

func parseUnfilled(data []byte) (*Config, error) {
	all, err := parts(data)
	if err != nil {
		return nil, invalid(ConfigFile, explainTOML(err))
	}
	text := func(p part) string { return strings.Trim(string(data[p.value[0]:p.value[1]]), `"'`) }
	digits := map[string]int{} // of a digest, by server
	for _, p := range all {
		if p.last && len(p.path) == 5 && isServerKey(p.path, "verify") && p.path[4] == "algorithm" &&
			text(p) == string(digest.SHA1) {
			digits[p.path[2]] = 40
		}
	}
	var edits []edit
	for _, p := range all {
		if p.last && len(p.path) > 4 && isServerKey(p.path, "verify") &&
			p.path[len(p.path)-1] == "value" && text(p) == "" {
			zeros := strings.Repeat("0", cmp.Or(digits[p.path[2]], 64))
			edits = append(edits, edit{p.value[0], p.value[1], `"` + zeros + `"`})
		}
	}
	return ParseConfig(apply(data, edits))
}

// SetVerify returns data with the values of the verify block of the server name set to
// those of v, in its order; without a block one is added behind the command. Everything
// else stays. A deprecated checksum has to be migrated first.
func SetVerify(data []byte, name string, v Verify) ([]byte, error) {
	all, err := parts(data)
	if err != nil {
		return nil, invalid(ConfigFile, explainTOML(err))
	}
	values := map[int]part{} // by the index in files, or 0
	var command *part
	block := false
	for i, p := range all {
		switch {
		case isServerKey(p.path, "checksum") && p.path[2] == name:
			return nil, invalid(ConfigFile,
				fmt.Errorf("providers.mcp.%s has a checksum; run 'hallmark config migrate' first", surface.Escape(name)))
		case isServerKey(p.path, "command") && p.path[2] == name && p.last:
			command = &all[i]
		case isServerKey(p.path, "verify") && p.path[2] == name:
			block = true
			if rest := p.path[4:]; p.last && len(rest) == 1 && rest[0] == "value" {
				values[0] = p
			} else if p.last && len(rest) == 3 && rest[0] == "files" && rest[2] == "value" {
				n, _ := strconv.Atoi(rest[1])
				values[n] = p
			}
		}
	}
	var edits []edit
	switch {
	case block && len(values) == len(v.Claims):
		for n, p := range values {
			edits = append(edits, edit{p.value[0], p.value[1], strconv.Quote(v.Claims[n].Want.Hex())})
		}
	case block:
		return nil, invalid(ConfigFile,
			fmt.Errorf(`providers.mcp.%s: each file of the verify block needs a value; write value = ""`, surface.Escape(name)))
	case command == nil || len(v.Claims) != 1:
		return nil, invalid(ConfigFile, fmt.Errorf("providers.mcp.%s has no command to verify", surface.Escape(name)))
	default:
		c := v.Claims[0]
		text := fmt.Sprintf("verify = { type = %q, ", v.Type)
		if c.Path != "" {
			text += "path = " + tomlString(c.Path) + ", "
		}
		text += fmt.Sprintf("algorithm = %q, value = %q }", c.Want.Algorithm(), c.Want.Hex())
		text = string(data[command.first:command.start]) + text
		at := command.value[1]
		switch end := bytes.IndexByte(data[at:], '\n'); {
		case command.inline:
			text = ", " + text
		case end < 0:
			at, text = len(data), lineEnd(data)+indent(data, command.first)+text
		default: // on a line of its own, so that a comment stays with the command
			at, text = at+end+1, indent(data, command.first)+text+lineEnd(data)
		}
		edits = append(edits, edit{at, at, text})
	}
	out := apply(data, edits)
	c, err := parseUnfilled(out)
	if err != nil {
		return nil, err
	}
	if got := c.Servers[name].Verify; got == nil || !slices.EqualFunc(got.Claims, v.Claims, func(a, b FileClaim) bool {
		return a.Path == b.Path && evidence.Same(a.Want, b.Want)
	}) {
		return nil, invalid(ConfigFile,
			fmt.Errorf("providers.mcp.%s: the verify block is written in a way that cannot be filled in", surface.Escape(name)))
	}
	return out, nil
}

// SetLaunch returns data with the arguments and the record of a declared server set to those
// of s, each string at its place. Everything else stays.
func SetLaunch(data []byte, s Server) ([]byte, error) {
	before, err := ParseConfig(data)
	if err != nil {
		return nil, err
	}
	all, err := parts(data)
	if err != nil {
		return nil, invalid(ConfigFile, explainTOML(err))
	}
	old := before.Servers[s.Name]
	var edits []edit
	for _, p := range all {
		if len(p.path) != 4 || p.path[2] != s.Name || !p.last {
			continue
		}
		switch {
		case isServerKey(p.path, "server") && old.Record != s.Record:
			edits = append(edits, edit{p.value[0], p.value[1], requoteTOML(data[p.value[0]:], s.Record)})
		case isServerKey(p.path, "arguments") &&
			len(p.strings) == len(s.Arguments) && len(old.Arguments) == len(s.Arguments):
			for i, at := range p.strings {
				if old.Arguments[i] != s.Arguments[i] {
					edits = append(edits, edit{at[0], at[1], requoteTOML(data[at[0]:], s.Arguments[i])})
				}
			}
		}
	}
	out := apply(data, edits)
	after, err := ParseConfig(out)
	if err != nil {
		return nil, err
	}
	if got := after.Servers[s.Name]; got.Record != s.Record || !slices.Equal(got.Arguments, s.Arguments) {
		line := strings.Join(append([]string{s.Command + s.Record}, s.Arguments...), " ")
		return nil, invalid(ConfigFile, fmt.Errorf("providers.mcp.%s is written in a way that cannot be rewritten; write %s",
			surface.Escape(s.Name), surface.Escape(line)))
	}
	return out, nil
}

// AddServers returns data, or a new file where that is nil, with a table for each server
// behind all else: its command, arguments and variables, or its URL.
func AddServers(data []byte, servers []Server) ([]byte, error) {
	out := slices.Clone(data)
	if data == nil {
		out = []byte(EmptyConfig)
	}
	end := lineEnd(out)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, end...)
	}
	for _, s := range servers {
		if !nameRE().MatchString(s.Name) {
			return nil, invalid(fmt.Sprintf("%+q", s.Name), errName)
		}
		key := s.Name
		if strings.Contains(key, ".") {
			key = tomlString(key)
		}
		lines := []string{"", "[providers.mcp." + key + "]"}
		if s.Remote() {
			lines = append(lines, `type = "http"`, "url = "+tomlString(s.URL))
		} else {
			lines = append(lines, "command = "+tomlString(s.Command))
		}
		for _, list := range []struct {
			key    string
			values []string
		}{{"arguments", s.Arguments}, {"variables", s.Variables}} {
			if len(list.values) > 0 {
				var texts []string
				for _, v := range list.values {
					texts = append(texts, tomlString(v))
				}
				lines = append(lines, list.key+" = ["+strings.Join(texts, ", ")+"]")
			}
		}
		out = append(out, strings.Join(lines, end)+end...)
	}
	c, err := ParseConfig(out)
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		got := c.Servers[s.Name]
		if got.Command != s.Command || got.URL != s.URL ||
			!slices.Equal(got.Arguments, s.Arguments) || !slices.Equal(got.Variables, s.Variables) {
			return nil, invalid(ConfigFile, fmt.Errorf("providers.mcp.%s cannot be added", surface.Escape(s.Name)))
		}
	}
	return out, nil
}

// requoteTOML writes a string in the place of another one, in quotes like its where that does.
func requoteTOML(old []byte, s string) string {
	if plain := `"` + s + `"`; old[0] == '"' && strconv.Quote(s) == plain {
		return plain
	}
	return tomlString(s)
}

// tomlString writes a string of TOML.
func tomlString(s string) string {
	data, err := toml.Marshal(map[string]string{"x": s})
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(strings.TrimPrefix(string(data), "x ="))
}
