package main

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of tasks that are about the file, about its hash, or about what the model means.

// stale has a file of which somebody else has inserted, deleted or replaced lines since. What
// is left of what is meant can be told from other lines.
func (m *taskMaker) stale(kind string) task {
	for {
		if t := m.changed(kind); t.nothing || t.recognized() {
			return t
		}
	}
}

// recognized reports whether who sees the whole file as it is now finds what is meant.
func (t task) recognized() bool {
	whole := shown{lines: map[int]string{}, tags: map[int]string{}}
	for n := range t.now.lines {
		whole.lines[n+1], whole.tags[n+1] = t.now.line(n+1), t.now.tag(n+1)
	}
	var found []change
	for _, c := range t.meant {
		at, ok := locate(t.read, c, whole.lines)
		if !ok {
			return false
		}
		c.first, c.last = at, at+c.last-c.first
		found = append(found, c)
	}
	return t.now.apply(found).String() == t.want
}

// changed makes an edit of a file that is changed after it was read.
func (m *taskMaker) changed(kind string) task {
	f := m.file()
	t := plain(kind, f, m.anyChange(f))
	now := f
	now.lines = slices.Clone(f.lines)
	where := make([]int, len(f.lines)+1)
	for n := range where {
		where[n] = n
	}
	for range 1 + m.r.IntN(3) {
		at := m.r.IntN(len(now.lines) - 5)
		if m.r.IntN(3) == 0 { // near what is meant
			at = min(max(t.meant[0].first-4+m.r.IntN(8), 0), at)
		}
		gone, made := m.r.IntN(4), m.newLines(f, 1, m.r.IntN(5))
		now.lines = slices.Replace(now.lines, at, at+gone, made...)
		for n := 1; n < len(where); n++ {
			switch {
			case where[n] > at && where[n] <= at+gone:
				where[n] = 0
			case where[n] > at:
				where[n] += len(made) - gone
			}
		}
	}
	return t.moved(now, where)
}

// carriageReturns has a file whose lines end in CR LF, and content whose lines do not.
func (m *taskMaker) carriageReturns(kind string) task {
	f := m.file()
	f.ending = "\r\n"
	return plain(kind, f, m.anyChange(f))
}

// openEnd changes the end of a file whose last line has no ending.
func (m *taskMaker) openEnd(kind string) task {
	f := m.file()
	f.open = true
	if last := len(f.lines); f.lines[last-1] == "" {
		f.lines = append(f.lines[:last-1:last-1], "}")
	}
	n := len(f.lines)
	return plain(kind, f, m.change(f, pick(m.r, []string{"replace", "insert_after", "insert_before"}), n, n))
}

// marked changes the beginning of a file with a byte order mark.
func (m *taskMaker) marked(kind string) task {
	f := m.file()
	f.bom = true
	n := 1 + m.r.IntN(2)
	op := pick(m.r, []string{"replace", "insert_after", "insert_before", "delete"})
	return plain(kind, f, m.change(f, op, n, n))
}

// empty inserts into an empty file, with one of the anchors that models think of.
func (m *taskMaker) empty(kind string) task {
	c := m.change(text{lines: []string{""}}, pick(m.r, []string{"insert_after", "insert_before"}), 1, 1)
	c.first, c.last = 0, 0
	t := plain(kind, text{ending: "\n"}, c)
	t.sent[0].anchor = pick(m.r, []string{"0:", "0:", "1:25", "0:00"})
	return t
}

// wrongHash has a digit changed in file_hash, or the hash of something else.
func (m *taskMaker) wrongHash(kind string) task {
	f := m.file()
	t := plain(kind, f, m.anyChange(f))
	other := m.r.IntN(2) == 0
	t.hash = func(printed string) string {
		at := len(printed) - 1
		if other {
			at -= 3
		}
		digit := byte('0')
		if printed[at] == digit {
			digit = 'f'
		}
		return printed[:at] + string(digit) + printed[at+1:]
	}
	return t
}

// hashPrefix has the first 12 to 20 digits of file_hash, with the name of its kind or not.
func (m *taskMaker) hashPrefix(kind string) task {
	f := m.file()
	t := plain(kind, f, m.anyChange(f))
	digits, named := 12+m.r.IntN(9), m.r.IntN(2) == 0
	t.hash = func(printed string) string {
		hex := strings.TrimPrefix(printed, "sha256:")
		hex = hex[:min(len(hex), digits)]
		if named && hex != printed {
			return "sha256:" + hex
		}
		return hex
	}
	return t
}

// spaces has four spaces for each tab where old text is quoted. Anchors quote none.
func (m *taskMaker) spaces(kind string) task {
	f := m.file()
	t := plain(kind, f, m.replacing(f, m.r.IntN(2) == 0))
	t.replaced[0].OldText = untab(t.replaced[0].OldText)
	return t
}

// spacesInNew has four spaces for each tab in the new text.
func (m *taskMaker) spacesInNew(kind string) task {
	f := m.file()
	c := m.replacing(f, m.r.IntN(2) == 0)
	for i := range c.lines {
		c.lines[i] = "\t" + c.lines[i]
	}
	t := plain(kind, f, c)
	content := untab(c.content())
	t.sent[0].content = &content
	t.replaced[0].NewText = strings.Replace(t.replaced[0].NewText, c.content(), content, 1)
	return t
}

func untab(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// rangeOff has the right anchors of a range that is one line longer or shorter than meant.
func (m *taskMaker) rangeOff(kind string) task {
	f := m.file()
	c := m.replacing(f, true)
	t := plain(kind, f, c)
	c.last += 1 - 2*m.r.IntN(2)
	t.sent = []sent{c.anchored(f)}
	t.replaced = []replacement{c.quoted(f)}
	return t
}

// repeatsNext has the line after the range at the end of the new lines as well.
func (m *taskMaker) repeatsNext(kind string) task {
	f := m.file()
	c := m.replacing(f, true)
	for strings.TrimSpace(f.lines[c.last]) == "" {
		c = m.replacing(f, true)
	}
	t := plain(kind, f, c)
	c.lines = append(slices.Clone(c.lines), f.lines[c.last])
	t.sent = []sent{c.anchored(f)}
	t.replaced = []replacement{c.quoted(f)}
	return t
}

// overlapping replaces a range, and deletes a line of it as well.
func (m *taskMaker) overlapping(kind string) task {
	f := m.file()
	c := m.replacing(f, true)
	t := plain(kind, f, c)
	n := c.first + m.r.IntN(c.last-c.first+1)
	second := change{op: "delete", first: n, last: n}
	t.sent = append(t.sent, second.anchored(f))
	t.replaced = append(t.replaced, second.quoted(f))
	return t
}

// spellings says an operation in other words, which models and the source of ours use.
func (m *taskMaker) spellings(kind string) task {
	f := m.file()
	c := m.replacing(f, true)
	single := m.replacing(f, false)
	single.lines = single.lines[:1]
	content := c.content()
	from, to := f.anchor(c.first), f.anchor(c.last)
	add := change{op: "insert_after", first: c.first, last: c.first, lines: c.lines}
	before := change{op: "insert_before", first: c.first, last: c.first, lines: c.lines}
	gone := change{op: "delete", first: c.first, last: c.last}
	ways := []struct {
		meant change
		raw   any
	}{
		{c, map[string]any{"op_type": "replace_range", "anchor": from, "end_anchor": to, "content": content}},
		{c, map[string]any{"op": "replace", "anchor": from, "end_anchor": to, "content": content}},
		{c, map[string]any{"op": "replace_range", "anchor": from, "end_anchor": to, "content": content + "\n"}},
		{c, map[string]any{"op": "replace_range", "anchor": from, "end_anchor": to, "lines": c.lines}},
		{c, map[string]any{"op": "replace", "anchor": from + ".." + to, "content": content}},
		{add, map[string]any{"op": "append", "anchor": from, "content": content}},
		{before, map[string]any{"op": "prepend", "anchor": from, "content": content}},
		{gone, map[string]any{"op": "delete", "anchor": from, "end_anchor": to}},
		{single, fmt.Sprintf("replace %s with '%s'", f.anchor(single.first), single.content())},
		{gone, fmt.Sprintf("delete %s..%s", from, to)},
	}
	way := ways[m.r.IntN(len(ways))]
	t := plain(kind, f, way.meant)
	t.sent[0].raw = way.raw
	return t
}
