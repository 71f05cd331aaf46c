package clients

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// Change is what [Rewrite] or [Insert] did to an entry. It has all that [Restore] needs.
type Change struct {
	Client string `json:"client,omitempty"`
	File   string `json:"file"`
	Scope  string `json:"scope,omitempty"`
	Name   string `json:"name"`
	// the bytes that were replaced: from the command to the end of the arguments, or all of a file without a value
	Was   string `json:"was"`
	Now   string `json:"now"`             // the bytes that stand there instead
	Added string `json:"added,omitempty"` // what Insert added; "" for a rewritten entry
	Whole bool   `json:"whole,omitempty"` // Was and Now are the whole value of the entry: see [RewriteRemote]
}

// Values of Added: what a [Change] added to a file.
const (
	AddedFile   = "file"   // the file itself
	AddedRoot   = "root"   // the object that is the value of a file, in a file that had none
	AddedHolder = "holder" // the object that holds the servers
	AddedEntry  = "entry"  // the entry of a server
)

// ErrChanged is wrapped by errors that say that an entry is not what it was.
var ErrChanged = errors.New("was edited since")

// ErrGone is wrapped by errors that say that an entry does not exist any more.
var ErrGone = errors.New("is not there any more")

// splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// Rewrite returns data, the bytes of s.File from which s was read, with another command and other
// arguments in the entry s. Everything else stays as it was.
func Rewrite(data []byte, s Server, command string, args []string) ([]byte, Change, error) {
	c := Change{Client: s.Client, File: s.File, Scope: s.Scope, Name: s.Name}
	l, ok := s.entry.findLaunch()
	if !ok {
		return nil, c, fmt.Errorf("%+q starts no program", s.Name)
	}
	f := FormatOf(s.File).Layout()
	edits, err := l.buildEdits(f, data, command, args)
	if err != nil {
		return nil, c, fmt.Errorf("%+q: %w", s.Name, err)
	}
	out, err := applyEdits(data, edits, &c)
	if err != nil {
		return nil, c, err
	}
	// Read again what was written: the file must mean what was asked for.
	again, err := findEntry(out, FileAt(c.File), c)
	if err != nil {
		return nil, c, err
	}
	if again.Command != command || !slices.Equal(again.Args, args) {
		return nil, c, fmt.Errorf("%+q is written in a way that cannot be edited", s.Name)
	}
	return out, c, nil
}

// applyEdits returns data with edits in any order, and enters in c what was there and is now.
func applyEdits(data []byte, edits []splice, c *Change) ([]byte, error) {
	uneditable := fmt.Errorf("%+q is written in a way that cannot be edited", c.Name)
	if len(edits) == 0 {
		return nil, uneditable
	}
	slices.SortFunc(edits, func(a, b splice) int { return a.start - b.start })
	start, end := edits[0].start, edits[len(edits)-1].end
	var now strings.Builder
	at := start
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(data) {
			return nil, uneditable
		}
		now.Write(data[at:e.start])
		now.WriteString(e.text)
		at = e.end
	}
	c.Was, c.Now = string(data[start:end]), now.String()
	return slices.Concat(data[:start], []byte(c.Now), data[end:]), nil
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

// bounds returns the offsets where the command and the arguments begin and end, 0 and 0 if one of the
// ends is not known.
func (l launch) bounds() (start, end int) {
	start, end = l.command.Start, l.command.End
	if l.args != nil {
		start, end = min(start, l.args.Start), max(end, l.args.End)
		if l.args.End == 0 || l.command.End == 0 {
			return 0, 0
		}
	}
	return start, end
}

// buildEdits returns the splices that replace command and args, or add args behind command.
func (l launch) buildEdits(f Format, data []byte, command string, args []string) ([]splice, error) {
	if start, end := l.bounds(); end <= start {
		return nil, errors.New("is written in a way that cannot be edited")
	}
	if f == YAML && l.args != nil && !l.args.Flow && len(args) == 0 {
		return nil, errors.New("no arguments cannot be written in the place of a block")
	}
	if l.command.Kind == List {
		all := append([]string{command}, args...)
		if l.args != nil {
			return []splice{{l.command.Start, l.command.End, f.FormatListLike(data, l.command, []string{command})},
				{l.args.Start, l.args.End, f.FormatListLike(data, l.args, args)}}, nil
		}
		return []splice{{l.command.Start, l.command.End, f.FormatListLike(data, l.command, all)}}, nil
	}
	edits := []splice{{l.command.Start, l.command.End, Quote(command)}}
	if l.args != nil {
		return append(edits, splice{l.args.Start, l.args.End, f.FormatListLike(data, l.args, args)}), nil
	}
	// Write the arguments on the line of the command, so that no indentation has to be guessed. A block of
	// YAML and a table of TOML need a line of their own, indented like the key of the command.
	value := FormatList(args)
	inline := ", " + l.argsKey + " = " + value
	switch {
	case f == JSON:
		inline = ", " + Quote(l.argsKey) + ": " + value
	case f == YAML && l.holder.Flow:
		inline = ", " + l.argsKey + ": " + value
	case f == YAML:
		inline = LineEnd(data) + strings.Repeat(" ", l.column(data)) + l.argsKey + ": " + value
	case f == TOML && !l.inlineTable(data):
		inline = LineEnd(data) + strings.Repeat(" ", l.column(data)) + l.argsKey + " = " + value
	}
	edits[0].text += inline
	return edits, nil
}

// column returns how far the key of the command is indented.
func (l launch) column(data []byte) int {
	for _, m := range l.holder.Members {
		if m.Value == l.command {
			_, column := Position(data, m.At)
			return column - 1
		}
	}
	return 0
}

// inlineTable reports whether the command is in braces.
func (l launch) inlineTable(data []byte) bool {
	return l.holder.End > l.holder.Start && l.holder.Start < len(data) && data[l.holder.Start] == '{'
}

// Replace edits a file: edit gets its bytes and returns the new ones, which replace the old ones in one
// step, with the same permissions. A link is followed, and stays. If another program changes the file
// in the meantime, nothing is written.
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
