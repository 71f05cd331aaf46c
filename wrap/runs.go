package wrap

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/facet"
	"github.com/hallmark-mcp/hallmark/tree"
)

// Run is something of a facet that runs, or that lets a model run things without asking, once the facet is installed.
type Run struct {
	Kind RunKind `json:"kind"`
	Path string  `json:"path"`           // in the facet
	Text string  `json:"text,omitempty"` // as the publisher wrote it
}

// RunKind is how something runs.
type RunKind string

// The kinds of what runs.
const (
	RunAllowed RunKind = "allowed" // a member of the head of a skill, agent or command that permits or starts something
	RunCommand RunKind = "command" // a command line in the text, which a client runs when it loads the file
	RunScript  RunKind = "script"  // a file that is a program
	RunUnread  RunKind = "unread"  // a line of the head that is read by no rule, and may be any of these
)

// permitting are the members of heads that permit or start something.
var permitting = []string{"allowed-tools", "hooks", "mcpServers", "permissionMode"}

// scriptExtensions are those of programs that a model starts by the name of their interpreter.
var scriptExtensions = []string{
	".bash", ".bat", ".cjs", ".cmd", ".exe", ".fish", ".js", ".lua", ".mjs", ".php", ".pl", ".ps1", ".py", ".rb", ".sh", ".ts",
	".vbs", ".zsh",
}

// programMarks are how programs begin.
var programMarks = []string{"#!", "\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe", "\x00asm"}

// textCommand is a command line in the text of a Markdown file.
var textCommand = regexp.MustCompile("!`([^`\n]+)`")

// blockCommand is the beginning of a block of command lines in the text of a Markdown file.
var blockCommand = regexp.MustCompile("(?m)^[ \\t]*```+!.*\n?.*$")

// Limits of what is shown of one file.
const (
	maxText     = 1 << 20 // bytes of a Markdown file that are searched for command lines
	maxCommands = 20
	maxUnread   = 3
)

// Runs are what runs of the skills, agents and commands of a facet, by path. Open opens a member of the facet.
func Runs(m *facet.Manifest, open tree.Open) ([]Run, error) {
	var runs []Run
	for _, d := range m.Deliverables() {
		for i, p := range d.Paths {
			limit := int64(8)
			if i == 0 {
				limit = maxText
			}
			data, err := readSome(open, p, limit)
			if err != nil {
				return nil, err
			}
			switch {
			case i == 0:
				runs = append(runs, runsOfText(p, data)...)
			case isProgram(p, data):
				runs = append(runs, Run{RunScript, p, ""})
			}
		}
	}
	return runs, nil
}

// isProgram reports whether a file that begins with data is a program.
func isProgram(p string, data []byte) bool {
	return slices.Contains(scriptExtensions, strings.ToLower(path.Ext(p))) ||
		slices.ContainsFunc(programMarks, func(mark string) bool { return bytes.HasPrefix(data, []byte(mark)) })
}

// runsOfText are what a Markdown file permits and starts.
func runsOfText(p string, data []byte) (runs []Run) {
	h := ParseHead(data[:min(len(data), maxHead)])
	if h.Open {
		runs = append(runs, Run{RunUnread, p, "its head does not end"})
	}
	for _, name := range sortedKeys(h.Members) {
		if slices.ContainsFunc(permitting, func(known string) bool { return sameMember(known, name) }) {
			runs = append(runs, Run{RunAllowed, p, name + ": " + shorten(h.Members[name])})
		}
	}
	for i, line := range h.Unread {
		if i == maxUnread {
			runs = append(runs, Run{RunUnread, p, fmt.Sprintf("and %d more lines", len(h.Unread)-i)})
			break
		}
		runs = append(runs, Run{RunUnread, p, clip(line)})
	}
	if len(data) == maxText {
		runs = append(runs, Run{RunUnread, p, "it is too long to be searched for command lines"})
	}
	for _, block := range blockCommand.FindAll(data, 1) {
		runs = append(runs, Run{RunCommand, p, clip(strings.TrimSpace(string(block)))})
	}
	for i, found := range textCommand.FindAllSubmatch(data, maxCommands+1) {
		if i == maxCommands {
			runs = append(runs, Run{RunCommand, p, "and more"})
			break
		}
		runs = append(runs, Run{RunCommand, p, clip(string(found[1]))})
	}
	return runs
}

// shorten is the beginning of a text, and says so if that is not all of it.
func shorten(text string) string {
	if short := clipRunes(text); short != text {
		return short + "…"
	}
	return text
}

// sameMember reports whether two names of members are one for a client that compares them loosely.
func sameMember(a, b string) bool {
	loose := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	return loose(a) == loose(b)
}
