package clients

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ServerFile returns the file of a project in which a client looks for servers, which need not exist. If
// the client has several such files, it is the first of which exists reports true, else the first; exists
// gets a name with slashes, relative to the project. ok is false if nothing is installed for the client.
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
	return File{Client: client, Path: filepath.Join(project, filepath.FromSlash(name)), format: FormatOf(name),
		shapes: []string{s.key}}, true
}

// UserServerFile returns the file in which a client looks for the user's own servers, which need not
// exist: the first that does, else the first. It is an error if nothing is installed for the client.
func UserServerFile(client string, m Machine) (f File, err error) {
	c := clientOf(client)
	if c.install == nil {
		return f, fmt.Errorf("nothing is installed for the client %+q", client)
	}
	for _, l := range c.servers {
		if l.base == project || l.base == system || l.base == programs || l.shape != c.install.key ||
			strings.ContainsRune(l.path, '*') {
			continue
		}
		found, err := m.expand(c, l)
		if err != nil {
			return f, err
		}
		for _, name := range found {
			_, err := os.Lstat(name)
			if f.Path == "" || err == nil {
				f = File{Client: client, Path: name, User: true, format: FormatOf(name), shapes: []string{l.shape}}
			}
			if err == nil {
				return f, nil
			}
		}
	}
	if f.Path == "" {
		return f, fmt.Errorf("no file for the user's own servers is known of the client %+q", client)
	}
	return f, nil
}

// UserServerFileAt returns the file at path as one in which a client looks, or once looked, for the user's own
// servers. ok is false if nothing is installed for the client.
func UserServerFileAt(client, path string) (f File, ok bool) {
	s := clientOf(client).install
	if s == nil {
		return f, false
	}
	return File{Client: client, Path: path, User: true, format: FormatOf(s.files[0]), shapes: []string{s.key}}, true
}

// Insert returns data, the bytes of f or nil if there is no such file, with an entry that starts a
// server, and the changes that were made, in their order. Everything else in the file stays.
func Insert(f File, data []byte, name, command string, args []string) ([]byte, []Change, error) {
	s := clientOf(f.Client).install
	if s == nil {
		return nil, nil, fmt.Errorf("nothing is installed for the client %+q", f.Client)
	}
	in := insertion{file: f, data: data}
	if data == nil {
		in.addFile()
	}
	if _, err := f.format.Parse(in.data, false); err != nil {
		return nil, nil, err
	}
	if f.format == TOML {
		in.addTable(s.key, name, s.entry(command, args))
	} else if err := in.addMember(s.key, name, s.entry(command, args)); err != nil {
		return nil, nil, err
	}
	// Read again what was written: the file must mean what was asked for.
	again, err := findEntry(in.data, f, in.changes[len(in.changes)-1])
	if err != nil {
		return nil, nil, err
	}
	if again.Command != command || !slices.Equal(again.Args, args) {
		return nil, nil, fmt.Errorf("%+q cannot be written there", name)
	}
	return in.data, in.changes, nil
}

// insertion is what [Insert] makes of a file's bytes.
type insertion struct {
	file    File
	data    []byte
	changes []Change
}

// record appends what was added to the changes.
func (in *insertion) record(added, name, text string) {
	in.changes = append(in.changes,
		Change{Client: in.file.Client, File: in.file.Path, Name: name, Now: text, Added: added})
}

// put writes text at an offset, and records it.
func (in *insertion) put(at int, added, name, text string) {
	in.data = slices.Concat(in.data[:at], []byte(text), in.data[at:])
	in.record(added, name, text)
}

// addFile starts with a file that has nothing in it.
func (in *insertion) addFile() {
	text := ""
	if in.file.format == JSON {
		text = "{\n}\n"
	}
	in.data = []byte(text)
	in.record(AddedFile, "", text)
}

// addRoot appends an object to a file that has no value, such as an empty one.
func (in *insertion) addRoot() {
	was, end := string(in.data), LineEnd(in.data)
	text := "{" + end + "}" + end
	if was != "" && !strings.HasSuffix(was, "\n") {
		text = end + text
	}
	in.put(len(in.data), AddedRoot, "", text)
	in.changes[len(in.changes)-1].Was = was
}

// addTable appends a table of TOML with the lines of an entry.
func (in *insertion) addTable(key, name, entry string) {
	end := LineEnd(in.data)
	text := end + "[" + key + "." + Quote(name) + "]" + end + strings.ReplaceAll(entry, "\n", end)
	if len(in.data) > 0 && in.data[len(in.data)-1] != '\n' {
		text = end + text
	}
	in.put(len(in.data), AddedEntry, name, text)
}

// addMember adds an entry to the object of servers under key, and that object if there is none.
func (in *insertion) addMember(key, name, entry string) error {
	root, err := in.file.format.Parse(in.data, false)
	if err == nil && root.Start == len(in.data) {
		in.addRoot()
		root, err = in.file.format.Parse(in.data, false)
	}
	if err != nil {
		return err
	}
	holder := root.Get(key)
	if holder == nil {
		if root.Kind != Object {
			return errors.New("is no object")
		}
		in.put(root.Start+1, AddedHolder, "", in.formatMember(root, 1, key, "{"+LineEnd(in.data)+"  }"))
		if root, err = in.file.format.Parse(in.data, false); err != nil {
			return err
		}
		holder = root.Get(key)
	}
	if holder == nil || holder.Kind != Object {
		return fmt.Errorf("its %s is no object", key)
	}
	in.put(holder.Start+1, AddedEntry, name, in.formatMember(holder, 2, name, entry))
	return nil
}

// formatMember writes a first member of an object that stands at a depth, on a line of its own.
func (in *insertion) formatMember(object *Node, depth int, key, value string) string {
	end := LineEnd(in.data)
	text := end + strings.Repeat("  ", depth) + Quote(key) + ": " + value
	switch {
	case len(object.Members) > 0:
		return text + ","
	case !bytes.HasPrefix(bytes.TrimLeft(in.data[object.Start+1:], " \t\r"), []byte("\n")):
		return text + end + strings.Repeat("  ", depth-1)
	}
	return text
}
