package app

import (
	"context"
	"fmt"
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
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	free := rows - 1 // the last is for the question
	for i, line := range lines {
		needs := max(1, (utf8.RuneCountInString(line)+columns-1)/columns)
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
