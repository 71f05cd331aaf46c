package app

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Page shows text to the person at the terminal, a screen at a time, until its end or until they go on without the
// rest, of which it says how much that is. Without a terminal it shows nothing.
func (a *App) Page(ctx context.Context, text string) error {
	if !a.HasTerminal() {
		return nil
	}
	columns, rows, err := term.GetSize(int(a.Stdin.Fd()))
	if err != nil || columns < 1 || rows < 4 {
		columns, rows = 80, 24
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		lines = append(lines, wrapLine(line, columns)...)
	}
	free := rows - 1 // the last is for the question
	for i, line := range lines {
		needs := max(1, (widthOf(line)+columns-1)/columns)
		if free < needs && i > 0 {
			answer, err := a.ReadAnswer(ctx, fmt.Sprintf("-- %d of %d lines; Enter shows more, q goes on without them: ", i,
				len(lines)))
			if err != nil {
				return err
			}
			if answer == "q" {
				fmt.Fprintf(a.Stderr, "  not shown   %d of %d lines\n", len(lines)-i, len(lines))
				return nil
			}
			free = rows - 1
		}
		fmt.Fprintln(a.Stderr, line)
		free -= needs
	}
	return nil
}

// Show prints text to standard error; at a terminal its lines are broken between words.
func (a *App) Show(text string) error {
	columns := 0
	if a.HasTerminal() {
		columns, _, _ = term.GetSize(int(a.Stdin.Fd()))
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		lines := []string{line}
		if columns > 0 {
			lines = wrapLine(line, columns)
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(a.Stderr, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// wrapLine breaks a line between words so that it fits into columns. What follows stands below the line's value, if it
// is a label, two blanks and a value, else below its beginning. A word that is longer stays whole, for the terminal to
// break.
func wrapLine(line string, columns int) (out []string) {
	begin := len(line) - len(strings.TrimLeft(line, " "))
	value := begin
	if label, rest, ok := strings.Cut(line[begin:], "  "); ok {
		value += len(label) + 2 + len(rest) - len(strings.TrimLeft(rest, " "))
	}
	for widthOf(line) > columns {
		runes := []rune(line)
		at := columns + hiddenRunes(runes, columns)
		for at > 0 && runes[at] != ' ' {
			at--
		}
		rest := strings.TrimLeft(string(runes[at:]), " ")
		word, _, _ := strings.Cut(rest, " ")
		indent := begin
		if value < columns/2 && value+widthOf(word) <= columns {
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
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// widthOf is how many columns a text takes.
func widthOf(text string) int { return utf8.RuneCountInString(colours.ReplaceAllString(text, "")) }

// hiddenRunes is how many runes that take no column come before or at the given column of a line.
func hiddenRunes(line []rune, column int) (hidden int) {
	for i := 0; i < len(line); i++ {
		if n := len(colours.FindString(string(line[i:min(len(line), i+8)]))); n > 0 && line[i] == '\x1b' {
			hidden, i = hidden+n, i+n-1
		} else if column--; column < 0 {
			break
		}
	}
	return hidden
}
