package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// withoutSpace returns data without its white space.
func withoutSpace(data []byte) []byte { return bytes.Join(bytes.Fields(data), nil) }

// isWritten reports whether s, an entry of f that c added, still has the value that was written. What a user
// adds to a table of TOML stands behind the text of c, and would belong to another table without it.
func isWritten(s Server, f File, c Change) bool {
	text := c.Now
	if f.format == JSON {
		text = "{" + text + "}"
	}
	written, err := f.format.Parse([]byte(text), false)
	if err != nil || len(f.shapes) == 0 {
		return false
	}
	if f.format == TOML { // the text begins with the header of its table
		written = written.Get(f.shapes[0])
	}
	return s.entry.value.SameValue(written.Get(c.Name))
}

// removeEmptyHolder returns data without the object of servers that c added, if nothing is in it, not even
// a comment.
func removeEmptyHolder(data []byte, c Change) ([]byte, error) {
	f := installedFile(c)
	root, err := f.format.Parse(data, false)
	if err != nil {
		return nil, err
	}
	for _, m := range root.Members {
		if v := m.Value; slices.Contains(f.shapes, m.Key) && v.End > v.Start &&
			string(withoutSpace(data[v.Start:v.End])) == "{}" {
			return cutMember(data, c, f, m)
		}
	}
	return nil, fmt.Errorf("its object of servers %w", ErrChanged)
}

// cutMember returns data without m: the object of servers, or one of its members. Everything else means what
// it meant before, which is read again.
func cutMember(data []byte, c Change, f File, m Member) ([]byte, error) {
	uneditable := fmt.Errorf("%+q is written in a way that cannot be edited", c.Name)
	before, err := f.format.Parse(data, false)
	if err != nil {
		return nil, err
	}
	if m.Value.End < m.At { // its place is not known
		return nil, uneditable
	}
	// The comma before m is left to cutOut: it may be the end of a comment.
	start, end := len(bytes.TrimRight(data[:m.At], " \t\r\n")), m.Value.End
	if rest := bytes.TrimLeft(data[end:], " \t\r\n"); bytes.HasPrefix(rest, []byte(",")) {
		end = len(data) - len(rest) + 1
	}
	var tries [][]byte
	if f.format == TOML {
		tries = append(tries, cutLines(data, m))
	}
	c.Now = string(data[start:end])
	if out, err := cutOut(data, c, start); err == nil {
		tries = append(tries, out)
	}
	for _, out := range tries {
		after, err := f.format.Parse(out, false)
		if err == nil && !hasMember(after, f.shapes[0], c.Name) &&
			withoutMember(after, f.shapes[0], c.Name).SameValue(withoutMember(before, f.shapes[0], c.Name)) {
			return out, nil
		}
	}
	return nil, uneditable
}

// hasMember reports whether root has the object of servers under key, and in it, if name is not empty, a
// member of that name.
func hasMember(root *Node, key, name string) bool {
	holder := root.Get(key)
	return holder != nil && (name == "" || holder.Get(name) != nil)
}

// withoutMember returns root without the member name of the object under key, and without that object if
// nothing else is in it: that of TOML goes with its last table.
func withoutMember(root *Node, key, name string) *Node {
	out := *root
	out.Members = nil
	for _, m := range root.Members {
		if m.Key == key {
			holder := *m.Value
			holder.Members = slices.DeleteFunc(slices.Clone(holder.Members),
				func(m Member) bool { return m.Key == name })
			if m.Value = &holder; len(holder.Members) == 0 && holder.Kind == Object {
				continue
			}
		}
		out.Members = append(out.Members, m)
	}
	return &out
}

// cutLines returns data, a file of TOML, without the lines of m: one "name = {…}", or the header of a table
// with the empty line above it, and the lines of its members.
func cutLines(data []byte, m Member) []byte {
	members := []Member{m}
	if bytes.IndexByte(data[m.Value.Start:m.Value.End], '{') != 0 {
		members = append(members, m.Value.Members...)
	}
	var lines [][2]int
	for _, m := range members {
		start, end := bytes.LastIndexByte(data[:m.At], '\n')+1, len(data)
		if i := bytes.IndexByte(data[max(m.At, m.Value.End):], '\n'); i >= 0 {
			end = max(m.At, m.Value.End) + i + 1
		}
		above := bytes.TrimRight(data[:start], "\r\n")
		if bytes.HasPrefix(data[start:], []byte("[")) && bytes.Count(data[len(above):start], []byte("\n")) > 1 {
			start = bytes.LastIndexByte(data[:start-1], '\n') + 1
		}
		lines = append(lines, [2]int{start, end})
	}
	slices.SortFunc(lines, func(a, b [2]int) int { return a[0] - b[0] })
	out := []byte{} // nil would say that the file is gone
	at := 0
	for _, line := range lines {
		out = append(out, data[at:max(at, line[0])]...)
		at = max(at, line[1])
	}
	return append(out, data[at:]...)
}

// restoreValues returns data with the command and the arguments of s as they were before c, if they are
// still those that c wrote. The program may be elsewhere now: its name counts, and the arguments.
func restoreValues(data []byte, c Change, s Server) ([]byte, error) {
	format := FormatOf(c.File).Layout()
	if format == TOML {
		if out, ok, err := restoreURL(data, c, s); ok {
			return out, err
		}
	}
	now := launchWords(format, c.Now)
	if len(now) == 0 || baseName(now[0]) != baseName(s.Command) || !slices.Equal(now[1:], s.Args) {
		return nil, fmt.Errorf("%+q %w", c.Name, ErrChanged)
	}
	was := launchWords(format, c.Was)
	if len(was) == 0 {
		return nil, fmt.Errorf("%+q %w", c.Name, ErrChanged)
	}
	out, _, err := Rewrite(data, s, was[0], was[1:])
	return out, err
}

// baseName returns what stands behind the last slash of a path, of any system.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// firstKey stands for the key of a text of which only the rest is known.
const firstKey = "(first)"

// launchWords reads a command and its arguments from a text that a [Change] keeps, which begins behind the
// key of one of the two and ends with the value of the other. It returns nothing if it cannot be read.
func launchWords(format Format, text string) []string {
	for _, whole := range completions(format, text) {
		root, err := format.Parse([]byte(whole), false)
		if err != nil || len(root.Members) == 0 {
			continue
		}
		if root.Members[0].Key != firstKey { // an inline table of TOML
			root = root.Members[0].Value
		}
		command := root.Get(firstKey)
		args, _ := root.First("args", "arguments")
		if args == nil {
			if other, _ := root.First("command", "cmd", "path"); other != nil {
				command, args = other, command
			}
		}
		if words := textsOf(command); len(words) > 0 && words[0] != "" && (args.IsEmpty() || args.Kind == List) {
			return append(words, textsOf(args)...)
		}
	}
	return nil
}

// textsOf returns a text, or the texts of a list. n may be nil.
func textsOf(n *Node) (out []string) {
	switch {
	case n == nil:
	case n.Kind == Text:
		out = append(out, n.Text)
	case n.Kind == List:
		for _, item := range n.Items {
			out = append(out, item.Text)
		}
	}
	return out
}

// completions returns the files of which text may be a part. Those of YAML differ in how far what stands
// before the text is indented.
func completions(format Format, text string) []string {
	key := Quote(firstKey)
	switch format {
	case JSON:
		return []string{"{" + key + ": " + text + "}"}
	case TOML:
		return []string{key + " = " + text, "table = {" + key + " = " + text + "}"}
	}
	out := []string{"{" + key + ": " + text + "}"}
	margins := []string{""}
	for line := range strings.Lines(text) {
		margin := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if !slices.Contains(margins, margin) {
			margins = append(margins, margin)
		}
	}
	for _, margin := range margins {
		out = append(out, margin+key+": "+text)
		for _, items := range margins {
			out = append(out, margin+key+":\n"+items+text)
		}
	}
	return out
}
