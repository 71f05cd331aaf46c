package launch_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/launch"
)

// TestRunEndsWithContext: a signal that comes while the server is being started, before the guard listens for signals,
// ends the context alone. It ends the server, which here ignores that it is asked to.
func TestRunEndsWithContext(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	const config = "manifest_version = 1\n[providers.mcp.deaf]\ncommand = \"sh\"\narguments = [\"deaf.sh\"]\nunlocked = true\n"
	for name, text := range map[string]string{
		"hallmark.toml": config,
		"deaf.sh":       "trap '' TERM\necho $$ >" + started + "\nwhile true; do sleep 1; done\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdin, fromClient, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer fromClient.Close()
	h := hosttest.New(t)
	h.Getenv = func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := launch.Run(ctx, h, dir, "deaf", launch.RunOptions{
			Stdin: stdin, Stdout: io.Discard, Stderr: io.Discard, Unlocked: true,
			Ask: func(*launch.Reviewed) (host.Consent, error) { return host.InformedConsent, nil },
		})
		ended <- err
	}()
	hang.Until(t, "the server runs", func() bool {
		text, err := os.ReadFile(started)
		return err == nil && strings.HasSuffix(string(text), "\n")
	})
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(hang.Long):
		t.Fatal("it does not end")
	}
	pid, _ := os.ReadFile(started)
	hang.Until(t, "the server has ended", func() bool {
		_, err := os.Stat(filepath.Join("/proc", strings.TrimSpace(string(pid))))
		return err != nil
	})
}
