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
	byePatience   = 5 * time.Second  // until the end of a session is confirmed
)

// errGone ends a session: the server does not know it any more.
var errGone = errors.New("the server has ended the session")

// bridge is a connection to a Remote that looks like a process: it reads the lines that
// a client sends and writes those that the server answers.
type bridge struct {
	o      Remote
	p      *Process
	client *http.Client
	in     *pipe.Source
	out    *pipe.Sink
	notes  *notes.Notes

	ctx    context.Context // of everything
	kill   context.CancelFunc
	calls  context.Context // of all but the end of the session
	cancel context.CancelFunc
	idle   context.Context // of what only waits for the server to speak
	quiet  context.CancelFunc

	running sync.WaitGroup

	mu       sync.Mutex
	code     int
	session  string           // Mcp-Session-Id
	version  string           // Mcp-Protocol-Version
	waiting  map[string]*post // requests without an answer, by idKey
	bindings memory.Map[[]binding]
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
		o: r, in: pipe.NewSource(inR, true), out: pipe.NewSink(outW, true), notes: notes.New(r.Stderr, nil, r.Name),
		waiting: map[string]*post{},
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
	b.calls, b.cancel = context.WithCancel(b.ctx)
	b.idle, b.quiet = context.WithCancel(b.calls)
	b.p = &Process{name: r.Name, remote: b, Stdin: pipe.NewSink(inW, true), Stdout: pipe.NewSource(outR, true),
		exited: make(chan struct{})}
	go b.run()
	return b.p, nil
}

// run reads lines until the client closes its end or the session is over.
func (b *bridge) run() {
	lines := jsonrpc.NewLines(b.in, jsonrpc.LineLimit)
	var s jsonrpc.Scanner
	for {
		line, err := lines.Next()
		if err != nil {
			break // one that is too long was refused before
		}
		b.line(&s, line)
	}
	b.quiet()
	b.running.Wait()
	b.bye()
	b.kill()
	b.client.CloseIdleConnections()
	b.out.Close()
	b.in.Close()
	b.p.Stdout.Stop()
	b.mu.Lock()
	b.p.code = b.code
	b.mu.Unlock()
	close(b.p.exited)
}

// end stops the session; code is what it ends with unless something ended it before.
func (b *bridge) end(code int) {
	b.mu.Lock()
	if b.code == 0 {
		b.code = code
	}
	b.mu.Unlock()
	b.cancel()
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

// fail ends the session because of err.
func (b *bridge) fail(err error) {
	b.notes.Printf("the session is over: %s", err)
	b.end(1)
}

// bye tells the server that the session is over, if there is one.
func (b *bridge) bye() {
	b.mu.Lock()
	session, code := b.session, b.code
	b.mu.Unlock()
	if session == "" || code == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, byePatience)
	defer cancel()
	if resp, err := b.do(ctx, http.MethodDelete, nil, &post{}); err == nil {
		resp.Body.Close()
	}
}

// say writes a message of the server.
func (b *bridge) say(line []byte) {
	if b.out.WriteAll(line) != nil {
		b.cancel() // nobody listens
	}
}
