package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// Change is what [Rewrite] or [Insert] did to an entry, and all that [Restore] needs.
type Change struct {
	Client string `json:"client,omitempty"`
	File   string `json:"file"`
	Scope  string `json:"scope,omitempty"`
	Name   string `json:"name"`
	Was    string `json:"was"`             // the bytes that were replaced: from the command to the end of the arguments
	Now    string `json:"now"`             // the bytes that stand there instead
	Added  string `json:"added,omitempty"` // what Insert added; "" for a rewritten entry
}

// ErrChanged is wrapped by errors that say that an entry is not what it was.
var ErrChanged = errors.New("was edited since")

// ErrGone is wrapped by errors that say that there is no such entry any more.
var ErrGone = errors.New("is not there any more")

// splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// Rewrite returns data, the bytes of s.File from which s was read, with another command
// and other arguments in the entry s, and everything else as it was.
func Rewrite(data []byte, s Server, command string, args []string) ([]byte, Change, error) {
	c := Change{Client: s.Client, File: s.File, Scope: s.Scope, Name: s.Name}
	l, ok := s.entry.launch()
	if !ok {
		return nil, c, fmt.Errorf("%+q starts no program", s.Name)
	}
	f := formatOf(s.File).layout()
	edits, err := l.buildEdits(f, data, command, args)
	if err != nil {
		return nil, c, fmt.Errorf("%+q: %w", s.Name, err)
	}
	slices.SortFunc(edits, func(a, b splice) int { return a.start - b.start })
	start, end := edits[0].start, edits[len(edits)-1].end
	var now strings.Builder
	at := start
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(data) {
			return nil, c, fmt.Errorf("%+q is written in a way that cannot be edited", s.Name)
		}
		now.Write(data[at:e.start])
		now.WriteString(e.text)
		at = e.end
	}
	c.Was, c.Now = string(data[start:end]), now.String()
	out := slices.Concat(data[:start], []byte(c.Now), data[end:])
	// What was written is read again: the file must mean what was asked for.
	again, err := findEntry(out, FileAt(c.File), c)
	if err != nil {
		return nil, c, err
	}
	if again.Command != command || !slices.Equal(again.Args, args) {
		return nil, c, fmt.Errorf("%+q is written in a way that cannot be edited", s.Name)
	}
	return out, c, nil
}

// Restore returns data with the entry of c as it was before; nil for a file that was not
// there.
func Restore(data []byte, c Change) ([]byte, error) {
	if c.Added != "" {
		return removeAdded(data, c)
	}
	s, err := findEntry(data, FileAt(c.File), c)
	if err != nil {
		return nil, err
	}
	l, ok := s.entry.launch()
	if !ok {
		return nil, fmt.Errorf("%+q %w", c.Name, ErrChanged)
	}
	start, end := l.bounds()
	if end <= start || string(data[start:end]) != c.Now {
		return nil, fmt.Errorf("%+q %w", c.Name, ErrChanged)
	}
	return slices.Concat(data[:start], []byte(c.Was), data[end:]), nil
}

// findEntry returns the entry of c in data, the bytes of f. The error wraps [ErrGone] if there is none.
func findEntry(data []byte, f File, c Change) (Server, error) {
	servers, err := Parse(f, data)
	if err != nil {
		return Server{}, err
	}
	var found []Server
	for _, s := range servers {
		if s.Name == c.Name && s.Scope == c.Scope {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return Server{}, fmt.Errorf("%+q %w", c.Name, ErrGone)
	}
	if len(found) != 1 {
		return Server{}, fmt.Errorf("%+q is there %d times", c.Name, len(found))
	}
	return found[0], nil
}

// bounds returns the offsets of the first byte of command and args, and of the one behind the last.
func (l launch) bounds() (start, end int) {
	start, end = l.command.start, l.command.end
	if l.args != nil {
		start, end = min(start, l.args.start), max(end, l.args.end)
		if l.args.end == 0 || l.command.end == 0 {
			return 0, 0
		}
	}
	return start, end
}

// buildEdits returns the splices that replace command and args, or add args behind command.
func (l launch) buildEdits(f format, data []byte, command string, args []string) ([]splice, error) {
	if start, end := l.bounds(); end <= start {
		return nil, errors.New("is written in a way that cannot be edited")
	}
	if f == formatYAML && l.args != nil && !l.args.flow && len(args) == 0 {
		return nil, errors.New("no arguments cannot be written in the place of a block")
	}
	if l.command.kind == list {
		all := append([]string{command}, args...)
		if l.args != nil {
			return []splice{{l.command.start, l.command.end, f.formatList(data, l.command, []string{command})},
				{l.args.start, l.args.end, f.formatList(data, l.args, args)}}, nil
		}
		return []splice{{l.command.start, l.command.end, f.formatList(data, l.command, all)}}, nil
	}
	edits := []splice{{l.command.start, l.command.end, quote(command)}}
	if l.args != nil {
		return append(edits, splice{l.args.start, l.args.end, f.formatList(data, l.args, args)}), nil
	}
	// On the command's own line, so that no indentation has to be guessed; in a block of
	// YAML and a table of TOML a line of its own, indented as the command's key is.
	value := f.formatList(data, &node{flow: true}, args)
	inline := ", " + l.argsKey + " = " + value
	switch {
	case f == formatJSON:
		inline = ", " + quote(l.argsKey) + ": " + value
	case f == formatYAML && l.holder.flow:
		inline = ", " + l.argsKey + ": " + value
	case f == formatYAML:
		inline = newline(data) + strings.Repeat(" ", l.column(data)) + l.argsKey + ": " + value
	case f == formatTOML && !l.inlineTable(data):
		inline = newline(data) + strings.Repeat(" ", l.column(data)) + l.argsKey + " = " + value
	}
	edits[0].text += inline
	return edits, nil
}

// column is how far the command's key is indented.
func (l launch) column(data []byte) int {
	for _, m := range l.holder.members {
		if m.value == l.command {
			_, column := position(data, m.at)
			return column - 1
		}
	}
	return 0
}

// inlineTable reports whether the command stands in braces.
func (l launch) inlineTable(data []byte) bool {
	return l.holder.end > l.holder.start && l.holder.start < len(data) && data[l.holder.start] == '{'
}

func newline(data []byte) string {
	if bytes.Contains(data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// formatList writes texts as a list, in the style of old, whose place it takes.
func (f format) formatList(data []byte, old *node, texts []string) string {
	parts := make([]string, len(texts))
	for i, s := range texts {
		parts[i] = quote(s)
	}
	if f != formatYAML || old.flow {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	_, column := position(data, old.start)
	return "- " + strings.Join(parts, newline(data)+strings.Repeat(" ", column-1)+"- ")
}

// quote writes a string such that JSON, JSON5, TOML and YAML read it alike.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""`
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// Replace edits a file: edit gets its bytes and gives the new ones, which take their place
// in one step with the same permissions. A link is followed, and stays. If the file is
// changed by somebody else in the meantime nothing is written.
func Replace(name string, edit func(data []byte) ([]byte, error)) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	before, err := readFile(real, MaxFile)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, err := edit(slices.Clone(before))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return err
	}
	if now, err := readFile(real, MaxFile); err != nil || !bytes.Equal(now, before) {
		return fmt.Errorf("%s: %w", name,
			errors.Join(err, errors.New("was changed by another program while it was edited")))
	}
	return durable.WriteFile(real, after, st.Mode().Perm())
}
