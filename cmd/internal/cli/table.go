package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/digest"
)

// table prints rows in columns, the first of which is a state, in colour on a terminal that shows colours. On a
// terminal no row is wider than it: the last column is cut.
type table struct {
	indent string
	rows   [][]string
}

// widest is the most columns that any but the last column of a table has.
const widest = 24

// add adds a row, whose texts are escaped.
func (t *table) add(texts ...string) { t.rows = append(t.rows, texts) }

// writeTo prints the rows.
func (t *table) writeTo(w io.Writer) {
	columns, _ := terminalOf(w)
	var widths []int
	for _, row := range t.rows {
		for i, text := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(utf8.RuneCountInString(text), widest))
		}
	}
	for _, row := range t.rows {
		line, used := t.indent, len(t.indent)
		for i, text := range row[:len(row)-1] {
			if columns > 0 {
				text = cutText(text, widest)
			}
			gap := max(0, widths[i]-utf8.RuneCountInString(text)) + 2
			used += utf8.RuneCountInString(text) + gap
			if code := stateColours[text]; i == 0 && code != "" {
				text = colour(w, code, text)
			}
			line += text + strings.Repeat(" ", gap)
		}
		fmt.Fprintln(w, strings.TrimRight(line+cutText(row[len(row)-1], columns-used), " "))
	}
}

// stateColours are the colours of states, as terminals call them.
var stateColours = map[string]string{
	"protected": "32", "withheld": "31", "not approved": "31", "failed": "31", "open": "33", "pinned": "33",
}

// failing writes, and keeps the first error of that.
type failing struct {
	to  io.Writer
	err error
}

func (f *failing) Write(text []byte) (int, error) {
	n, err := f.to.Write(text)
	if f.err == nil {
		f.err = err
	}
	return n, err
}

// screen is text for a person at a terminal, which is shown there later. What is for scripts is left out of it, such as
// the whole of a digest: see [formatDigest].
type screen struct {
	io.Writer
	columns int
	colours bool
}

// terminalOf returns how wide w is, and whether it shows colours; 0 if it is no terminal.
func terminalOf(w io.Writer) (columns int, colours bool) {
	switch of := w.(type) {
	case *failing:
		w = of.to
	case *screen:
		return of.columns, of.colours
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, false
	}
	return columns, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// formatDigest returns a digest as w is to have it: as much as a person can compare on a terminal, else all of it.
func formatDigest(w io.Writer, d digest.Digest) string {
	const most = len("sha256:") + 16
	if columns, _ := terminalOf(w); columns > 0 && len(d.String()) > most {
		return d.String()[:most] + "…"
	}
	return d.String()
}

// colour returns text in a colour, where w shows colours.
func colour(w io.Writer, code, text string) string {
	if _, colours := terminalOf(w); colours {
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return text
}

// writeFolded prints a text, on a terminal in lines that fit, each after the first behind indent.
func writeFolded(w io.Writer, text, indent string) {
	if columns, _ := terminalOf(w); columns > 0 {
		text = strings.Join(program.WrapText(text, columns-len(indent)), "\n"+indent)
	}
	fmt.Fprintln(w, text)
}

// cutText cuts a text to most columns, but to no fewer than ten; most below 0 is of no terminal.
func cutText(text string, most int) string {
	if most <= 0 || utf8.RuneCountInString(text) <= max(most, 10) {
		return text
	}
	return string([]rune(text)[:max(most, 10)-1]) + "…"
}
