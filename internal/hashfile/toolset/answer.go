package toolset

import (
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// Answer is what a tool answers. What a model is to read stands in the text, whole: some clients pass on the structure
// alone where there is one, so that a structure repeats what matters of the text, or is left out.
type Answer struct {
	Text      string
	Write     func(io.Writer) error // writes more text after it, if that is large; may be nil
	Content   []mcp.Content         // in place of the text, for what is none; may be nil
	Structure any                   // for programs; may be nil
	// Repeat has the structure be an object whose member "content" is the text, for clients that read only structures.
	Repeat bool
}

// RefuseCall returns an error as the result of a tool: as text for models, and as structure for programs. There is no
// structure if the tool says what its structures are, since it speaks of successes: clients that check it would report
// the structure in place of the error.
func RefuseCall(t Tool, err error) *mcp.CallToolResult {
	var r *refusal.Refusal
	if !errors.As(err, &r) {
		r = refusal.New(refusal.IO, "%s", refusal.Show(err.Error()))
	}
	result := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: r.Text()}}}
	if t.OutputSchema == nil {
		result.StructuredContent = r
	}
	return result
}
