package main

import (
	"fmt"
	"strings"
)

// What a model does about a refusal, mechanically: the same changes, said as they should be,
// with the hash and the lines that it was given.

// secondTry returns the call that the text of a refusal asks for. If the refusal gives a
// hash, anchors belong to the lines that it shows. If it does not, hash and anchors stay as
// they were sent, and all else is said right. It is not ok if a line that is meant is not shown.
func (t task) secondTry(d dialect, refusal, read, hash string) (ops []sent, newHash string, ok bool) {
	if !d.anchors() {
		return nil, "", false
	}
	given := d.shown(refusal)
	if given.hash != "" && len(given.lines) > 0 {
		ops, ok = t.anchoredIn(given, read)
		return ops, given.hash, ok
	}
	for i, c := range t.meant {
		o := c.anchored(t.read)
		if i < len(t.sent) && t.sent[i].raw == nil {
			o.anchor, o.end = t.sent[i].anchor, t.sent[i].end
		}
		if c.first == 0 {
			o.startOfEmpty(refusal)
		}
		ops = append(ops, o)
	}
	if given.hash != "" {
		hash = given.hash
	}
	return ops, hash, true
}

// startOfEmpty has the operation say the beginning of an empty file as a refusal proposes.
func (s *sent) startOfEmpty(refusal string) {
	switch {
	case strings.Contains(refusal, `"0:"`):
		s.anchor = "0:"
	case strings.Contains(refusal, "append"):
		s.op, s.anchor = "append", ""
	case strings.Contains(refusal, "prepend"):
		s.op, s.anchor = "prepend", ""
	case strings.Contains(refusal, "total_lines=0"):
		s.anchor = "0:" // as the tool's description says
	}
}

// anchoredIn returns the changes with the anchors of lines that a server has shown. Under the
// hash that the model has read, lines still have the numbers that it has read.
func (t task) anchoredIn(given shown, read string) (ops []sent, ok bool) {
	for _, c := range t.meant {
		o := c.anchored(t.read)
		if c.first > 0 {
			at, ok := c.first, same(t.read, c, given.lines, c.first)
			if !sameHash(given.hash, read) {
				at, ok = locate(t.read, c, given.lines)
			}
			if !ok {
				return nil, false
			}
			o.anchor = given.anchor(at)
			if o.end != "" {
				o.end = given.anchor(at + c.last - c.first)
			}
		}
		ops = append(ops, o)
	}
	return ops, true
}

// sameHash reports whether two hashes are of one file; either may be shortened.
func sameHash(a, b string) bool {
	return a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// quotedIn returns the changes with the old text of a file that a server has shown whole.
func (t task) quotedIn(given shown) (edits []replacement, ok bool) {
	whole := text{ending: "\n", open: t.now.open}
	for n := 1; n <= len(given.lines); n++ {
		whole.lines = append(whole.lines, given.lines[n])
	}
	for _, c := range t.meant {
		moved := c
		if c.first > 0 {
			at, ok := locate(t.read, c, given.lines)
			if !ok {
				return nil, false
			}
			moved.first, moved.last = at, at+c.last-c.first
		}
		edits = append(edits, moved.quoted(whole))
	}
	return edits, true
}

// anchor is the anchor of a line that was shown, as it was printed.
func (s shown) anchor(n int) string { return fmt.Sprintf("%d:%s", n, s.tags[n]) }

// around is how many lines before and after a change a model looks at to recognize its place.
const around = 3

// locate finds the lines that a change is about among lines that are shown, by what they hold
// and by the lines around them; of equal places, the one with the old number. It is not ok if
// nothing, or nothing in particular, is what was read.
func locate(read text, c change, given map[int]string) (at int, ok bool) {
	best, places := 0, 0
	for n := range given {
		if !same(read, c, given, n) {
			continue
		}
		score := 100 // above any number of lines around that differ
		if n == c.first {
			score++
		}
		for d := 1; d <= around; d++ {
			score += 2*alike(read, c.first-d, given, n-d) + 2*alike(read, c.last+d, given, n+c.last-c.first+d)
		}
		switch {
		case score > best:
			at, best, places = n, score, 1
		case score == best:
			places++
		}
	}
	return at, places == 1 && (best >= 100 || occurrences(read, c) == 1)
}

// same reports whether the lines of a change are shown from line at on. Those between the first
// and the last, which need no anchors, may be left out.
func same(read text, c change, given map[int]string, at int) bool {
	for n := c.first; n <= c.last; n++ {
		line, ok := given[at+n-c.first]
		if ok && line != read.line(n) || !ok && (n == c.first || n == c.last) {
			return false
		}
	}
	return true
}

// alike is 1 if line n of what was read is shown as line at, -2 if another line is, and else 0.
func alike(read text, n int, given map[int]string, at int) int {
	line, ok := given[at]
	switch {
	case !ok || n < 1 || n > len(read.lines):
		return 0
	case line == read.line(n):
		return 1
	}
	return -2
}

// occurrences is how often the lines of a change occur in what was read.
func occurrences(read text, c change) (count int) {
	for at := range read.lines {
		equal := true
		for n := c.first; n <= c.last && equal; n++ {
			i := at + n - c.first
			equal = i < len(read.lines) && read.line(i+1) == read.line(n)
		}
		if equal {
			count++
		}
	}
	return count
}
