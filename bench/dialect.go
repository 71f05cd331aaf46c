package main

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// dialect is how a server wants to be asked to read and edit, all by tools of its own.
type dialect interface {
	// window is the arguments of read_text_file for lines first to last. The answer may hold more.
	window(path string, first, last int) map[string]any
	// shown is what a model learns from the text of an answer or a refusal.
	shown(text string) shown
	// edit is a tool and its arguments, for operations at anchors or for old and new text.
	edit(path, hash string, ops []sent, replaced []replacement) (tool string, arguments any)
	// anchors reports whether operations have anchors, and not old and new text.
	anchors() bool
}

// shown is lines of a file as a server prints them, by number.
type shown struct {
	hash  string
	lines map[int]string
	tags  map[int]string
}

var (
	hashHeader = regexp.MustCompile(`(?m)^\[(?:Metadata: [^\n]*?)?file_hash=([0-9A-Za-z:]+)`)
	taggedLine = regexp.MustCompile(`(?m)^(\d+):([0-9a-f]{2,4})\|(.*)$`)
)

// taggedLines reads a header and tagged lines.
func taggedLines(text string) shown {
	s := shown{lines: map[int]string{}, tags: map[int]string{}}
	if m := hashHeader.FindStringSubmatch(text); m != nil {
		s.hash = m[1]
	}
	for _, m := range taggedLine.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			s.tags[n], s.lines[n] = m[2], m[3]
		}
	}
	return s
}

// hashfileTools are the tools of our editing server.
type hashfileTools struct{}

func (hashfileTools) anchors() bool { return true }

func (hashfileTools) window(path string, first, last int) map[string]any {
	return map[string]any{"path": path, "start_line": first, "end_line": last}
}

func (hashfileTools) shown(text string) shown { return taggedLines(text) }

func (hashfileTools) edit(path, hash string, ops []sent, _ []replacement) (string, any) {
	var list []any
	for _, o := range ops {
		list = append(list, o.members("op", o.op))
	}
	return "edit_text_file", map[string]any{"path": path, "file_hash": hash, "operations": list}
}

// members returns the operation as JSON, its kind under the given name.
func (s sent) members(name, op string) any {
	if s.raw != nil {
		return s.raw
	}
	o := map[string]any{name: op}
	if s.anchor != "" {
		o["anchor"] = s.anchor
	}
	if s.end != "" {
		o["end_anchor"] = s.end
	}
	if s.content != nil {
		o["content"] = *s.content
	}
	return o
}

// rustTools are the tools of the Rust hashfile-mcp. Its operations have no names for ranges.
type rustTools struct{ hashfileTools }

func (rustTools) edit(path, hash string, ops []sent, _ []replacement) (string, any) {
	var list []any
	for _, o := range ops {
		if raw, ok := o.raw.(map[string]any); ok {
			copied := map[string]any{}
			for name, v := range raw {
				copied[name] = v
			}
			op, _ := cmp.Or(copied["op"], copied["op_type"]).(string)
			delete(copied, "op")
			copied["op_type"] = strings.TrimSuffix(op, "_range")
			o.raw = copied
		}
		list = append(list, o.members("op_type", strings.TrimSuffix(o.op, "_range")))
	}
	return "edit_text_file", map[string]any{"path": path, "file_hash": hash, "operations": list}
}

// referenceTools are the tools of the reference filesystem server.
type referenceTools struct{}

func (referenceTools) anchors() bool { return false }

func (referenceTools) window(path string, _, _ int) map[string]any {
	return map[string]any{"path": path}
}

func (referenceTools) shown(text string) shown {
	s := shown{lines: map[int]string{}}
	for i, line := range textOfFile(text).lines {
		s.lines[i+1] = line
	}
	return s
}

func (referenceTools) edit(path, _ string, _ []sent, replaced []replacement) (string, any) {
	return "edit_file", map[string]any{"path": path, "edits": replaced}
}
