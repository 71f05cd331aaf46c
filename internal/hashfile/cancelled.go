package hashfile

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// noteCancelled tells the texts on their way to the client which calls it cancelled.
func (s *Server) noteCancelled(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.CancelledParams); ok && p != nil {
			s.texts.Cancel(p.RequestID)
		}
		return next(ctx, method, req)
	}
}
