package program

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Fold returns a writer of whole lines to w: at a terminal they are broken between words.
func Fold(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 1 {
		return w
	}
	return folding{w, columns}
}

// folding breaks each line that is written to it.
type folding struct {
	to      io.Writer
	columns int
}

func (f folding) Write(text []byte) (int, error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		for _, part := range FoldLine(line, f.columns) {
			if _, err := fmt.Fprintln(f.to, part); err != nil {
				return 0, err
			}
		}
	}
	return len(text), nil
}

// FoldLine breaks a line between words so that it fits into columns. What follows stands below the line's value, if it
// is a label, two blanks and a value, else below its beginning. A word that is longer stays whole, for the terminal to
// break.
func FoldLine(line string, columns int) (out []string) {
	begin := len(line) - len(strings.TrimLeft(line, " "))
	value := begin
	if label, rest, ok := strings.Cut(line[begin:], "  "); ok {
		value += len(label) + 2 + len(rest) - len(strings.TrimLeft(rest, " "))
	}
	for WidthOf(line) > columns {
		runes := []rune(line)
		at := columns + hiddenRunes(runes, columns)
		for at > 0 && runes[at] != ' ' {
			at--
		}
		rest := strings.TrimLeft(string(runes[at:]), " ")
		word, _, _ := strings.Cut(rest, " ")
		indent := begin
		if value < columns/2 && value+WidthOf(word) <= columns {
			indent = value
		}
		if strings.TrimSpace(string(runes[:at])) == "" { // its first word is too long
			break
		}
		out = append(out, strings.TrimRight(string(runes[:at]), " "))
		line = strings.Repeat(" ", indent) + rest
	}
	return append(out, line)
}

// colours matches what changes the colour of a text, and takes no column.
var colours = spelling.Form(`\x1b\[[0-9;]*m`)

// WidthOf is how many columns a text takes.
func WidthOf(text string) int { return utf8.RuneCountInString(colours().ReplaceAllString(text, "")) }

// hiddenRunes is how many runes that take no column come before or at the given column of a line.
func hiddenRunes(line []rune, column int) (hidden int) {
	for i := 0; i < len(line); i++ {
		if n := len(colours().FindString(string(line[i:min(len(line), i+8)]))); n > 0 && line[i] == '\x1b' {
			hidden, i = hidden+n, i+n-1
		} else if column--; column < 0 {
			break
		}
	}
	return hidden
}
