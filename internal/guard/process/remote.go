package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/memory"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
	"github.com/hallmark-mcp/hallmark/internal/guard/pipe"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
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
	in      *pipe.Source
	out     *pipe.Sink
	notes   *notes.Notes

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
	bindings   memory.Map[[]binding]
}

// Connect makes a Process that speaks to r. The subject must be permitted by adm for
// [policy.Execute] under its digest. Nothing is sent before the first line is written.
func Connect(ctx context.Context, adm policy.Admitted, subject Subject, r Remote) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := adm.Permits(subject.Name, subject.Digest, policy.Execute); err != nil {
		return nil, err
	}
	if _, err := http.NewRequest(http.MethodPost, r.URL, nil); err != nil {
		return nil, fmt.Errorf("%s: its URL cannot be requested", surface.Escape(r.Name))
	}
	if r.Stderr == nil {
		r.Stderr = os.Stderr
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	b := &bridge{
		remote: r, in: pipe.NewSource(inR, true), out: pipe.NewSink(outW, true),
		notes: notes.New(r.Stderr, nil, r.Name), unanswered: map[string]*post{},
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment,
				DialContext: (&net.Dialer{Timeout: 30 * time.Second,
					KeepAlive: 30 * time.Second}).DialContext,
				TLSClientConfig:        &tls.Config{RootCAs: r.RootCAs, MinVersion: tls.VersionTLS12},
				ForceAttemptHTTP2:      true,
				DisableCompression:     true,
				TLSHandshakeTimeout:    15 * time.Second,
				MaxResponseHeaderBytes: maxHTTPHeader,
				MaxIdleConnsPerHost:    8,
				IdleConnTimeout:        90 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	b.ctx, b.kill = context.WithCancel(context.Background())
	b.calls, b.cancelCalls = context.WithCancel(b.ctx)
	b.listening, b.stopListening = context.WithCancel(b.calls)
	b.process = &Process{name: r.Name, remote: b, Stdin: pipe.NewSink(inW, true), Stdout: pipe.NewSource(outR, true),
		exited: make(chan struct{})}
	go b.run()
	return b.process, nil
}

// run reads lines until the client closes its end or the session is over.
func (b *bridge) run() {
	lines := jsonrpc.NewLines(b.in, jsonrpc.LineLimit)
	var s jsonrpc.Scanner
	for {
		line, err := lines.Next()
		if err != nil {
			break // a line that is too long was refused by the relay
		}
		b.send(&s, line)
	}
	b.stopListening()
	b.running.Wait()
	b.endSession()
	b.kill()
	b.client.CloseIdleConnections()
	b.out.Close()
	b.in.Close()
	b.process.Stdout.Stop()
	b.mu.Lock()
	b.process.code = b.code
	b.mu.Unlock()
	close(b.process.exited)
}

// end stops the session, with that exit code unless something ended it before.
func (b *bridge) end(code int) {
	b.mu.Lock()
	if b.code == 0 {
		b.code = code
	}
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

// endSession tells the server that the session is over, if there is one.
func (b *bridge) endSession() {
	b.mu.Lock()
	session, code := b.session, b.code
	b.mu.Unlock()
	if session == "" || code == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, endPatience)
	defer cancel()
	if resp, err := b.do(ctx, http.MethodDelete, nil, &post{}); err == nil {
		resp.Body.Close()
	}
}

// writeLine writes a message of the server.
func (b *bridge) writeLine(line []byte) {
	if b.out.WriteAll(line) != nil {
		b.cancelCalls() // nobody reads the answers
	}
}
