package hashfile

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// answer is the result of a tool: a text for models, and a structure for programs.
type answer struct {
	text      string
	write     func(io.Writer) error // writes more text after it, if that is large; may be nil
	structure any
}

// failureResult returns an error as a tool's result: as text for models, and as structure for programs.
func failureResult(err error) *mcp.CallToolResult {
	var r *refusal.Refusal
	if !errors.As(err, &r) {
		r = refusal.New(refusal.IO, "%s", refusal.Show(err.Error()))
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: r.Text()}},
		StructuredContent: r}
}

// lineCount returns the member of an answer's header that says how many lines a file has.
func lineCount(n int) string { return "total_lines=" + strconv.Itoa(n) }

// fileFacts is the structure of a file that was read or written.
type fileFacts struct {
	TotalLines    int           `json:"total_lines"`
	FileHash      digest.Digest `json:"file_hash"`
	LineEnding    string        `json:"line_ending"`
	FinalNewline  bool          `json:"final_newline"`
	Encoding      string        `json:"encoding"`
	Truncated     bool          `json:"truncated"`
	StartLine     int           `json:"start_line,omitempty"`
	EndLine       int           `json:"end_line,omitempty"`
	NextStartLine int           `json:"next_start_line,omitempty"`
	Notices       []string      `json:"notices,omitempty"` // what is not as it was besides the content
}

// noticeLines returns notices as the text of an answer shows them.
func noticeLines(notices []string) string {
	var text strings.Builder
	for _, n := range notices {
		text.WriteString("[" + n + "]\n")
	}
	return text.String()
}
