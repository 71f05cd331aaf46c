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
// which they are. Two texts are shown as one with [-what went-] and {+what came+}, word by word; other values on lines of
// their own, marked - and +. Everything that a server sent is escaped, and such marks inside it get a backslash, so that
// text cannot imitate them. Changed text is shown in full; long stretches without a change are left out, with the number
// of words. Without changes the result is "".
func FormatChanges(changes []Change) string {
	var b strings.Builder
	for _, g := range groupChanges(changes) {
		fmt.Fprintln(&b, Escape(strings.Join(g.items, ", ")))
		for _, c := range g.changes {
			fmt.Fprintf(&b, "  %-6s  %s  %s\n", c.Severity, c.Class, c.Summary)
			writeValues(&b, c)
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

// writeValues writes what c changes, on lines of their own.
func writeValues(b *strings.Builder, c Change) {
	old, oldText := decodeText(c.Old)
	new, newText := decodeText(c.New)
	if oldText && newText && (c.Class == DescriptionChanged || strings.ContainsFunc(old+new, unicode.IsSpace)) {
		fmt.Fprintf(b, "      %s\n", wordDiff(old, new))
		return
	}
	for _, side := range []struct{ sign, json string }{{"-", c.Old}, {"+", c.New}} {
		v, err := parse([]byte(side.json), Limits{}, modeStored)
		switch {
		case side.json == "":
		case err == nil && (c.Path == "" || len(v.members) > 0):
			writeWhole(b, v, "    "+side.sign+" ")
		default:
			fmt.Fprintf(b, "    %s %s\n", side.sign, Escape(side.json))
		}
	}
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

// wordDiff shows two texts as one line.
func wordDiff(old, new string) string {
	var b strings.Builder
	runs := joinReplaced(compareWords(splitWords(old), splitWords(new)))
	for i, r := range runs {
		switch {
		case r.what == '-':
			b.WriteString("[-" + escapeWords(r.words) + "-]")
		case r.what == '+':
			b.WriteString("{+" + escapeWords(r.words) + "+}")
		case len(r.words) <= 2*contextWords+8:
			b.WriteString(escapeWords(r.words))
		default:
			head, tail := contextWords, len(r.words)-contextWords
			if i == 0 {
				head = 0
			}
			if i == len(runs)-1 {
				tail = len(r.words)
			}
			b.WriteString(escapeWords(r.words[:head]))
			fmt.Fprintf(&b, "[… %d words …]", len(strings.Fields(strings.Join(r.words[head:tail], ""))))
			b.WriteString(escapeWords(r.words[tail:]))
		}
	}
	return b.String()
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

// marks breaks what looks like a mark of wordDiff inside text.
var marks = strings.NewReplacer("[-", `[\-`, "-]", `-\]`, "{+", `{\+`, "+}", `+\}`, "[…", `[\…`)

func escapeWords(words []string) string { return marks.Replace(Escape(strings.Join(words, ""))) }

// A Piece is a part of a line of [FormatChanges].
type Piece struct {
	Text string // escaped
	Sign string // "-" for what went, "+" for what came, else ""
}

// SplitMarked splits a line of [FormatChanges] at [-what went-] and {+what came+}. Marks that
// a server sent have a backslash before them there; one that is not closed is text.
func SplitMarked(text string) (out []Piece) {
	for text != "" {
		at, end, sign := -1, "", ""
		for i := 0; i+1 < len(text); i++ {
			if i > 0 && text[i-1] == '\\' {
				continue
			}
			switch text[i : i+2] {
			case "[-":
				at, end, sign = i, "-]", "-"
			case "{+":
				at, end, sign = i, "+}", "+"
			}
			if at >= 0 {
				break
			}
		}
		if at < 0 {
			return append(out, Piece{Text: text})
		}
		length := -1
		for i := at + 2; i+1 < len(text); i++ {
			if text[i:i+2] == end && text[i-1] != '\\' {
				length = i - at - 2
				break
			}
		}
		if length < 0 {
			return append(out, Piece{Text: text})
		}
		if at > 0 {
			out = append(out, Piece{Text: text[:at]})
		}
		out = append(out, Piece{text[at+2 : at+2+length], sign})
		text = text[at+2+length+2:]
	}
	return out
}

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
		// common[i*w+j] is the length for a[i:] and b[j:].
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
