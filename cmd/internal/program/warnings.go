package program

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Warnings is a handler of log records that prints warnings for a person, in the form of the other
// messages: one line with the message, then its attributes.
type Warnings struct {
	Name   string // of the program
	Stderr io.Writer
	Clear  func() // what stands on the line, before one is printed; nil: nothing does
	// Said holds the warnings that were printed: the same one is not printed again, as several servers give cause to
	// it. Nil prints all.
	Said *sync.Map
}

// Enabled reports whether a record is a warning or worse.
func (w Warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints a record.
func (w Warnings) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: warning: %s", w.Name, surface.Escape(artifact.RedactURLs(r.Message)))
	r.Attrs(func(attr slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%s", attr.Key, formatValue(artifact.RedactURLs(attr.Value.String())))
		return true
	})
	if w.Said != nil {
		if _, again := w.Said.LoadOrStore(b.String(), true); again {
			return nil
		}
	}
	if w.Clear != nil {
		w.Clear()
	}
	_, err := fmt.Fprintln(Fold(w.Stderr), b.String())
	return err
}

// formatValue returns the value of an attribute for a line of text: quoted unless it is one plain
// word.
func formatValue(text string) string {
	switch {
	case surface.Escape(text) == text && text != "" && !strings.ContainsAny(text, " \"="):
		return text
	case len(surface.FindHidden(text)) > 0:
		return strconv.QuoteToASCII(text)
	}
	return strconv.Quote(text)
}

// WithAttrs is not used by the flows.
func (w Warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup is not used by the flows.
func (w Warnings) WithGroup(string) slog.Handler { return w }
