package facet

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/tree"
)

// Run is something of a facet that runs, or that lets a model run things without asking, once the facet is installed.
type Run struct {
	Kind RunKind `json:"kind"`
	Path string  `json:"path"`           // in the facet
	Text string  `json:"text,omitempty"` // as the publisher wrote it
	// Clients are the targets whose client does it; none if all do.
	Clients []string `json:"clients,omitempty"`
}

// RunKind is how something runs.
type RunKind string

// The kinds of what runs.
const (
	RunAllowed RunKind = "allowed" // a member of the head of a skill, agent or command that permits or starts something
	RunCommand RunKind = "command" // a command line in the text, which a client runs when it loads the file
	// a file outside of the project, or any at all, that a client adds to the text when it loads it
	RunFile   RunKind = "file"
	RunScript RunKind = "script" // a file that is a program
	RunUnread RunKind = "unread" // a line of the head that is read by no rule, and may be any of these
)

// IsLive reports whether something of the kind happens when a client loads a text, and so depends on the client.
func (k RunKind) IsLive() bool { return k == RunCommand || k == RunFile }

// permitting are the members of heads that permit or start something.
var permitting = []string{"allowed-tools", "hooks", "mcpServers", "permissionMode"}

// scriptExtensions belong to programs that a model starts by the name of their interpreter.
var scriptExtensions = []string{
	".bash", ".bat", ".cjs", ".cmd", ".exe", ".fish", ".js", ".lua", ".mjs", ".php", ".pl", ".ps1", ".py", ".rb", ".sh",
	".ts", ".vbs", ".zsh",
}

// programMarks are how programs begin.
var programMarks = []string{"#!", "\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe",
	"\x00asm"}

// Live is what clients do with the text of a deliverable when they load it: each kind, text and clients, without the
// path.
type Live func(d Deliverable, text []byte) []Run

// Runs are what runs of the skills, agents and commands of a facet, by path, all of it and whole. Open opens a member
// of the facet; what clients run of a text is theirs to say.
func Runs(m *Manifest, open tree.Open, live Live) ([]Run, error) {
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
				runs = append(runs, runsOfHead(p, data)...)
				for _, r := range live(d, data) {
					r.Path = p
					runs = append(runs, r)
				}
			case isProgram(p, data):
				runs = append(runs, Run{Kind: RunScript, Path: p})
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

// runsOfHead are what the head of a Markdown file permits and starts.
func runsOfHead(p string, data []byte) (runs []Run) {
	h := ParseHead(data[:min(len(data), maxHead)])
	if h.Open {
		runs = append(runs, Run{Kind: RunUnread, Path: p, Text: "its head does not end"})
	}
	for _, name := range sortedKeys(h.Members) {
		if slices.ContainsFunc(permitting, func(known string) bool { return sameMember(known, name) }) {
			runs = append(runs, Run{Kind: RunAllowed, Path: p, Text: name + ": " + h.Members[name]})
		}
	}
	for _, line := range h.Unread {
		runs = append(runs, Run{Kind: RunUnread, Path: p, Text: line})
	}
	if len(data) == maxText {
		runs = append(runs, Run{Kind: RunUnread, Path: p, Text: "it is too long to be searched for command lines"})
	}
	return runs
}

// sameMember reports whether two names of members are one for a client that compares them loosely.
func sameMember(a, b string) bool {
	loose := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	return loose(a) == loose(b)
}
