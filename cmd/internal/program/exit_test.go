package program

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// The pages that say which class has which exit code say what is so.
func TestExitCodesDocument(t *testing.T) {
	for name, line := range map[string]string{"docs/commands.md": "\n| %[2]d | %[1]s | ", "docs/policy.md": "\n| %s | %d | "} {
		page, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for class, code := range exitCodes {
			if want := fmt.Sprintf(line, class, code); class != evidence.OK && !strings.Contains(string(page), want) {
				t.Errorf("%s does not have the line %q", name, want)
			}
		}
	}
}
