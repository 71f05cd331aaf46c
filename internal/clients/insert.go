package clients

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// What a [Change] added to a file, in place of rewriting an entry.
const (
	AddedFile   = "file"   // the file itself
	AddedHolder = "holder" // the object that holds the servers
	AddedEntry  = "entry"  // the entry of a server
)

// installation is where a client looks for the servers of a project, and how it writes one.
type installation struct {
	files []string // the first that is there, else the first
	key   string   // of the object of servers
	entry func(command string, args []string) string
}

// jsonEntry writes an object with a command and its arguments, behind the members in head.
func jsonEntry(head string) func(string, []string) string {
	return func(command string, args []string) string {
		return "{" + head + `"command": ` + quote(command) + `, "args": ` +
			formatJSON.formatList(nil, &node{flow: true}, args) + "}"
	}
}

// opencodeEntry writes the command and its arguments as one list.
func opencodeEntry(command string, args []string) string {
	words := append([]string{command}, args...)
	return `{"type": "local", "command": ` + formatJSON.formatList(nil, &node{flow: true}, words) + "}"
}

// codexEntry writes the lines of a table.
func codexEntry(command string, args []string) string {
	return "command = " + quote(command) + "\nargs = " + formatTOML.formatList(nil, &node{flow: true}, args) + "\n"
}

// ServerFile returns the file of a project in which a client looks for servers, which need not exist.
// Of several names it is the first of which exists, given a name with slashes relative to the project,
// reports true, else the first. ok is false for a client for which nothing is installed.
func ServerFile(client, project string, exists func(name string) bool) (f File, ok bool) {
	s := clientOf(client).install
	if s == nil {
		return f, false
	}
	name := s.files[0]
	for _, other := range s.files {
		if exists(other) {
			name = other
			break
		}
	}
	return File{Client: client, Path: filepath.Join(project, filepath.FromSlash(name)), format: formatOf(name),
		shapes: []string{s.key}}, true
}

// Insert returns data, the bytes of f or nil if there is no such file, with an entry that
// starts a server, and what was done to it, in that order. Everything else in the file stays.
func Insert(f File, data []byte, name, command string, args []string) ([]byte, []Change, error) {
	s := clientOf(f.Client).install
	if s == nil {
		return nil, nil, fmt.Errorf("nothing is installed for the client %+q", f.Client)
	}
	change := func(added, name, now string) Change {
		return Change{Client: f.Client, File: f.Path, Name: name, Now: now, Added: added}
	}
	var changes []Change
	if data == nil {
		text := ""
		if f.format == formatJSON {
			text = "{\n}\n"
		}
		data, changes = []byte(text), append(changes, change(AddedFile, "", text))
	}
	root, err := f.format.read(data, false)
	if err != nil {
		return nil, nil, err
	}
	put := func(at int, added, name, text string) {
		data = slices.Concat(data[:at], []byte(text), data[at:])
		changes = append(changes, change(added, name, text))
	}
	end := newline(data)
	if f.format == formatTOML {
		text := end + "[" + s.key + "." + quote(name) + "]" + end +
			strings.ReplaceAll(s.entry(command, args), "\n", end)
		if len(data) > 0 && data[len(data)-1] != '\n' {
			text = end + text
		}
		put(len(data), AddedEntry, name, text)
	} else {
		member := func(in *node, depth int, key, value string) string {
			text := end + strings.Repeat("  ", depth) + quote(key) + ": " + value
			switch {
			case len(in.members) > 0:
				return text + ","
			case !bytes.HasPrefix(bytes.TrimLeft(data[in.start+1:], " \t\r"), []byte("\n")):
				return text + end + strings.Repeat("  ", depth-1)
			}
			return text
		}
		holder := root.get(s.key)
		if holder == nil {
			if root.kind != object {
				return nil, nil, errors.New("is no object")
			}
			put(root.start+1, AddedHolder, "", member(root, 1, s.key, "{"+end+"  }"))
			if root, err = f.format.read(data, false); err != nil {
				return nil, nil, err
			}
			holder = root.get(s.key)
		}
		if holder == nil || holder.kind != object {
			return nil, nil, fmt.Errorf("its %s is no object", s.key)
		}
		put(holder.start+1, AddedEntry, name, member(holder, 2, name, s.entry(command, args)))
	}
	// What was written is read again: the file must mean what was asked for.
	again, err := findEntry(data, f, changes[len(changes)-1])
	if err != nil {
		return nil, nil, err
	}
	if again.Command != command || !slices.Equal(again.Args, args) {
		return nil, nil, fmt.Errorf("%+q cannot be written there", name)
	}
	return data, changes, nil
}

// removeAdded returns data without what c added; nil for a file that c made. Its error wraps
// [ErrChanged] if that was edited since, and [ErrGone] if the entry is not there any more.
func removeAdded(data []byte, c Change) ([]byte, error) {
	changed := fmt.Errorf("%+q %w", c.Name, ErrChanged)
	switch c.Added {
	case AddedFile:
		if string(data) != c.Now {
			return nil, changed
		}
		return nil, nil
	case AddedHolder:
		if c.Now == "" || bytes.Count(data, []byte(c.Now)) != 1 {
			return nil, changed
		}
		return cutOut(data, c, bytes.Index(data, []byte(c.Now)))
	case AddedEntry:
	default:
		return nil, fmt.Errorf("%+q: unknown change %+q", c.Name, c.Added)
	}
	s, err := findEntry(data, installedFile(c), c)
	if err != nil {
		return nil, err
	}
	// Its comma went if it was the first of several and is the only one now, and what stood
	// behind it is another's if one was written beside it.
	for _, now := range []string{c.Now, strings.TrimSuffix(c.Now, ","), strings.TrimRight(c.Now, " \t\r\n")} {
		for at := 0; now != ""; at++ {
			i := bytes.Index(data[at:], []byte(now))
			if i < 0 {
				break
			}
			if at += i; at <= s.entry.at && s.entry.at < at+len(now) {
				c.Now = now
				return cutOut(data, c, at)
			}
		}
	}
	return nil, changed
}

// cutOut cuts what c added out of data, and the comma that is then one too many, where
// entries came and went beside it.
func cutOut(data []byte, c Change, at int) ([]byte, error) {
	format := formatOf(c.File)
	before, after := data[:at], data[at+len(c.Now):]
	commaAfter := bytes.TrimLeft(after, " \t\r\n")
	commaBefore := bytes.TrimRight(before, " \t\r\n")
	tries := [][2][]byte{{before, after}}
	if format == formatJSON && bytes.HasSuffix(commaBefore, []byte(",")) && bytes.HasPrefix(commaAfter, []byte("}")) {
		tries = [][2][]byte{{commaBefore[:len(commaBefore)-1], after}} // of an entry that was inserted later
	}
	if bytes.HasPrefix(commaAfter, []byte(",")) {
		tries = append(tries, [2][]byte{before, commaAfter[1:]})
	}
	if bytes.HasSuffix(commaBefore, []byte(",")) {
		tries = append(tries, [2][]byte{commaBefore[:len(commaBefore)-1], after})
	}
	for _, t := range tries {
		out := slices.Concat(t[0], t[1])
		if _, err := format.read(out, false); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%+q %w", c.Name, ErrChanged)
}

// installedFile returns the file of a change, read as the client does for which it was installed.
func installedFile(c Change) File {
	f := FileAt(c.File)
	if s := clientOf(c.Client).install; s != nil && c.Added != "" {
		f.Client, f.shapes = c.Client, []string{s.key}
	}
	return f
}
