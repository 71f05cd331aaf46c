package process

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// Remote is a server that is reached by streamable HTTP.
type Remote struct {
	Name    string            // the server's name, for messages
	URL     string            // http or https
	Headers map[string]string // for every request to URL, and to nothing else
	RootCAs *x509.CertPool    // nil: the system's
	Stderr  io.Writer         // the guard's own lines; nil is its standard error
}

// Limits of a remote server.
const (
	MaxCalls      = 256              // requests that wait for their answers
	maxHTTPHeader = 64 << 10         // bytes
	postPatience  = 30 * time.Second // until a notification or an answer is taken
	endPatience   = 5 * time.Second  // until the end of a session is confirmed
)

// errGone ends a session: the server does not know it any more.
var errGone = errors.New("the server has ended the session")

// bridge is a connection to a Remote that looks like a process: it reads the lines that a client sends
// and writes those that the server answers.
type bridge struct {
	remote  Remote
	process *Process
	client  *http.Client
	in      *Source
	out     *Sink
	notes   *jsonrpc.Notes

	ctx           context.Context // of everything
	kill          context.CancelFunc
	calls         context.Context // of all but the end of the session
	cancelCalls   context.CancelFunc
	listening     context.Context // of requests that only wait for messages of the server
	stopListening context.CancelFunc

	running sync.WaitGroup // calls, and listen

	mu         sync.Mutex       // guards what follows
	code       int              // with which the process ends
	session    string           // Mcp-Session-Id
	version    string           // Mcp-Protocol-Version
	unanswered map[string]*post // requests without an answer, by jsonrpc.IDKey
	failure    error            // of the first request that the server did not answer
	bindings   jsonrpc.Map[[]binding]
}

// end stops the session, with that exit code unless something ended it before.
func (b *bridge) end(code int) {
	b.mu.Lock()
	b.code = cmp.Or(b.code, code)
	b.mu.Unlock()
	b.cancelCalls()
	b.in.Stop()
}

// signal does what s does to a process that does not catch it.
func (b *bridge) signal(s os.Signal) {
	code := 1
	if n, ok := s.(syscall.Signal); ok {
		code = 128 + int(n)
	}
	b.end(code)
	if s == os.Kill {
		b.out.Stop()
		b.kill()
	}
}

// endBecause notes err and ends the session.
func (b *bridge) endBecause(err error) {
	b.notes.Printf("the session is over: %s", err)
	b.end(1)
}

// writeLine writes a message of the server.
func (b *bridge) writeLine(line []byte) {
	if b.out.WriteAll(line) != nil {
		b.cancelCalls() // nobody reads the answers
	}
}

// post is one line of the client on its way to a remote server.
type post struct {
	method     string            // of the first message; "" for an answer
	name       string            // what it names, if headers repeat that
	version    string            // of the protocol, if the message has it
	params     map[string]string // further headers
	unanswered map[string][]byte // of its requests that have no answer yet, as written
	cancel     context.CancelFunc
}
