package scan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// A checkout whose clients' files are larger than what is read says so, and where it stopped;
// a file that is larger than one of a checkout's may be is refused.
func TestScanBounded(t *testing.T) {
	b := newScanBench(t)
	b.o.Project = true
	large := `{"mcpServers": {}}` + strings.Repeat(" ", 4<<20)
	b.file("src/project/.cursor/mcp.json", large, 0o644)
	found, err := Scan(t.Context(), b.h, b.o)
	if err != nil || evidence.ClassOf(found.Verdict.Err()) != evidence.Validation || len(found.Rules) != 1 ||
		!strings.Contains(found.Rules[0].Evidence.Reason, "larger than 4194304 bytes") {
		t.Errorf("%+v, %v", found, err)
	}
	for i := range maxScanned/(4<<20) + 2 {
		b.file(fmt.Sprintf("src/project/%02d/.cursor/mcp.json", i), large[:4<<20], 0o644)
	}
	b.file("src/project/zz/.cursor/mcp.json", `{"mcpServers": {"evil": {"command": "./x"}}}`, 0o644)
	found, err = Scan(t.Context(), b.h, b.o)
	if err != nil || evidence.ClassOf(found.Verdict.Err()) != evidence.Validation || len(found.Servers) != 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	if last := found.Rules[len(found.Rules)-1].Evidence; !strings.Contains(last.Reason,
		"is not read, nor is any file after it") {
		t.Errorf("%+v", last)
	}
}
