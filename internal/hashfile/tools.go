package hashfile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/hfmcp"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/native"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/reference"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// dialect is a set of tools over the engine.
type dialect struct {
	instructions string
	tools        func(*engine.Engine, Config) []toolset.Tool
}

// dialects are the sets of tools that a server can offer, by the name of the server whose clients know them; "" is our
// own.
var dialects = map[string]dialect{
	"": {native.Instructions, func(e *engine.Engine, c Config) []toolset.Tool {
		return native.Tools(e, native.Limits{Lines: c.ReadLines, Bytes: c.ReadBytes, Tokens: c.ReadTokens})
	}},
	"hashfile-mcp": {hfmcp.Instructions, func(e *engine.Engine, _ Config) []toolset.Tool { return hfmcp.Tools(e) }},
	"reference":    {reference.Instructions, func(e *engine.Engine, _ Config) []toolset.Tool { return reference.Tools(e) }},
}

// addTools offers the tools of a dialect.
func (s *Server) addTools(d dialect) {
	for _, t := range d.tools(s.engine, s.c) {
		if t.Writes && s.c.ReadOnly {
			continue
		}
		s.reads[t.Name] = !t.Writes
		s.server.AddTool(&t.Tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, t, req), nil
		})
	}
}

// refuseUnknown answers the call of a tool that is not there with the names of those that are.
func (s *Server) refuseUnknown(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && p != nil {
			if _, known := s.reads[p.Name]; !known {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(
					"%s is none of the tools, which are %s", refusal.Show(p.Name),
					strings.Join(slices.Sorted(maps.Keys(s.reads)), ", "))}
			}
		}
		return next(ctx, method, req)
	}
}

// call answers a call of a tool: with a result, a refusal, or the question for the client's roots.
func (s *Server) call(ctx context.Context, t toolset.Tool, req *mcp.CallToolRequest) *mcp.CallToolResult {
	sc, ask, err := s.roots.Scope(ctx, req)
	if err != nil {
		return toolset.RefuseCall(t, err)
	}
	if ask != nil {
		return &mcp.CallToolResult{InputRequests: ask}
	}
	defer sc.Close()
	a, err := t.Call(ctx, sc, json.RawMessage(req.Params.Arguments), s.c.MaxRequest)
	if err != nil {
		return toolset.RefuseCall(t, err)
	}
	result := &mcp.CallToolResult{Content: a.Content, StructuredContent: a.Structure}
	if a.Content == nil {
		text := s.send(ctx, a)
		result.Content = []mcp.Content{&mcp.TextContent{Text: text}}
		if a.Repeat {
			result.StructuredContent = map[string]string{"content": text}
		}
	}
	return result
}

// send returns the text of an answer or, if it is large, what stands for it until it is written to the client.
func (s *Server) send(ctx context.Context, a *toolset.Answer) string {
	switch {
	case a.Write != nil:
		return s.texts.Put(ctx, func(w io.Writer) error {
			if _, err := io.WriteString(w, a.Text); err != nil {
				return err
			}
			return a.Write(w)
		})
	case len(a.Text) > texts.Large:
		return s.texts.Put(ctx, func(w io.Writer) error { return texts.WriteInPieces(w, a.Text) })
	}
	return a.Text
}
