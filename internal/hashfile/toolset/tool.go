// Package toolset is what the dialects of the editing server have in common: a tool with its schema, the arguments of a
// call as a model sends them, and the answer to it.
//
// Schemas are of the subset that the providers of models take: one type for each property, enum for closed choices,
// and neither references nor alternatives. Arguments are understood where they have one meaning, as "3" or 3.0 for 3,
// and refused with the valid names and forms otherwise.
package toolset

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

// Tool is something that a model can call.
type Tool struct {
	mcp.Tool
	Writes bool // it changes files, and is not offered by a server that only reads

	// Call runs the tool with the arguments of a call, of at most limit bytes. Its errors are refusals.
	Call func(ctx context.Context, sc *roots.Scope, arguments json.RawMessage, limit int) (*Answer, error)
}

// New returns a tool whose arguments are the fields of In; see [Arguments] for their tags. Of the tool everything but
// the schema of its input is the caller's, and that too if it is set.
func New[In any](
	t mcp.Tool, writes bool, run func(context.Context, *roots.Scope, In) (*Answer, error),
) Tool {
	form := Arguments(reflect.TypeFor[In]())
	if t.InputSchema == nil {
		t.InputSchema = form.Schema()
	}
	return Tool{Tool: t, Writes: writes,
		Call: func(ctx context.Context, sc *roots.Scope, arguments json.RawMessage, limit int) (*Answer, error) {
			var in In
			if err := form.decode(arguments, reflect.ValueOf(&in).Elem(), limit); err != nil {
				return nil, refusal.New(hashline.Invalid, "%s: %s", t.Name, err.Error())
			}
			return run(ctx, sc, in)
		}}
}
