// Recall stands before a program that resolves or installs packages, in tests that have the
// same asked a thousand times: where all that the program could read is what it was before,
// it gives what the program gave then.
//
//	NAME ARGUMENT...
//
// Beside the copy of it that is called NAME lies NAME.json:
//
//	{"program": "/usr/bin/npm", "memory": "/tmp/memory"}
//
// The program is known by its arguments, its environment, and every byte, link and
// permission in its working directory and in the cache that --cache=DIR or --cache-dir DIR
// names; wherever these two lie this time. What it leaves in both is remembered with its
// answer. Anything else that it could read must not change while memory is used: the
// registry that it asks, and the files that its environment names. A failure is not
// remembered. The directory of NAME is taken out of the PATH that the program gets.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// config is NAME.json.
type config struct {
	Program string `json:"program"`
	Memory  string `json:"memory"`
}

func main() {
	code, err := answer()
	if err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		code = 1
	}
	os.Exit(code)
}

// answer comes from the program, or is the remembered one.
func answer() (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	var c config
	if data, err := os.ReadFile(self + ".json"); err != nil {
		return 0, err
	} else if err := json.Unmarshal(data, &c); err != nil {
		return 0, err
	}
	work, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	p := places{work, cacheOf(os.Args[1:])}
	before, err := p.state()
	if err != nil {
		return 0, err
	}
	file := filepath.Join(c.Memory, p.key(before))
	if data, err := os.ReadFile(file); err == nil {
		var m memory
		if err := json.Unmarshal(data, &m); err != nil {
			return 0, err
		}
		return 0, m.tell(p)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var out, messages bytes.Buffer
	cmd := exec.Command(c.Program, os.Args[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+without(os.Getenv("PATH"), filepath.Dir(self)))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, io.MultiWriter(os.Stdout, &out), io.MultiWriter(os.Stderr, &messages)
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 0, err
	} else if err != nil {
		return max(1, cmd.ProcessState.ExitCode()), nil
	}
	after, err := p.state()
	if err != nil {
		return 0, err
	}
	m := memory{Out: p.hide(out.Bytes()), Messages: p.hide(messages.Bytes()), Left: map[string]entry{}}
	for name := range before {
		if _, ok := after[name]; !ok {
			m.Gone = append(m.Gone, name)
		}
	}
	for name, e := range after {
		if was, ok := before[name]; !ok || !was.same(e) {
			m.Left[name] = e
		}
	}
	return 0, m.keep(file)
}

// cacheOf is the directory that an argument names as the cache; "" if none does.
func cacheOf(args []string) string {
	for i, arg := range args {
		if dir, ok := strings.CutPrefix(arg, "--cache="); ok && filepath.IsAbs(dir) {
			return dir
		}
		if arg == "--cache-dir" && i+1 < len(args) && filepath.IsAbs(args[i+1]) {
			return args[i+1]
		}
	}
	return ""
}

// without is a PATH that lacks one directory.
func without(path, dir string) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(d string) bool {
		return filepath.Clean(d) == dir
	}), string(filepath.ListSeparator))
}

// places are the two directories whose contents a program is known by.
type places struct{ work, cache string }

// Names of the two in what is remembered: no text holds them.
const workName, cacheName = "\x00work\x00", "\x00cache\x00"

// hide is text with names in the place of the two directories; other bytes stay as they are.
func (p places) hide(data []byte) []byte {
	if !utf8.Valid(data) {
		return data
	}
	if p.cache != "" {
		data = bytes.ReplaceAll(data, []byte(p.cache), []byte(cacheName))
	}
	return bytes.ReplaceAll(data, []byte(p.work), []byte(workName))
}

// show undoes hide.
func (p places) show(data []byte) []byte {
	if !utf8.Valid(data) {
		return data
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte(cacheName), []byte(p.cache)), []byte(workName),
		[]byte(p.work))
}

// entry is a file, a directory or a link.
type entry struct {
	Mode fs.FileMode `json:"mode"`
	Data []byte      `json:"data"` // of a file; of a link where it leads to
}

func (e entry) same(o entry) bool { return e.Mode == o.Mode && bytes.Equal(e.Data, o.Data) }

// state is all that lies in the two directories, by name.
func (p places) state() (map[string]entry, error) {
	all := map[string]entry{}
	for root, name := range map[string]string{p.work: workName, p.cache: cacheName} {
		if root == "" {
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path == p.cache && root == p.work {
				return fs.SkipDir // which is walked for itself
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			e := entry{Mode: info.Mode()}
			switch {
			case info.Mode().IsRegular():
				e.Data, err = os.ReadFile(path)
			case info.Mode()&fs.ModeSymlink != 0:
				var to string
				to, err = os.Readlink(path)
				e.Data = []byte(to)
			}
			e.Data = p.hide(e.Data)
			all[name+strings.TrimPrefix(path, root)] = e
			return err
		})
		if err != nil && !(root == p.cache && errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	return all, nil
}

// key is a digest of all that the program is known by.
func (p places) key(state map[string]entry) string {
	type named struct {
		Name string
		entry
	}
	var files []named
	for name, e := range state {
		files = append(files, named{name, e})
	}
	slices.SortFunc(files, func(a, b named) int { return strings.Compare(a.Name, b.Name) })
	hide := func(texts []string) (out []string) {
		for _, text := range texts {
			out = append(out, string(p.hide([]byte(text))))
		}
		return out
	}
	environ := hide(os.Environ())
	slices.Sort(environ)
	h := sha256.New()
	if err := json.NewEncoder(h).Encode([]any{hide(os.Args[1:]), environ, files}); err != nil {
		panic(err) // of strings, bytes and numbers
	}
	return hex.EncodeToString(h.Sum(nil))
}

// memory is what a program answered, and left.
type memory struct {
	Out      []byte           `json:"out"`
	Messages []byte           `json:"messages"`
	Left     map[string]entry `json:"left"`
	Gone     []string         `json:"gone"`
}

// keep writes a memory to a file, whole or not at all.
func (m memory) keep(file string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), "new-")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	return errors.Join(err, temp.Close(), os.Rename(temp.Name(), file))
}

// tell leaves what the program left, and says what it said.
func (m memory) tell(p places) error {
	place := func(name string) string {
		if rest, ok := strings.CutPrefix(name, cacheName); ok {
			return p.cache + rest
		}
		return p.work + strings.TrimPrefix(name, workName)
	}
	for _, name := range m.Gone {
		if err := os.RemoveAll(place(name)); err != nil {
			return err
		}
	}
	names := make([]string, 0, len(m.Left))
	for name := range m.Left {
		names = append(names, name)
	}
	slices.Sort(names) // a directory before what is in it
	for _, name := range names {
		e, path := m.Left[name], place(name)
		data := p.show(e.Data)
		var err error
		switch {
		case e.Mode.IsDir():
			if err = os.MkdirAll(path, 0o700); err == nil {
				err = os.Chmod(path, e.Mode.Perm())
			}
		case e.Mode.IsRegular():
			os.Remove(path)
			if err = os.WriteFile(path, data, 0o600); err == nil {
				err = os.Chmod(path, e.Mode.Perm())
			}
		case e.Mode&fs.ModeSymlink != 0:
			os.Remove(path)
			err = os.Symlink(string(data), path)
		default:
			err = fmt.Errorf("%s is neither file, directory nor link", path)
		}
		if err != nil {
			return err
		}
	}
	_, err := os.Stdout.Write(p.show(m.Out))
	_, err2 := os.Stderr.Write(p.show(m.Messages))
	return errors.Join(err, err2)
}
