package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Command is a command line of a client's file that is no server's: its client runs it.
type Command struct {
	Client string
	Line   int    // from 1
	Column int    // in characters, from 1
	Key    string // where it stands: "hooks/SessionStart"
	Text   string // as it is written; words of a list are joined by spaces
}

// maxCommands bounds those of one file.
const maxCommands = 1000

// commandKeys are the members that hold command lines, for one system or for all.
var commandKeys = []string{
	"command", "commandWindows", "cmd", "bash", "powershell", "windows", "linux", "osx", "script", "run",
}

// Commands returns the command lines in data, the bytes of f, that its client runs itself, in their
// order. It fails where [Inspect] fails.
func Commands(f File, data []byte) ([]Command, error) {
	if len(f.commandShapes) == 0 {
		return nil, nil
	}
	root, err := f.format.read(data, !f.User)
	if err != nil {
		return nil, err
	}
	c := commands{client: f.Client, data: data}
	for _, shape := range f.commandShapes {
		for _, p := range lookup(root, shape, true) {
			key := shape
			if shape == itself {
				key = ""
			}
			for _, n := range c.commandNodes(shape, p.n) {
				c.collect(key, n, n.start, n != root)
			}
		}
	}
	if len(c.out) > maxCommands {
		return nil, fmt.Errorf("has more than %d command lines", maxCommands)
	}
	return c.out, nil
}

type commands struct {
	client string
	data   []byte
	out    []Command
}

// commandNodes returns the nodes of n, the value of a shape, in which command lines are looked for: of
// tasks those that run when a folder is opened, and each of several commands of a container.
func (c *commands) commandNodes(shape string, n *node) (out []*node) {
	switch {
	case strings.HasSuffix(shape, "tasks"):
		return slices.DeleteFunc(slices.Clone(n.items),
			func(task *node) bool { return !slices.Contains(task.texts(nil), "folderOpen") })
	case shape == "initializeCommand" && n.kind == object:
		for _, m := range n.members {
			out = append(out, m.value)
		}
		return out
	}
	return []*node{n}
}

// collect adds the command lines in n, which stands at the offset at. If is is set, n itself is one if
// it is a text or a list of texts.
func (c *commands) collect(key string, n *node, at int, is bool) {
	switch line := n.line(); {
	case len(c.out) > maxCommands:
		return
	case is && line != "":
		if at <= 0 {
			at = max(0, bytes.Index(c.data, []byte(n.text))) // items of a list of TOML have no places
		}
		cmd := Command{Client: c.client, Key: key, Text: line}
		cmd.Line, cmd.Column = position(c.data, at)
		c.out = append(c.out, cmd)
		return
	}
	for _, m := range n.members {
		below := strings.TrimPrefix(key+"/"+m.key, "/")
		if slices.ContainsFunc(commandKeys, func(k string) bool { return strings.EqualFold(k, m.key) }) {
			c.collect(key, m.value, m.at, true)
			continue
		}
		c.collect(below, m.value, m.at, false)
	}
	for _, item := range n.items {
		c.collect(key, item, max(at, item.start), false)
	}
}

// line is n as one line, if it is a text or a list of texts.
func (n *node) line() string {
	switch {
	case n.kind == text:
		return n.text
	case n.kind == list && !slices.ContainsFunc(n.items, func(item *node) bool { return item.kind != text }):
		return strings.Join(n.texts(nil), " ")
	}
	return ""
}
