package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// TestScanDocument: the page about scan names every client and every rule.
func TestScanDocument(t *testing.T) {
	page, err := os.ReadFile("../docs/scan.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range clients.Names() {
		if !strings.Contains(string(page), "`"+id+"`") {
			t.Errorf("no client %s", id)
		}
	}
	for rule := range launcher.Rules {
		if !strings.Contains(string(page), "| `"+rule+"` |") {
			t.Errorf("no rule %s", rule)
		}
	}
}
