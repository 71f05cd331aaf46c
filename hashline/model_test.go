package hashline

import (
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// oracle applies operations of which the anchors are exact to an array of lines, each
// with its ending, one line at a time: what Edit must equal.
func oracle(file string, ops []Operation) string {
	mark := strings.HasPrefix(file, bom)
	file = strings.TrimPrefix(file, bom)
	var lines []string
	for line := range strings.Lines(file) {
		lines = append(lines, line)
	}
	if len(lines) == 0 && mark {
		lines = []string{""} // the mark alone is a line
	}
	n := len(lines)
	endOf := func(i int) string { // of line i, from 0
		for ; i >= 0 && i < n; i-- {
			if strings.HasSuffix(lines[i], "\r\n") {
				return "\r\n"
			}
			if strings.HasSuffix(lines[i], "\n") {
				return "\n"
			}
		}
		return "\n"
	}
	before := make([][]string, n+1) // new lines before line i, without endings
	ends := make([][]string, n+1)   // and their endings
	out := slices.Clone(lines)
	changed := make([]bool, n)
	for _, op := range ops {
		op = plain(op, n)
		at, last := number(op.Anchor)-1, number(op.Anchor)-1
		if op.EndAnchor != "" {
			last = number(op.EndAnchor) - 1
		}
		var content []string
		if op.Content != nil {
			content = strings.Split(strings.TrimSuffix(*op.Content, "\n"), "\n")
			for i, c := range content {
				content[i] = strings.TrimRight(c, "\r")
			}
		}
		switch op.Op {
		case InsertAfter, InsertBefore:
			gap := max(at, 0)
			if op.Op == InsertAfter && n > 0 {
				gap = at + 1
			}
			for _, c := range content {
				before[gap] = append(before[gap], c)
				ends[gap] = append(ends[gap], endOf(at))
			}
		default:
			text := ""
			for i, c := range content {
				end := ""
				if strings.HasSuffix(lines[last], "\r\n") {
					end = "\r\n"
				} else if strings.HasSuffix(lines[last], "\n") {
					end = "\n"
				}
				if i < len(content)-1 {
					end = endOf(min(at+i, last))
				}
				text += c + end
			}
			for i := at; i <= last; i++ {
				changed[i] = true
				out[i] = ""
			}
			out[at] = text
		}
	}
	result := ""
	kept := false // the first line of the outcome is one of the file
	for i := 0; i <= n; i++ {
		for j, c := range before[i] {
			if i == n && n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
				result += ends[i][j] + c
			} else {
				result += c + ends[i][j]
			}
		}
		if i < n {
			kept = kept || result == "" && !changed[i]
			result += out[i]
		}
	}
	if mark && kept {
		result = bom + result
	} else if mark {
		result = bom + strings.TrimPrefix(result, bom)
	}
	return result
}

func number(anchor string) int {
	a, err := parseAnchor(anchor, MinWidth)
	if err != nil {
		panic(err)
	}
	return a.line
}

// text draws a file: few different lines, so that tags collide, mixed endings, sometimes
// a byte order mark, no final newline, or nothing at all.
func text(t *rapid.T, label string) string {
	line := rapid.SampledFrom(
		[]string{"", "a", "b", "  a", "a  ", "x\ty", "caf\u00e9", "\u65e5\u672c", "}", "a|b", "\r", "\U0001f600"})
	end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"})
	var b strings.Builder
	if rapid.IntRange(0, 9).Draw(t, label+" mark") == 0 {
		b.WriteString(bom)
	}
	for range rapid.IntRange(0, 12).Draw(t, label+" lines") {
		b.WriteString(line.Draw(t, "line") + end.Draw(t, "end"))
	}
	if rapid.Bool().Draw(t, label+" unended") {
		b.WriteString(line.Draw(t, "last"))
	}
	return b.String()
}

// operations draws operations with exact anchors, in every spelling.
func operations(t *rapid.T, f *File) (ops []Operation) {
	content := rapid.SampledFrom(
		[]string{"", "n", "n\n", "n1\nn2", "\n", "\n\n", "n1\r\nn2\r\n", bom + "n", bom, "n\r", "a", "}\n", "it's"})
	at := func(n int) string {
		return strings.TrimSuffix(string(AppendLine(nil, n, f.Line(n), rapid.IntRange(2, 4).Draw(t, "width"))), "\n")
	}
	for range rapid.IntRange(1, 4).Draw(t, "operations") {
		op := Operation{Op: rapid.SampledFrom(opNames).Draw(t, "op")}
		if f.Lines() == 0 {
			op.Op = rapid.SampledFrom([]string{InsertAfter, InsertBefore, Append, Prepend}).Draw(t, "insertion")
		}
		if op.Op != Delete && op.Op != DeleteRange {
			c := content.Draw(t, "content")
			op.Content = &c
		}
		switch {
		case (op.Op == Append || op.Op == Prepend) && rapid.Bool().Draw(t, "at an end"):
		case f.Lines() == 0:
			op.Anchor = "0:"
		default:
			n := rapid.IntRange(1, f.Lines()).Draw(t, "line")
			op.Anchor = at(n)
			if op.Op == ReplaceRange || op.Op == DeleteRange ||
				(op.Op == Replace || op.Op == Delete) && rapid.Bool().Draw(t, "range") {
				op.EndAnchor = at(rapid.IntRange(n, min(n+2, f.Lines())).Draw(t, "last"))
			}
		}
		ops = append(ops, spell(t, op))
	}
	return ops
}

// spell draws another spelling of an operation.
func spell(t *rapid.T, op Operation) Operation {
	first, _, _ := strings.Cut(op.Anchor, "|")
	last, _, _ := strings.Cut(op.EndAnchor, "|")
	anchor := first
	if last != "" {
		anchor += rapid.SampledFrom([]string{"..", " .. ", "\t.."}).Draw(t, "dots") + last
	}
	switch rapid.SampledFrom([]string{"plain", "name", "range", "quoted", "unquoted"}).Draw(t, "spelling") {
	case "name":
		op.Op = rapid.SampledFrom([]string{strings.ToUpper(op.Op), strings.ReplaceAll(op.Op, "_", "-"),
			strings.ReplaceAll(op.Op, "_", "")}).Draw(t, "name")
	case "range":
		op.Anchor, op.EndAnchor = anchor, ""
	case "quoted":
		return parsed(t, op, op.Op+" "+anchor+" with '", "'")
	case "unquoted":
		return parsed(t, op, op.Op+" "+anchor+" with\n", "")
	}
	return op
}

// parsed is an operation read from a text, unless its content needs quotes.
func parsed(t *rapid.T, op Operation, before, behind string) Operation {
	text, _, _ := strings.Cut(before, " with")
	if op.Content != nil {
		text = before + *op.Content + behind
	}
	got, err := ParseOperation(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if op.Content != nil && behind == "" && strings.Trim(*op.Content, blanks) == "" {
		return op
	}
	return got
}

// plain is an operation with the name of one of the six that need an anchor, and with anchors.
func plain(op Operation, lines int) Operation {
	op.Op = strings.ToLower(op.Op)
	for _, name := range opNames {
		if strings.NewReplacer("-", "", "_", "").Replace(op.Op) == strings.ReplaceAll(name, "_", "") {
			op.Op = name
		}
	}
	line := map[string]int{Append: lines, Prepend: min(lines, 1)}
	switch {
	case op.Anchor == "" && line[op.Op] == 0:
		op.Anchor = "0:"
	case op.Anchor == "":
		op.Anchor = strconv.Itoa(line[op.Op]) + ":00"
	}
	switch op.Op {
	case Append:
		op.Op = InsertAfter
	case Prepend:
		op.Op = InsertBefore
	}
	if first, last, ok := strings.Cut(op.Anchor, ".."); ok && !strings.Contains(first, "|") {
		op.Anchor, op.EndAnchor = first, last
	}
	return op
}

// meet reports whether operations overlap, by looking at each pair and each line.
func meet(ops []Operation, lines int) bool {
	span := func(o *Operation) (first, last int, insert bool) {
		*o = plain(*o, lines)
		first = number(o.Anchor)
		last = first
		if o.EndAnchor != "" {
			last = number(o.EndAnchor)
		}
		return first, last, o.Op == InsertAfter || o.Op == InsertBefore
	}
	for i, a := range ops {
		for j, b := range ops {
			first, last, insert := span(&a)
			at, end, inserts := span(&b)
			switch {
			case i == j || insert:
			case !inserts:
				if at <= last && first <= end {
					return true
				}
			case a.Op == Delete || a.Op == DeleteRange:
				if first <= at && at <= last {
					return true
				}
			default:
				gap := at
				if b.Op == InsertBefore {
					gap--
				}
				if first <= gap && gap < last {
					return true
				}
			}
		}
	}
	return false
}
