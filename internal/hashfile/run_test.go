package hashfile

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// A server that is interrupted says so to its caller, and logs nothing a person would be
// warned with.
func TestInterrupted(t *testing.T) {
	var logged strings.Builder
	s, err := New(Config{
		Roots: []string{t.TempDir()}, Locks: private(t),
		Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, client := io.Pipe()
	answers, out := io.Pipe()
	defer answers.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, in, out) }()
	go io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if n, err := answers.Read(make([]byte, 1<<10)); n == 0 {
		t.Fatal(err)
	}
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if logged.Len() > 0 {
		t.Errorf("it logged %s", logged.String())
	}
}
