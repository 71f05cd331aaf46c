package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// buffers hold answers that are being written. One that a large answer made
// larger than keptBuffer is left to the collector.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const keptBuffer = 512 << 10

// answerRendered answers JSON that render appends to an empty buffer, as it is: the library
// would encode a value, and thereby check and copy JSON that is in it.
func answerRendered(render func([]byte) ([]byte, error)) (*huma.StreamResponse, error) {
	buffer := buffers.Get().(*[]byte)
	body, err := render((*buffer)[:0])
	free := func() {
		if cap(body) <= keptBuffer {
			*buffer = body
			buffers.Put(buffer)
		}
	}
	if err != nil {
		free()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "application/json")
		ctx.SetHeader("Content-Length", strconv.Itoa(len(body)))
		ctx.BodyWriter().Write(body) // an error here is the client's connection
		free()
	}}, nil
}

// answers documents what op answers, where the library cannot tell.
func answers[T any](api huma.API, op huma.Operation) huma.Operation {
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
	op.Responses = map[string]*huma.Response{strconv.Itoa(http.StatusOK): {
		Description: http.StatusText(http.StatusOK),
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}}
	return op
}

// route registers one operation, whose errors pass through failure.
func route[In, Out any](s *Server, api huma.API, op huma.Operation, handle func(context.Context, *In) (*Out, error)) {
	huma.Register(api, op, func(ctx context.Context, in *In) (*Out, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.Failure(ctx, err)
		}
		return out, nil
	})
}
