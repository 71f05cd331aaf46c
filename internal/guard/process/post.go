package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// send sends one line. What gets no answer is sent before the next line is read, so that the server gets
// it in order.
func (b *bridge) send(s *jsonrpc.Scanner, line []byte) {
	i := jsonrpc.SkipSpace(line, 0)
	if i == len(line) {
		return
	}
	body := bytes.Clone(bytes.TrimRight(line[i:], "\r\n \t"))
	p := &post{unanswered: map[string][]byte{}}
	messages, _, err := s.Messages(body, 0)
	if err != nil || body[0] != '[' && messages[0].Fault != nil {
		return
	}
	cancelled := ""
	for k := range messages {
		m := &messages[k].Message
		method, _ := jsonrpc.Text(m.Method.Of(body))
		if id, ok := jsonrpc.IDKey(m.ID.Of(body)); ok && m.Method.Present() {
			p.unanswered[id] = bytes.Clone(m.ID.Of(body))
		}
		if k == 0 {
			p.method = method
			cancelled = b.readRepeated(s, p, body, m)
		}
	}
	above := b.calls
	if p.method == "subscriptions/listen" {
		above = b.listening
	}
	ctx, cancel := context.WithCancel(above)
	p.cancel = cancel
	if len(p.unanswered) == 0 {
		defer cancel()
		b.notify(ctx, p, body, cancelled)
		return
	}
	switch {
	case !b.expect(p):
		cancel()
		b.refuse(p, errors.New("too many requests wait for an answer"))
	case p.method == "initialize": // later requests repeat what it is answered
		b.call(ctx, p, body)
	default:
		b.running.Go(func() { b.call(ctx, p, body) })
	}
}

// expect notes that p waits for answers, and reports whether that is not one too many.
func (b *bridge) expect(p *post) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.unanswered) >= MaxCalls {
		return false
	}
	for id := range p.unanswered {
		b.unanswered[id] = p
	}
	return true
}

// readRepeated reads what the headers of a message repeat. It returns the key of the id that the message
// cancels, if it does.
func (b *bridge) readRepeated(s *jsonrpc.Scanner, p *post, body []byte, m *jsonrpc.Message) (cancelled string) {
	if !m.Params.Present() {
		return ""
	}
	var at [4]jsonrpc.Span
	if _, err := s.Object(body, m.Params.Lo, postFields, at[:]); err != nil {
		return ""
	}
	if at[0].Present() && body[at[0].Lo] == '{' {
		var in [2]jsonrpc.Span
		if _, err := s.Object(body, at[0].Lo, metaFields, in[:]); err == nil {
			p.version, _ = jsonrpc.Text(in[0].Of(body))
		}
	}
	switch p.method {
	case "tools/call", "prompts/get":
		p.name, _ = jsonrpc.Text(at[1].Of(body))
	case "resources/read":
		p.name, _ = jsonrpc.Text(at[2].Of(body))
	case "notifications/cancelled":
		cancelled, _ = jsonrpc.IDKey(at[3].Of(body))
	}
	if p.method == "tools/call" && p.version >= FirstStateless {
		b.mu.Lock()
		bound, _ := b.bindings.Get(p.name)
		b.mu.Unlock()
		p.params = paramHeaders(bound, m.Params.Of(body))
	}
	return cancelled
}

// call sends a request and passes on what the server answers.
func (b *bridge) call(ctx context.Context, p *post, body []byte) {
	defer p.cancel()
	err := b.exchange(ctx, p, body)
	switch {
	case errors.Is(err, errGone):
	case b.calls.Err() != nil:
		err = errors.New("the session is over")
	case ctx.Err() != nil:
		err = nil // the client cancelled it
	}
	if err == nil && len(p.unanswered) > 0 && ctx.Err() == nil {
		err = errors.New("the server gave no answer")
	}
	b.mu.Lock() // before the client has the answer and sends the next request
	for id, other := range b.unanswered {
		if other == p {
			delete(b.unanswered, id)
		}
	}
	b.mu.Unlock()
	if err != nil {
		b.refuse(p, err)
	}
	if errors.Is(err, errGone) {
		b.endBecause(err)
	}
}

// exchange sends a request and passes on what the server answers. What is not answered then is an error.
func (b *bridge) exchange(ctx context.Context, p *post, body []byte) error {
	resp, err := b.do(ctx, http.MethodPost, body, p)
	if err != nil {
		return err
	}
	defer closeBody(resp)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return b.statusError(p, resp)
	}
	if p.method == "initialize" {
		if err := b.readSessionID(resp); err != nil {
			return err
		}
	}
	switch kind := mediaType(resp); kind {
	case "application/json":
		answer, err := readBody(resp.Body)
		if err != nil {
			return err
		}
		b.deliver(p, answer)
		return nil
	case "text/event-stream":
		return b.follow(ctx, p, resp)
	case "":
		return errors.New("the server gave no answer")
	default:
		return fmt.Errorf("the server's answer is of type %s, neither application/json nor text/event-stream",
			jsonrpc.ShowName(kind))
	}
}

// readSessionID reads the session's id from the answer to initialize.
func (b *bridge) readSessionID(resp *http.Response) error {
	id := resp.Header.Get("Mcp-Session-Id")
	if len(id) > jsonrpc.MaxID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the id of the session is not made of at most 1024 visible ASCII characters")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.session = id
	return nil
}

// notify sends what gets no answer. cancelled is the key of the id that it cancels, or "".
func (b *bridge) notify(ctx context.Context, p *post, body []byte, cancelled string) {
	within, cancel := context.WithTimeout(ctx, postPatience)
	defer cancel()
	resp, err := b.do(within, http.MethodPost, body, p)
	if err == nil {
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			err = b.statusError(p, resp)
		}
		closeBody(resp)
	}
	if cancelled != "" {
		b.mu.Lock()
		if other := b.unanswered[cancelled]; other != nil {
			other.cancel()
		}
		b.mu.Unlock()
	}
	switch {
	case errors.Is(err, errGone):
		b.endBecause(err)
	case err != nil && ctx.Err() == nil:
		b.notes.Printf("%s was not taken: %s", jsonrpc.ShowText(p.method), err)
	case err == nil && p.method == "notifications/initialized":
		b.running.Go(b.listen)
	}
}

// refuse answers with err the requests of p that have no answer yet.
func (b *bridge) refuse(p *post, err error) {
	b.mu.Lock()
	b.failure = cmp.Or(b.failure, err)
	b.mu.Unlock()
	for id, raw := range p.unanswered {
		delete(p.unanswered, id)
		b.writeLine(jsonrpc.OwnErrorLine(raw, jsonrpc.CodeInternal, err.Error()))
	}
}
