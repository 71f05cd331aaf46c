package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/internal/host"
)

// Ask asks the person at the terminal. Only yes is consent; without a terminal there is none.
func (a *App) Ask(ctx context.Context, question string) (host.Consent, error) {
	if !term.IsTerminal(int(a.Stdin.Fd())) {
		return host.NoConsent, nil
	}
	answer, err := a.ReadAnswer(ctx, "\n"+question+" [y/N] ")
	if err == nil && (answer == "y" || answer == "yes") {
		return host.InformedConsent, nil
	}
	return host.NoConsent, err
}

// ReadAnswer returns the answer of the person at the terminal in lower case; "" at the end of the
// input.
func (a *App) ReadAnswer(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.Stderr, question)
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() { // left behind by Ctrl-C, which ends the process
		text, err := bufio.NewReader(a.Stdin).ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Stderr)
		return "", ctx.Err()
	case l := <-read:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", l.err
		}
		return strings.ToLower(strings.TrimSpace(l.text)), nil
	}
}
