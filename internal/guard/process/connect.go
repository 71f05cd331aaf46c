package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

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
		return nil, fmt.Errorf("make a pipe to the bridge: %w", err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, fmt.Errorf("make a pipe from the bridge: %w", err)
	}
	b := &bridge{
		remote: r, in: NewSource(inR, true), out: NewSink(outW, true),
		notes: jsonrpc.New(r.Stderr, nil, r.Name), unanswered: map[string]*post{},
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
	b.process = &Process{name: r.Name, remote: b, Stdin: NewSink(inW, true), Stdout: NewSource(outR, true),
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
