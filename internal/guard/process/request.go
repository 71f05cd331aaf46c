package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// FirstStateless is the first protocol version without initialize.
const FirstStateless = "2026-07-28"

// do sends a request to the server's URL, with the headers that p repeats. The body of the response must be
// closed.
func (b *bridge) do(ctx context.Context, method string, body []byte, p *post) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.remote.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	b.setHeaders(req.Header, method, p)
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		closeBody(resp)
		return nil, fmt.Errorf("the server's answer has the encoding %s, which was not asked for", jsonrpc.ShowName(e))
	}
	return resp, nil
}

// setHeaders sets the headers of a request: those that are declared, those of its method, and those that p repeats.
func (b *bridge) setHeaders(h http.Header, method string, p *post) {
	for name, value := range b.remote.Headers {
		h.Set(name, value)
	}
	h.Set("User-Agent", "hallmark")
	h.Set("Accept-Encoding", "identity")
	switch method {
	case http.MethodPost:
		h.Set("Content-Type", "application/json")
		h.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		h.Set("Accept", "text/event-stream")
	}
	b.mu.Lock()
	if p.version != "" && b.session == "" {
		b.version = p.version
	}
	session, version := b.session, b.version
	b.mu.Unlock()
	if p.version != "" {
		version = p.version
	}
	if session != "" && p.method != "initialize" {
		h.Set("Mcp-Session-Id", session)
	}
	if version != "" && p.method != "initialize" {
		h.Set("Mcp-Protocol-Version", headerValue(version))
	}
	if version >= FirstStateless && p.method != "" && p.method != "initialize" {
		h.Set("Mcp-Method", headerValue(p.method))
		if p.name != "" {
			h.Set("Mcp-Name", headerValue(p.name))
		}
	}
	for name, value := range p.params {
		h.Set(name, value)
	}
}

// withoutURL is an error of the HTTP client without the URL, which is long and known.
func withoutURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return fmt.Errorf("the server cannot be reached; the connection said: %s", jsonrpc.Quote(err.Error()))
}

// closeBody ends a response. It reads a short rest, so that the connection can be used again.
func closeBody(resp *http.Response) {
	if resp.ContentLength >= 0 && resp.ContentLength < 4<<10 {
		io.CopyN(io.Discard, resp.Body, 4<<10)
	}
	resp.Body.Close()
}

// mediaType is the type of a response, without parameters.
func mediaType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return resp.Header.Get("Content-Type")
	}
	return kind
}
