package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
)

// ErrLogin is of a server that wants to know who asks.
var ErrLogin = errors.New("the server answered")

// statusError is the error of a response that is no success. A JSON-RPC answer to p in it is passed on,
// and is no error.
func (b *bridge) statusError(p *post, resp *http.Response) error {
	code := resp.StatusCode
	if code >= 300 && code < 400 {
		return fmt.Errorf("the server answered %d: redirects are refused, as they"+
			" would take what is sent elsewhere; write the right url", code)
	}
	why := ""
	if mediaType(resp) == "application/json" {
		if answer, err := readBody(resp.Body); err == nil {
			if b.isAnswer(p, answer) {
				b.deliver(p, answer)
				return nil
			}
			var said struct{ Error struct{ Message string } }
			if json.Unmarshal(answer, &said) == nil && said.Error.Message != "" {
				why = "; " + jsonrpc.ShowReason(said.Error.Message)
			}
		}
	}
	b.mu.Lock()
	known := b.session != ""
	b.mu.Unlock()
	switch {
	case code == http.StatusNotFound && known && p.method != "initialize":
		return errGone
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%w %d %s%s; see 'headers' of this server in hallmark.toml", ErrLogin, code,
			http.StatusText(code), why)
	}
	return fmt.Errorf("the server answered %d %s%s", code, http.StatusText(code), why)
}

// isAnswer reports whether data is an answer to the only request of p.
func (b *bridge) isAnswer(p *post, data []byte) bool {
	var s jsonrpc.Scanner
	m, err := s.Message(data, jsonrpc.SkipSpace(data, 0))
	if err != nil || m.Method.Present() || len(p.unanswered) != 1 {
		return false
	}
	id, _ := jsonrpc.IDKey(m.ID.Of(data))
	return p.unanswered[id] != nil
}

// readBody reads the body of a response, which must not be larger than a line.
func readBody(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, jsonrpc.LineLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the server's answer broke off; the connection said: %s", jsonrpc.Quote(err.Error()))
	case len(data) > jsonrpc.LineLimit:
		return nil, jsonrpc.ErrLong
	}
	return data, nil
}

// deliver passes on one message, or one batch, of the server as a line. Line ends within it are white
// space, because JSON has none inside strings.
func (b *bridge) deliver(p *post, data []byte) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return
	}
	line := append(make([]byte, 0, len(data)+1), data...)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	b.noteAnswers(p, line)
	b.writeLine(append(line, '\n'))
}

// noteAnswers notes which requests of p the message answers, and what later requests need of it: the
// protocol's version, and the bindings of tools.
func (b *bridge) noteAnswers(p *post, line []byte) {
	if p == nil {
		return
	}
	var s jsonrpc.Scanner
	elements, _, _ := s.Messages(line, 0)
	for _, e := range elements {
		id, ok := jsonrpc.IDKey(e.ID.Of(line))
		if _, mine := p.unanswered[id]; !ok || !mine || e.Fault != nil || e.Method.Present() {
			continue
		}
		delete(p.unanswered, id)
		b.mu.Lock()
		if b.unanswered[id] == p {
			delete(b.unanswered, id)
		}
		switch {
		case !e.Result.Present():
		case p.method == "initialize":
			var at [1]jsonrpc.Span
			if _, err := s.Object(line, e.Result.Lo, helloFields, at[:]); err == nil {
				b.version, _ = jsonrpc.Text(at[0].Of(line))
			}
		case p.method == "tools/list":
			b.rememberBindings(e.Result.Of(line))
		}
		b.mu.Unlock()
	}
}

var (
	postFields  = jsonrpc.Names("_meta", "name", "uri", "requestId")
	metaFields  = jsonrpc.Names("io.modelcontextprotocol/protocolVersion", "progressToken")
	helloFields = jsonrpc.Names("protocolVersion")
)
