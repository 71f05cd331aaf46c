package launch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/launch"
)

// TestReviewReadsOnce: an interpreter that starts several servers is read once where they are reviewed, and approved,
// together.
func TestReviewReadsOnce(t *testing.T) {
	const size = 32 << 20
	bin, dir := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(bin, "node"), "")
	if err := os.Truncate(filepath.Join(bin, "node"), size); err != nil {
		t.Fatal(err)
	}
	var config strings.Builder
	config.WriteString("manifest_version = 1\n")
	for _, name := range []string{"one", "two", "three", "four"} {
		fmt.Fprintf(&config, "[providers.mcp.%s]\ncommand = \"node\"\narguments = [\"%[1]s.js\"]\nunlocked = true\n", name)
		write(filepath.Join(dir, name+".js"), name)
	}
	write(filepath.Join(dir, "hallmark.toml"), config.String())
	h := hosttest.New(t)
	h.Getenv = func(name string) string { return map[string]string{"PATH": bin}[name] }
	for _, c := range []struct {
		waiting int
		consent host.Consent
	}{{4, host.InformedConsent}, {0, host.NoConsent}} {
		h.Kept = new(host.Kept) // another command
		before := guardtest.BytesRead(t)
		found, err := launch.ReviewWaiting(t.Context(), h, dir, launch.WaitingOptions{
			Confirm: func(*launch.Waiting) (host.Consent, error) { return c.consent, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if read := guardtest.BytesRead(t) - before; len(found.Servers) != c.waiting || read < size || read > 2*size {
			t.Errorf("%d servers wait, and %d bytes were read for an interpreter of %d", len(found.Servers), read, size)
		}
	}
}
