package clients

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RewriteRemote returns data with the entry s, which has a URL, starting a program instead: command with args. Its
// headers become variables, those that variables names by the header, with the same values; what the client takes from
// its own environment it passes on. All other members stay. Restore puts the value of the entry back. Files of YAML are
// not rewritten, and those of TOML where each header is in a line of its own.
func RewriteRemote(data []byte, s Server, command string, args []string,
	variables map[string]string) ([]byte, Change, error) {
	c := Change{Client: s.Client, File: s.File, Scope: s.Scope, Name: s.Name, Whole: true}
	uneditable := fmt.Errorf("%+q is written in a way that cannot be edited", s.Name)
	isLost := func(header string) bool { return variables[header] == "" }
	switch format := FormatOf(s.File); {
	case slices.ContainsFunc(s.Headers, isLost) || s.EmptyHeader() != "":
		return nil, c, uneditable
	case format == TOML:
		return rewriteURL(data, s, command, args, variables)
	case format != JSON:
		return nil, c, fmt.Errorf("%+q is reached by its URL, which is not rewritten in a file of this form", s.Name)
	}
	if s.Ambiguity() != "" {
		return nil, c, uneditable
	}
	was := s.entry.value
	c.Was = string(data[was.Start:was.End])
	out := data
	for range 1 + len(was.Members) + len(s.entry.holder().Members) {
		e, err := findRemote(out, c)
		if err != nil {
			return nil, c, err
		}
		edit, more := e.nextRemoteEdit(s.Client, out, command, args, variables)
		if !more {
			break
		}
		out = slices.Concat(out[:edit.start], []byte(edit.text), out[edit.end:])
	}
	again, err := readRewritten(data, out, c, command, args)
	if err != nil {
		return nil, c, err
	}
	now := again.entry.value
	c.Now = string(out[now.Start:now.End])
	return out, c, nil
}

// readRewritten reads the entry of c again in out, which data became: the file must mean what was asked for.
func readRewritten(data, out []byte, c Change, command string, args []string) (Server, error) {
	again, err := findEntry(out, FileAt(c.File), c)
	if err != nil {
		return again, err
	}
	same, err := sameBesides(data, out, c)
	if err != nil || !same || again.Command != command || !slices.Equal(again.Args, args) || again.URL != "" ||
		len(again.Headers)+len(again.Unknown()) > 0 || again.Ambiguity() != "" {
		return again, errors.Join(fmt.Errorf("%+q is written in a way that cannot be edited", c.Name), err)
	}
	return again, nil
}

// passOn returns the members, in TOML, by which a program gets the headers of s in variables.
func (s Server) passOn(variables map[string]string) (lines []string) {
	var set, own []string
	taken, values := s.EnvironmentHeaders(), s.valuesOf(headerKeys)
	for _, header := range slices.Sorted(maps.Keys(variables)) {
		if taken[header] != "" {
			own = append(own, variables[header])
		} else {
			set = append(set, variables[header]+" = "+Quote(values[header]))
		}
	}
	if len(set) > 0 {
		lines = append(lines, "env = { "+strings.Join(set, ", ")+" }")
	}
	if len(own) > 0 {
		lines = append(lines, "env_vars = "+FormatList(slices.Compact(own)))
	}
	return lines
}

// findRemote finds the entry of c while it is rewritten, when it may be no server.
func findRemote(data []byte, c Change) (entry, error) {
	root, err := JSON.Parse(data, false)
	if err != nil {
		return entry{}, err
	}
	for _, e := range FileAt(c.File).entries(root, false) {
		if e.name == c.Name && e.scope == c.Scope && e.isTable() {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("%+q %w", c.Name, ErrGone)
}

// nextRemoteEdit returns the next edit of an entry that has a URL; more is false when nothing is left to do.
func (e entry) nextRemoteEdit(client string, data []byte, command string, args []string,
	variables map[string]string) (s splice, more bool) {
	kind, inList, key := "stdio", client == "opencode", "env"
	if inList {
		kind, key = "local", "environment"
	}
	for _, o := range e.objects() { // what is empty says nothing, and would stand beside what is written
		for _, m := range o.Members {
			if m.Value.IsEmpty() && (slices.Contains(launchKeys, m.Key) || slices.Contains(variableKeys, m.Key)) {
				start, end := memberBounds(data, m)
				return splice{start, end, ""}, true
			}
		}
	}
	written, values := e.holder().Get("command") != nil, e.formatVariables(variables)
	for _, o := range e.objects() {
		for _, m := range o.Members {
			switch text := m.Value.Kind == Text; {
			case text && (m.Key == "type" || m.Key == "transport") && m.Value.Text != kind:
				return splice{m.Value.Start, m.Value.End, Quote(kind)}, true
			case slices.Contains(urlKeys, m.Key) && text && !written:
				line := `"command": ` + Quote(command) + `, "args": ` + FormatList(args)
				if inList {
					line = `"command": ` + FormatList(append([]string{command}, args...))
				}
				if values != "" {
					line += ", " + Quote(key) + ": {" + values + "}"
				}
				return splice{m.At, m.Value.End, line}, true
			}
		}
	}
	for _, o := range e.objects() {
		for _, m := range o.Members {
			if slices.Contains(headerKeys, m.Key) || slices.Contains(urlKeys, m.Key) {
				start, end := memberBounds(data, m)
				return splice{start, end, ""}, true
			}
		}
	}
	return s, false
}

// formatVariables writes the headers of the entry that variables names as members of an object; "" for none.
func (e entry) formatVariables(variables map[string]string) string {
	values := Server{entry: e}.valuesOf(headerKeys)
	var members []string
	for _, header := range slices.Sorted(maps.Keys(variables)) {
		members = append(members, Quote(variables[header])+": "+Quote(values[header]))
	}
	return strings.Join(members, ", ")
}

// memberBounds returns where a member of an object of JSON stands, with the comma that goes with it.
func memberBounds(data []byte, m Member) (start, end int) {
	start, end = len(bytes.TrimRight(data[:m.At], " \t\r\n")), m.Value.End
	if rest := bytes.TrimLeft(data[end:], " \t\r\n"); bytes.HasPrefix(rest, []byte(",")) {
		return start, len(data) - len(rest) + 1
	}
	if start > 0 && data[start-1] == ',' {
		start--
	}
	return start, end
}

// sameBesides reports whether two files mean the same but for the entry of c.
func sameBesides(a, b []byte, c Change) (bool, error) {
	var roots []*Node
	for _, data := range [][]byte{a, b} {
		root, err := FileAt(c.File).format.Parse(data, false)
		if err != nil {
			return false, err
		}
		for _, e := range FileAt(c.File).entries(root, false) {
			if e.name == c.Name && e.scope == c.Scope {
				*e.value = Node{}
			}
		}
		roots = append(roots, root)
	}
	return roots[0].SameValue(roots[1]), nil
}

// restoreWhole returns data with the value of s, an entry that [RewriteRemote] wrote, as it was, if it is still what
// was written, in whatever layout, with what its client added.
func restoreWhole(data []byte, c Change, s Server) ([]byte, error) {
	v, edited := *s.entry.value, fmt.Errorf("%+q %w", c.Name, ErrChanged)
	now, err := JSON.Parse([]byte(c.Now), false)
	if err != nil {
		return nil, edited
	}
	// What the client added since and does not change what is started, such as that the user switched it off, stays.
	added := ""
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool {
		if now.Get(m.Key) != nil || !slices.Contains(plainKeys, m.Key) || slices.Contains(launchKeys, m.Key) {
			return false
		}
		added += string(data[m.At:m.Value.End]) + ", "
		return true
	})
	if !v.SameValue(now) {
		return nil, edited
	}
	return slices.Concat(data[:v.Start], []byte("{"+added+strings.TrimPrefix(c.Was, "{")), data[v.End:]), nil
}
