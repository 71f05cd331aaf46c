package main

import (
	"fmt"
	"strings"
)

// task is an edit that a model means to make, and what it sends in its place.
type task struct {
	kind    string
	read    text     // the file when the model read it
	now     text     // the file when the edit arrives
	meant   []change // by lines of read
	want    string   // what the file is to become
	nothing bool     // there is nothing left to edit: the edit is to be refused

	// What the model sends.
	hash     func(printed string) string // of the hash that it was shown
	sent     []sent
	replaced []replacement // to a server that takes old text and new text
}

// sent is an operation for a server of anchors.
type sent struct {
	op, anchor, end string
	content         *string
	raw             any // in place of all that, if it is not nil
}

// replacement is an edit for a server that takes old text and new text.
type replacement struct {
	OldText string `json:"oldText"`
	NewText string `json:"newText"`
}

// plain makes a task without a mistake.
func plain(kind string, read text, meant ...change) task {
	t := task{kind: kind, read: read, now: read, meant: meant, want: read.apply(meant).String(),
		hash: func(printed string) string { return printed }}
	for _, c := range meant {
		t.sent = append(t.sent, c.anchored(read))
		t.replaced = append(t.replaced, c.quoted(read))
	}
	return t
}

// anchored returns the change as an operation with anchors, as it should be sent.
func (c change) anchored(of text) sent {
	s := sent{op: c.op, anchor: "0:"}
	if c.first > 0 {
		s.anchor = of.anchor(c.first)
	}
	if c.ranged() && !c.inserts() {
		s.op += "_range"
		s.end = of.anchor(c.last)
	}
	if c.op != "delete" {
		content := c.content()
		s.content = &content
	}
	return s
}

// anchor is the anchor of line n.
func (t text) anchor(n int) string { return fmt.Sprintf("%d:%s", n, t.tag(n)) }

// aroundMost is how many lines a model quotes on each side to say which place it means.
const aroundMost = 3

// quoted returns the change as old and new text. The old text is the lines that change, and
// as many around them as make it the only such place.
func (c change) quoted(of text) replacement {
	if c.first == 0 {
		return replacement{"", c.content() + "\n"}
	}
	whole := strings.Join(of.lines, "\n") + "\n"
	var from, to int
	for around := range aroundMost + 1 {
		from, to = max(c.first-around, 1), min(c.last+around, len(of.lines))
		if strings.Count(whole, joinLines(of.lines[from-1:to])) == 1 {
			break
		}
	}
	part := text{lines: of.lines[from-1 : to]}
	moved := c
	moved.first, moved.last = c.first-from+1, c.last-from+1
	old, now := joinLines(part.lines), joinLines(part.apply([]change{moved}).lines)
	if of.open && to == len(of.lines) {
		old, now = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(now, "\n")
	}
	return replacement{old, now}
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// moved gives the task a file that somebody else has changed since it was read. Where says
// which line of now each line of read is, from 1; 0 is none.
func (t task) moved(now text, where []int) task {
	t.now = now
	var changes []change
	for _, c := range t.meant {
		m := c
		for n := c.first; n <= c.last; n++ {
			at := where[n]
			if at == 0 || n > c.first && at != where[n-1]+1 {
				t.nothing = true
				return t
			}
			if n == c.first {
				m.first = at
			}
			m.last = at
		}
		changes = append(changes, m)
	}
	t.want = now.apply(changes).String()
	return t
}

// misleads reports whether some anchor leads to a line that is not meant: it agrees with
// another line, or no line agrees with it and one other has its tag.
func (t task) misleads() (agrees, moves bool) {
	for i, s := range t.sent {
		for anchor, meant := range map[string]int{s.anchor: t.meant[i].first, s.end: t.meant[i].last} {
			var n int
			var tag string
			if _, err := fmt.Sscanf(anchor, "%d:%2s", &n, &tag); err != nil {
				continue
			}
			if n >= 1 && n <= len(t.now.lines) && t.now.tag(n) == tag {
				agrees = agrees || n != meant
				continue
			}
			count, line := t.now.tagged(tag)
			moves = moves || count == 1 && line != meant
		}
	}
	return agrees, moves
}
