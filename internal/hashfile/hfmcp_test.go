package hashfile

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestRustServer compares answers with those of hashfile-mcp in Rust itself, where HALLMARK_HASHFILE_MCP names its
// program. It is in no registry that a test could ask; what it says is written down in the tests above.
func TestRustServer(t *testing.T) {
	program := os.Getenv("HALLMARK_HASHFILE_MCP")
	if program == "" {
		return
	}
	compareRust(t, program)
}

// textOf returns the text of an answer, or "refused".
func textOf(t *testing.T, s *mcp.ClientSession, tool string, args any) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil || r.IsError || len(r.Content) != 1 {
		return "refused"
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok || strings.HasPrefix(text.Text, "Error: ") {
		return "refused"
	}
	return text.Text
}

// jsonOf returns arguments as JSON with a directory in place of "@".
func jsonOf(t *testing.T, args arguments, root string) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(strings.ReplaceAll(string(text), "@", root))
}
