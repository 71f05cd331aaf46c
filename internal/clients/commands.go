package clients

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Command is a command line in a client's file that the client runs itself. It starts no server.
type Command struct {
	Client string
	Line   int    // from 1
	Column int    // in characters, from 1
	Key    string // where it stands: "hooks/SessionStart"
	Text   string // as it is written; the words of a list are joined by spaces
}

// maxCommands bounds the command lines of one file.
const maxCommands = 1000

// commandKeys are the keys of members that hold command lines, for one system or for all.
var commandKeys = []string{
	"command", "commandWindows", "cmd", "bash", "powershell", "windows", "linux", "osx", "script", "run",
}

// Commands returns the command lines in data, the bytes of f, that its client runs itself, in their
// order. It fails where [Inspect] fails.
func Commands(f File, data []byte) ([]Command, error) {
	if len(f.commandShapes) == 0 {
		return nil, nil
	}
	root, err := f.format.Parse(data, !f.User)
	if err != nil {
		return nil, err
	}
	c := commands{client: f.Client, data: data}
	for _, shape := range f.commandShapes {
		for _, p := range lookup(root, shape, true) {
			key := shape
			if shape == wholeFile {
				key = ""
			}
			for _, n := range c.commandNodes(shape, p.node) {
				c.collect(key, n, n.Start, n != root)
			}
		}
	}
	if len(c.out) > maxCommands {
		return nil, fmt.Errorf("has more than %d command lines", maxCommands)
	}
	return c.out, nil
}

// commands collects the command lines of one file.
type commands struct {
	client string
	data   []byte
	out    []Command
}

// commandNodes returns the nodes in which to look for command lines: n, the value of a shape, or of tasks
// those that run when a folder is opened, or each of several commands of a container.
func (c *commands) commandNodes(shape string, n *Node) (out []*Node) {
	switch {
	case strings.HasSuffix(shape, "tasks"):
		return slices.DeleteFunc(slices.Clone(n.Items),
			func(task *Node) bool { return !slices.Contains(task.Texts(), "folderOpen") })
	case shape == "initializeCommand" && n.Kind == Object:
		for _, m := range n.Members {
			out = append(out, m.Value)
		}
		return out
	}
	return []*Node{n}
}

// collect adds the command lines in n, which stands at the offset at. If isCommand is set, a text or a
// list of texts is a command line itself.
func (c *commands) collect(key string, n *Node, at int, isCommand bool) {
	switch line := commandLine(n); {
	case len(c.out) > maxCommands:
		return
	case isCommand && line != "":
		if at <= 0 {
			at = max(0, bytes.Index(c.data, []byte(n.Text))) // items of an inline list of TOML have no offsets
		}
		cmd := Command{Client: c.client, Key: key, Text: line}
		cmd.Line, cmd.Column = Position(c.data, at)
		c.out = append(c.out, cmd)
		return
	}
	for _, m := range n.Members {
		below := strings.TrimPrefix(key+"/"+m.Key, "/")
		if slices.ContainsFunc(commandKeys, func(k string) bool { return strings.EqualFold(k, m.Key) }) {
			c.collect(key, m.Value, m.At, true)
			continue
		}
		c.collect(below, m.Value, m.At, false)
	}
	for _, item := range n.Items {
		c.collect(key, item, max(at, item.Start), false)
	}
}

// commandLine returns n as one line if it is a text or a list of texts, else "".
func commandLine(n *Node) string {
	switch {
	case n.Kind == Text:
		return n.Text
	case n.IsTextList():
		return strings.Join(n.Texts(), " ")
	}
	return ""
}
