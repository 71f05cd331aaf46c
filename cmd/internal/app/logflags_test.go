package app

import (
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/host"
)

// A person who does not accept the key of a log is not asked again by the same command, and is about another key.
func TestAskedOnceAboutLog(t *testing.T) {
	none, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	var said strings.Builder
	a := &App{Stdin: none, Stderr: &said, Bars: NewBars(none)}
	for _, key := range []string{"one", "one", "other", "one"} {
		answer, err := a.askAboutLog(t.Context(), "registry.example.com", key)
		if err != nil || answer != host.NoConsent {
			t.Errorf("%s: %v, %v", key, answer, err)
		}
	}
	if n := strings.Count(said.String(), "has a log"); n != 2 {
		t.Errorf("asked %d times:\n%s", n, said.String())
	}
}
