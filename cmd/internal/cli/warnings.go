package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// warnings prints what the flows log for a person, in the form of the other messages.
type warnings struct{ a *app }

// Enabled leaves out what is no warning.
func (w warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints one line: the message, then its attributes.
func (w warnings) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: warning: %s", w.a.name, surface.Escape(r.Message))
	r.Attrs(func(attr slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%s", attr.Key, surface.Escape(attr.Value.String()))
		return true
	})
	w.a.bars.stop()
	_, err := fmt.Fprintln(w.a.stderr, b.String())
	return err
}

// WithAttrs is not used by the flows.
func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup is not used by the flows.
func (w warnings) WithGroup(string) slog.Handler { return w }
