package surface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// FormatChanges renders changes for a terminal or a log, by item, those with the highest severity first:
//
//	tool:read_file
//	  high    description-changed  /description changed
//	      Reads a file [-from disk.-]{+and mails it.+}
//	  medium  parameter-required  parameter "path" became required
//
// What changes in several items alike is shown once, under all their keys, and of items that are taken away it is said
// which they are. Two texts are shown as one with [-what went-] and {+what came+}, word by word; other values on lines
// of their own, marked - and +. Everything that a server sent is escaped, and such marks inside it get a backslash, so
// that text cannot imitate them. Changed text is shown in full; long stretches without a change are left out, with the
// number of words. Without changes the result is "".
func FormatChanges(changes []Change) string {
	var b strings.Builder
	for _, line := range ChangeLines(changes) {
		b.WriteString(formatPieces(line) + "\n")
	}
	return b.String()
}

// A Piece is a part of a line of changes.
type Piece struct {
	Text string // escaped
	Sign string // "-" for what went, "+" for what came, else ""
}

// ChangeLines are the lines of [FormatChanges] in pieces, for a caller that shows in another way what went and came: a
// mark in a text from outside is text there.
func ChangeLines(changes []Change) (lines [][]Piece) {
	for _, g := range groupChanges(changes) {
		lines = append(lines, []Piece{{Text: Escape(strings.Join(g.items, ", "))}})
		for _, c := range g.changes {
			lines = append(lines, []Piece{{Text: fmt.Sprintf("  %-6s  %s  %s", c.Severity, c.Class, c.Summary)}})
			lines = append(lines, valueLines(c)...)
		}
	}
	return lines
}

// formatPieces writes a line with [-what went-] and {+what came+}.
func formatPieces(line []Piece) string {
	marked := slices.ContainsFunc(line, func(p Piece) bool { return p.Sign != "" })
	var b strings.Builder
	for _, p := range line {
		text := p.Text
		if marked {
			text = marks.Replace(text)
		}
		switch p.Sign {
		case "-":
			b.WriteString("[-" + text + "-]")
		case "+":
			b.WriteString("{+" + text + "+}")
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

// changeGroup is changes that some items have in common.
type changeGroup struct {
	items   []string
	changes []Change
}

// groupChanges groups changes of the same items, and puts those with the highest severity first.
func groupChanges(changes []Change) []*changeGroup {
	changes = slices.Clone(changes)
	for i, c := range changes {
		if c.Path == "" && c.New == "" {
			changes[i].Old = "" // of an item that is taken away it is enough to know which it is
		}
	}
	alike := map[Change][]string{} // the items of a change
	for _, c := range changes {
		key := c
		key.Item = ""
		alike[key] = append(alike[key], c.Item)
	}
	var groups []*changeGroup
	byItems := map[string]*changeGroup{}
	for _, c := range changes {
		c.Item = ""
		items := alike[c]
		if items == nil {
			continue // was said of the first of its items
		}
		delete(alike, c)
		key := strings.Join(items, "\x00")
		if byItems[key] == nil {
			byItems[key] = &changeGroup{items: items}
			groups = append(groups, byItems[key])
		}
		byItems[key].changes = append(byItems[key].changes, c)
	}
	bySeverity := func(a, b Change) int { return cmp.Compare(b.Severity.rank(), a.Severity.rank()) }
	for _, g := range groups {
		slices.SortStableFunc(g.changes, bySeverity)
	}
	slices.SortStableFunc(groups, func(a, b *changeGroup) int { return bySeverity(a.changes[0], b.changes[0]) })
	return groups
}

// valueLines are what c changes, on lines of their own.
func valueLines(c Change) (lines [][]Piece) {
	old, oldText := decodeText(c.Old)
	new, newText := decodeText(c.New)
	if oldText && newText && (c.Class == DescriptionChanged || strings.ContainsFunc(old+new, unicode.IsSpace)) {
		return [][]Piece{append([]Piece{{Text: "      "}}, wordPieces(old, new)...)}
	}
	for _, side := range []struct{ sign, json string }{{"-", c.Old}, {"+", c.New}} {
		v, err := parse([]byte(side.json), Limits{}, modeStored)
		var b strings.Builder
		switch {
		case side.json == "":
			continue
		case err == nil && (c.Path == "" || len(v.members) > 0):
			writeWhole(&b, v, "    "+side.sign+" ")
		default:
			fmt.Fprintf(&b, "    %s %s\n", side.sign, Escape(side.json))
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
			lines = append(lines, []Piece{{Text: line}})
		}
	}
	return lines
}

// decodeText decodes a JSON string; ok is false for other JSON.
func decodeText(json string) (s string, ok bool) {
	if json == "" || json[0] != '"' {
		return "", false
	}
	v, err := parse([]byte(json), Limits{}, modeStored)
	return v.text, err == nil && v.kind == isString
}

// contextWords is the number of words and spaces shown beside a change.
const contextWords = 16

// wordPieces shows two texts as one line. A stretch that is left out is a piece of its own.
func wordPieces(old, new string) (line []Piece) {
	put := func(words []string, sign string) {
		line = append(line, Piece{elision.Replace(Escape(strings.Join(words, ""))), sign})
	}
	runs := joinReplaced(compareWords(splitWords(old), splitWords(new)))
	for i, r := range runs {
		switch {
		case r.what != '=':
			put(r.words, string(r.what))
		case len(r.words) <= 2*contextWords+8:
			put(r.words, "")
		default:
			head, tail := contextWords, len(r.words)-contextWords
			if i == 0 {
				head = 0
			}
			if i == len(runs)-1 {
				tail = len(r.words)
			}
			put(r.words[:head], "")
			line = append(line,
				Piece{Text: fmt.Sprintf("[… %d words …]", len(strings.Fields(strings.Join(r.words[head:tail], ""))))})
			put(r.words[tail:], "")
		}
	}
	return line
}

// joinReplaced joins words that were replaced one by one, with the spaces between them, to one replacement.
func joinReplaced(runs []run) (out []run) {
	replaced := func(i int) bool { return i >= 0 && i+1 < len(runs) && runs[i].what == '-' && runs[i+1].what == '+' }
	for i := 0; i < len(runs); i++ {
		n := len(out)
		switch {
		case runs[i].what == '=' && isSpace(runs[i].words) && replaced(i-2) && replaced(i+1):
			out[n-2].words = append(out[n-2].words, slices.Concat(runs[i].words, runs[i+1].words)...)
			out[n-1].words = append(out[n-1].words, slices.Concat(runs[i].words, runs[i+2].words)...)
			i += 2
		default:
			out = append(out, runs[i])
		}
	}
	return out
}

func isSpace(words []string) bool { return strings.TrimSpace(strings.Join(words, "")) == "" }

// marks breaks what looks like a mark of formatPieces inside text.
var marks = strings.NewReplacer("[-", `[\-`, "-]", `-\]`, "{+", `{\+`, "+}", `+\}`)

// elision breaks what looks like a stretch that was left out.
var elision = strings.NewReplacer("[…", `[\…`)

// splitWords cuts text into words and the spaces between them.
func splitWords(s string) []string {
	var out []string
	start, inSpace := 0, false
	for i, r := range s {
		if space := unicode.IsSpace(r); i > start && space != inSpace || i == 0 {
			if i > start {
				out = append(out, s[start:i])
			}
			start, inSpace = i, space
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// A run is a stretch of words that both texts have ('='), or one of them.
type run struct {
	what  byte
	words []string
}

// maxTable bounds the table of compareWords; texts that would need a larger one are
// shown as replaced from the first difference to the last.
const maxTable = 4 << 20

// compareWords finds a longest common subsequence.
func compareWords(a, b []string) []run {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var runs []run
	put := func(what byte, words ...string) {
		if len(words) == 0 {
			return
		}
		if n := len(runs); n > 0 && runs[n-1].what == what {
			runs[n-1].words = append(runs[n-1].words, words...)
			return
		}
		runs = append(runs, run{what, append([]string(nil), words...)})
	}
	put('=', a[:head]...)
	end := a[len(a)-tail:]
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	if len(a) > 0 && len(b) > 0 && len(a) < maxTable/len(b) {
		w, common := len(b)+1, measureCommon(a, b)
		i, j := 0, 0
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				put('=', a[i])
				i, j = i+1, j+1
			case common[(i+1)*w+j] >= common[i*w+j+1]:
				put('-', a[i])
				i++
			default:
				put('+', b[j])
				j++
			}
		}
		a, b = a[i:], b[j:]
	}
	put('-', a...)
	put('+', b...)
	put('=', end...)
	return runs
}

// measureCommon returns the lengths of the longest common subsequences of all ends of a and b: that of a[i:] and b[j:]
// is at i*(len(b)+1)+j.
func measureCommon(a, b []string) []int32 {
	w := len(b) + 1
	common := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
			} else {
				common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
			}
		}
	}
	return common
}
