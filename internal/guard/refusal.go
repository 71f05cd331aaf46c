package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Bounds of the answer that tells a client why its server does not start.
const (
	refusalWait  = 2 * time.Second // for the client's first request, which clients send at once
	refusalLine  = 1 << 20         // bytes of a line of the client
	refusalText  = 2000            // bytes of the answer's message
	refusalLines = 10              // that are read before the request
)

// AnswerRefusal tells the client why its server does not start, as the answer to its first request: clients show that,
// and hide what is written to standard error. It waits two seconds for that request.
func AnswerRefusal(ctx context.Context, in io.Reader, out io.Writer, name string, why error) {
	if in == nil || out == nil {
		return
	}
	ids := make(chan []byte, 1)
	go func() { // left behind if nothing comes, until the process ends
		defer close(ids)
		r := bufio.NewReader(io.LimitReader(in, refusalLine))
		for range refusalLines {
			line, err := r.ReadBytes('\n')
			var s jsonrpc.Scanner
			if m, fault := s.Message(line, jsonrpc.SkipSpace(line, 0)); fault == nil && m.Method.Present() &&
				m.ID.Present() {
				ids <- m.ID.Of(line)
				return
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case id, ok := <-ids:
		if ok {
			_, _ = out.Write(jsonrpc.OwnErrorLine(id, jsonrpc.CodeInternal, refusalMessage(name, why)))
		}
	case <-ctx.Done():
	case <-time.After(refusalWait):
	}
}

// refusalMessage says on a few lines why a server does not start.
func refusalMessage(name string, why error) string {
	lines := strings.Split(artifact.RedactURLs(why.Error()), "\n")
	for i, line := range lines {
		lines[i] = surface.Escape(line)
	}
	text := fmt.Sprintf("did not start %s: %s", surface.Escape(name), strings.Join(lines, "\n"))
	if len(text) > refusalText {
		text = strings.ToValidUTF8(text[:refusalText], "") + "…"
	}
	return text
}
