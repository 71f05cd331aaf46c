package app

import (
	"context"
	"fmt"
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
	if err != nil || columns < 1 || rows < 4 {
		columns, rows = 80, 24
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		lines = append(lines, program.FoldLine(line, columns)...)
	}
	free := rows - 1 // the last is for the question
	for i, line := range lines {
		needs := max(1, (program.WidthOf(line)+columns-1)/columns)
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
	_, err := program.Fold(a.Stderr).Write([]byte(strings.TrimSuffix(text, "\n") + "\n"))
	return err
}
