// Package stdio is the side of MCP that the editing server speaks: messages of JSON-RPC, one a line, of a server that
// has tools and nothing else, in all versions of the protocol up to 2026-07-28.
//
// A line that cannot be read is answered with an error, and the session goes on; only the end of the stream ends it. So
// is what a client may mean otherwise than it is read: members named twice, numbers that are no whole ones as ids. A
// message over the limit is skipped without being held.
//
// Tools that write run one after the other, in the order in which their calls came; a call of a tool that reads begins
// after the writing calls that came before it have ended. So a client that does not wait for answers finds what it
// wrote. Reading calls run at the same time, up to a bound, and the others wait in order. A call that the client
// cancels is not answered, and if it waited it never runs. A large answer is encoded while it is written.
//
// When the input ends, the calls that came before have Grace to end; then they are cancelled. Their answers are written
// to the end, as long as the client reads them.
package stdio

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Limits of a session.
const (
	Grace       = 600 * time.Millisecond // for calls at work when the input ends
	readTime    = 2 * time.Second        // for the client to read some of an answer after that
	unwind      = 200 * time.Millisecond // for calls to notice that they are cancelled
	writeTime   = 5 * time.Second        // likewise for calls of tools that write, which are not left half done
	maxCalls    = 16                     // calls that are at work, or whose answers wait to be written
	maxWaiting  = 64 << 20               // bytes of calls that wait, and of other answers
	maxFaults   = 16 << 20               // bytes of errors that wait to be written beside those
	maxBatch    = 128 << 20              // bytes of the answers of batches
	maxMessages = 10_000                 // of a batch; each has an answer, and may have two bytes
	maxAsked    = 16                     // requests of the server that the client may still answer
)

// Server is what a session serves.
type Server struct {
	Name, Title, Version string
	Instructions         string
	Tools                []Tool // in the order of a listing
	MaxMessage           int    // bytes of a message of the client

	Call         func(context.Context, *Call) *Result
	Unknown      func(tool string) string // what a call of a tool that is not there is told
	RootsChanged func()                   // what the client notifies of; it must not wait
}

// Tool is a tool as a client lists it.
type Tool struct {
	Annotations map[string]bool `json:"annotations,omitempty"`
	Description string          `json:"description"`
	InputSchema any             `json:"inputSchema"`
	Name        string          `json:"name"`
	Writes      bool            `json:"-"`
}

// Call is a call of a tool.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	Roots     *Roots // the client's capability; nil if it has none

	// Stateless says that the client takes no requests: a result asks for input, and the client repeats the call with
	// it.
	Stateless bool
	Inputs    map[string]json.RawMessage

	session *session
}

// Roots is a client's capability of roots.
type Roots struct {
	ListChanged bool `json:"listChanged"`
}

// Result is what a call is answered with.
type Result struct {
	Text      string
	Write     func(io.Writer) error // writes more text, in whole code points, when the answer is written; may be nil
	Structure any                   // may be nil
	IsError   bool
	Ask       map[string]any // requests to a stateless client in place of an answer, by names for them
}

// Serve serves the client behind in and out, and returns when the session has ended: nil if the client closed in, the
// error of ctx if that ended, or why in or out failed. It closes both. Calls that do not heed their cancellation are
// left behind; those that write are waited for longer.
func Serve(ctx context.Context, server *Server, in io.ReadCloser, out io.WriteCloser) error {
	widenPipe(out)
	s := newSession(server)
	go s.receive(newLines(in, server.MaxMessage))
	go s.writeAnswers(out)
	defer context.AfterFunc(ctx, s.interrupt)()
	<-s.over
	s.stop()
	err := s.wait()
	in.Close()
	out.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("serve the client: %w", err)
	}
	return nil
}
