package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// rewriteURL is [RewriteRemote] of an entry in a file of TOML: the line of its URL becomes those of a command, and the
// lines of its headers go.
func rewriteURL(data []byte, s Server, command string, args []string,
	variables map[string]string) ([]byte, Change, error) {
	c := Change{Client: s.Client, File: s.File, Scope: s.Scope, Name: s.Name}
	lines := append([]string{"command = " + Quote(command), "args = " + FormatList(args)}, s.passOn(variables)...)
	var edits []splice
	for _, m := range s.entry.value.Members {
		switch {
		case slices.Contains(urlKeys, m.Key) && m.Value.Kind == Text && m.Value.End > m.At:
			edits = append(edits, replaceLine(data, m, lines))
		case s.SetsHeaders(m.Key):
			edits = append(edits, cutMemberLines(data, m)...) // what is left then is refused below
		}
	}
	out, err := applyEdits(data, edits, &c)
	if err != nil {
		return nil, c, err
	}
	if _, err := readRewritten(data, out, c, command, args); err != nil {
		return nil, c, err
	}
	return out, c, nil
}

// restoreURL gives an entry of TOML its URL and its headers back by their values: Codex writes its file anew, with
// tables in the place of values in braces. ok is false if c is no change of [rewriteURL].
func restoreURL(data []byte, c Change, s Server) (out []byte, ok bool, err error) {
	now, was := s.membersIn(c.Now), s.membersIn(c.Was)
	if now.Get("command") == nil {
		return nil, false, nil
	}
	changed := fmt.Errorf("%+q %w", c.Name, ErrChanged)
	var lines []string
	for _, m := range was.Members {
		if m.Value.Kind == Text && (slices.Contains(urlKeys, m.Key) || m.Key == tokenKey) {
			lines = append(lines, m.Key+" = "+Quote(m.Value.Text))
		} else if s.SetsHeaders(m.Key) {
			var headers []string
			for _, h := range m.Value.Members {
				headers = append(headers, Quote(h.Key)+" = "+Quote(h.Value.Text))
			}
			lines = append(lines, m.Key+" = { "+strings.Join(headers, ", ")+" }")
		}
	}
	starts := func(m Member) bool { return m.Key == "args" || slices.Contains(variableKeys, m.Key) }
	entry := s.entry.value
	for _, m := range now.Members {
		if starts(m) && !m.Value.SameValue(entry.Get(m.Key)) {
			return nil, true, changed
		}
	}
	var edits []splice
	for _, m := range entry.Members {
		switch {
		case m.Key == "command" && baseName(m.Value.Text) == baseName(now.Get(m.Key).Text):
			edits = append(edits, replaceLine(data, m, lines))
		case starts(m) && now.Get(m.Key) != nil:
			edits = append(edits, cutMemberLines(data, m)...) // what is left then is refused below
		}
	}
	if out, err = applyEdits(data, edits, &Change{Name: c.Name}); err != nil {
		return nil, true, err
	}
	again, err := findEntry(out, FileAt(c.File), c)
	same, _ := sameBesides(data, out, c)
	if err != nil || !same || again.Command != "" || len(again.Variables) > 0 || again.entry.value.Get("args") != nil {
		return nil, true, changed
	}
	return out, true, nil
}

// membersIn returns the members of s that text has, which is a part of a file of TOML: lines in the table of s, and
// tables of its own, or what was between braces.
func (s Server) membersIn(text string) *Node {
	out := &Node{Kind: Object}
	for _, whole := range []string{text, "braces = {" + text + "}"} {
		root, err := TOML.Parse([]byte(whole), false)
		if err != nil {
			continue
		}
		for _, n := range []*Node{root, root.Get("braces"), root.Get(s.entry.shape).Get(s.Name)} {
			out.Members = append(out.Members, membersOf(n)...)
		}
		break
	}
	return out
}

// replaceLine returns the edit that puts lines in the place of a member.
func replaceLine(data []byte, m Member, lines []string) splice {
	between := LineEnd(data)
	if behind := behindValue(data, m.Value.End); len(behind) > 0 && behind[0] != '#' {
		between = ", " // in an inline table
	}
	return splice{m.At, m.Value.End, strings.Join(lines, between)}
}

// behindValue returns what is in a line behind an offset, without blanks.
func behindValue(data []byte, at int) []byte {
	line, _, _ := bytes.Cut(data[at:], []byte("\n"))
	return bytes.TrimSpace(line)
}

// cutMemberLines returns the edits that take a member's lines out of a table: its own, or those of the members of a
// table below a header, or with dotted keys. A comment stays. It returns nothing of what shares a line with others.
func cutMemberLines(data []byte, m Member) (edits []splice) {
	parts := []Member{m}
	if m.Value.Kind == Object && m.Value.Start < len(data) && data[m.Value.Start] != '{' {
		parts = m.Value.Members
		if isHeader(data, m) {
			parts = append(slices.Clone(parts), m)
		}
	}
	for _, p := range parts {
		start, end := bytes.LastIndexByte(data[:p.At], '\n')+1, p.Value.End
		above := bytes.TrimSuffix(bytes.TrimSuffix(data[:start], []byte("\n")), []byte("\r"))
		if isHeader(data, p) {
			end += bytes.IndexByte(data[end:], ']') + 1
			above = bytes.TrimRight(data[:start], "\r\n")
		} else if bytes.ContainsAny(data[start:p.At], "{,") || end <= p.At {
			return nil
		}
		if behind := behindValue(data, end); len(behind) > 0 && behind[0] != '#' {
			return nil
		}
		edits = append(edits, splice{len(above), end, ""})
	}
	return edits
}

// isHeader reports whether a member of TOML is named in the header of a table.
func isHeader(data []byte, m Member) bool {
	line := data[bytes.LastIndexByte(data[:m.At], '\n')+1:]
	return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("["))
}
