package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

// Page shows text to the person at the terminal, a screen at a time, until its end or until they go on without the
// rest, of which it says how much that is. Without a terminal it shows nothing.
func (a *App) Page(ctx context.Context, text string) error {
	if !a.HasTerminal() {
		return nil
	}
	columns, rows, err := term.GetSize(int(a.Stdin.Fd()))
	few := fewRows
	if err != nil || columns < 1 || rows < 4 {
		columns, rows, few = 80, 24, 0 // it may have less
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		lines = append(lines, program.FoldLine(line, columns)...)
	}
	needs := make([]int, len(lines))
	for i, line := range lines {
		needs[i] = max(1, (program.WidthOf(line)+columns-1)/columns)
	}
	stops := findStops(needs, rows-1, few) // the last row is for the question
	for i, line := range lines {
		if slices.Contains(stops, i) {
			answer, err := a.ReadAnswer(ctx, fmt.Sprintf("-- %d of %d lines; Enter shows more, q goes on "+
				"without them: ", i,
				len(lines)))
			if err != nil {
				return err
			}
			if answer == "q" {
				fmt.Fprintf(a.Stderr, "  not shown   %d of %d lines\n", len(lines)-i, len(lines))
				return nil
			}
		}
		fmt.Fprintln(a.Stderr, line)
	}
	return nil
}

// fewRows is how many rows of a terminal, at the end of a text, are shown without a question before them.
const fewRows = 2

// findStops returns the lines before which a screen of so many rows is full, unless no more than a few rows are left.
// needs has how many rows each line takes.
func findStops(needs []int, rows, few int) (stops []int) {
	left := 0
	for _, n := range needs {
		left += n
	}
	free := rows
	for i, n := range needs {
		if free < n && i > 0 && left > few {
			stops, free = append(stops, i), rows
		}
		free, left = free-n, left-n
	}
	return stops
}

// Show prints text to standard error; at a terminal its lines are broken between words.
func (a *App) Show(text string) error {
	_, err := program.Fold(a.Stderr).Write([]byte(strings.TrimSuffix(text, "\n") + "\n"))
	return err
}
