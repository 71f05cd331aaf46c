package hashfile

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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
	must(t, err)
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

// TestLeftoversSaid: a server that starts says what a killed one left, where it may write. Where an allowed directory
// holds that of the locks, as a home does, what was left can be read and moved back, as any file.
func TestLeftoversSaid(t *testing.T) {
	d := dir(t)
	locks := filepath.Join(d, "state", "hashfile")
	must(t, os.MkdirAll(locks, 0o700))
	left := write(t, locks, "00.ABCDEFGHIJKL.main.go", "theirs\n")
	for _, readOnly := range []bool{true, false} {
		var logged strings.Builder
		s, err := New(Config{Roots: []string{d}, Locks: locks, ReadOnly: readOnly,
			Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		must(t, err)
		s.Close()
		if got := logged.String(); readOnly == strings.Contains(got, filepath.Base(left)) || strings.Count(got, "\n") > 1 {
			t.Errorf("read-only %t: it logged %q", readOnly, got)
		}
	}
	p := serveAs(t, Config{Roots: []string{d}, Locks: locks})
	back := filepath.Join(d, "main.go")
	allOK(p.move(left, back), p.write(back, "ours\n", sum([]byte("theirs\n")).String()))
	if got := content(t, back); got != "ours\n" {
		t.Errorf("%q", got)
	}
}
