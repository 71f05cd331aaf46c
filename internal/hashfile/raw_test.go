//go:build unix

package hashfile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// rawClient is a client that writes JSON-RPC by itself, so that it can say what no SDK would.
type rawClient struct {
	caller
	t       *testing.T
	in      io.Writer
	mu      sync.Mutex
	answer  func(id json.RawMessage) string // to roots/list; "" is none
	asked   int                             // roots/list so far
	waiting map[int]chan rawMessage
	id      int
}

type rawMessage struct {
	ID     json.RawMessage
	Method string
	Result struct {
		IsError           bool
		StructuredContent map[string]any
		Content           []struct{ Text string }
	}
	Error *struct{ Message string }
}

// connectRaw starts a server in this process and greets it. Capabilities are the client's,
// as JSON.
func connectRaw(t *testing.T, c Config, capabilities string) *rawClient {
	t.Helper()
	p := connectBare(t, c)
	if r := p.ask("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":`+capabilities+
			`,"clientInfo":{"name":"raw","version":"1"}}`); r.Error != nil {
		t.Fatal(r.Error.Message)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// connectBare starts a server in this process.
func connectBare(t *testing.T, c Config) *rawClient {
	t.Helper()
	c.Locks, c.Logger = private(t), slog.New(slog.DiscardHandler)
	s, err := New(c)
	must(t, err)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background(), inR, outW) }()
	p := &rawClient{t: t, in: inW, waiting: map[int]chan rawMessage{}}
	p.caller = p.call
	go p.listen(bufio.NewReaderSize(outR, 1<<20))
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
		<-done
		s.Close()
	})
	return p
}

func (p *rawClient) listen(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return
		}
		var m rawMessage
		if err := json.Unmarshal(line, &m); err != nil {
			p.t.Errorf("%v: %s", err, line)
			return
		}
		if m.Method == "roots/list" {
			p.mu.Lock()
			p.asked++
			answer := p.answer
			p.mu.Unlock()
			if text := answer(m.ID); text != "" {
				go p.send(text)
			}
			continue
		}
		var id int
		if json.Unmarshal(m.ID, &id) == nil {
			p.mu.Lock()
			w := p.waiting[id]
			p.mu.Unlock()
			if w != nil {
				w <- m
			}
		}
	}
}

func (p *rawClient) send(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	io.WriteString(p.in, line+"\n")
}

// begin sends a request, the answer to which comes on the channel.
func (p *rawClient) begin(method, params string) <-chan rawMessage {
	w := make(chan rawMessage, 1)
	p.mu.Lock()
	p.id++
	id := p.id
	p.waiting[id] = w
	p.mu.Unlock()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return w
}

func (p *rawClient) ask(method, params string) rawMessage {
	p.t.Helper()
	select {
	case m := <-p.begin(method, params):
		return m
	case <-time.After(hang.Long):
		p.t.Fatalf("%s %s is not answered", method, params)
		return rawMessage{}
	}
}

func params(tool string, args arguments) string {
	text, _ := json.Marshal(map[string]any{"name": tool, "arguments": args})
	return string(text)
}

// outcome is an answer to a call.
func outcome(t testing.TB, m rawMessage) reply {
	t.Helper()
	if m.Error != nil {
		t.Fatalf("%s", m.Error.Message)
	}
	r := reply{t: t, Text: m.Result.Content[0].Text, All: m.Result.StructuredContent}
	if r.All == nil {
		r.All = header(r.Text)
	}
	if m.Result.IsError {
		r.Error, _ = r.All["code"].(string)
	}
	return r
}

func (p *rawClient) call(tool string, args arguments) reply {
	p.t.Helper()
	return outcome(p.t, p.ask("tools/call", params(tool, args)))
}

// lists makes the client answer with these directories.
func (p *rawClient) lists(dirs ...string) {
	roots := []map[string]string{}
	for _, d := range dirs {
		roots = append(roots, map[string]string{"uri": "file://" + d})
	}
	text, _ := json.Marshal(roots)
	p.replies(`"result":{"roots":` + string(text) + `}`)
}

// replies makes the client answer with a member, result or error.
func (p *rawClient) replies(member string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = func(id json.RawMessage) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, member) }
}

// silent makes the client not answer.
func (p *rawClient) silent() { p.defers() }

// defers makes the client not answer, and returns the ids of what it is asked from now on.
func (p *rawClient) defers() <-chan jsonID {
	asked := make(chan jsonID, 100)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = func(id jsonID) string {
		select {
		case asked <- id:
		default:
		}
		return ""
	}
	return asked
}

func (p *rawClient) changed() {
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
}

func (p *rawClient) questions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

type jsonID = json.RawMessage
