package hashfile

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

// tool is something that a model can call.
//
// Schemas are of the subset that the providers of models take: one type for each property, enum for closed choices,
// and neither references nor alternatives. Arguments are understood where they have one meaning, as "3" or 3.0 for 3,
// and refused with the valid names and forms otherwise.
type tool struct {
	stdio.Tool // one that writes changes files, and is not offered by a server that only reads

	// call runs the tool with the arguments of a call, of at most limit bytes. Its errors are refusals.
	call func(ctx context.Context, sc *place.Scope, arguments json.RawMessage, limit int) (*stdio.Result, error)
}

// newTool returns a tool whose arguments are the fields of In; see [formOf] for their tags.
func newTool[In any](
	name, about string, writes bool, run func(context.Context, *place.Scope, In) (*stdio.Result, error),
) tool {
	form := formOf(reflect.TypeFor[In]())
	t := stdio.Tool{Name: name, Description: about, InputSchema: form.schema(), Writes: writes}
	if !writes { // of others a client assumes what it does of a tool without annotations
		t.Annotations = map[string]bool{"readOnlyHint": true}
	}
	return tool{Tool: t,
		call: func(ctx context.Context, sc *place.Scope, arguments json.RawMessage, limit int) (*stdio.Result, error) {
			var in In
			if err := form.decode(arguments, reflect.ValueOf(&in).Elem(), limit); err != nil {
				return nil, place.Refuse(hashline.Invalid, "%s: %s", name, err.Error())
			}
			return run(ctx, sc, in)
		}}
}

// refuseCall returns an error as the result of a tool: as text for models, and as structure for programs.
func refuseCall(err error) *stdio.Result {
	var r *place.Refusal
	if !errors.As(err, &r) {
		r = place.Refuse(place.IO, "%s", place.Show(err.Error()))
	}
	return &stdio.Result{IsError: true, Structure: r, Text: r.Text()}
}
