package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// ServerInfo is what a server says of itself. All text is the server's own.
type ServerInfo struct {
	Name            string
	Version         string
	ProtocolVersion string // the one that was agreed
	Stateless       bool   // server/discover was used, not initialize
}

// firstStateless is the first protocol version without initialize.
const firstStateless = "2026-07-28"

// DiedError is wrapped by the error of [Capture] if the server's process ended by itself
// before it had answered anything: as it does where something that it needs is missing.
type DiedError struct {
	Method string // that was asked
	How    string // "exit status 3", "signal: killed"
}

func (e *DiedError) Error() string {
	return e.Method + ": the server ended without an answer: " + e.How
}

// graceDeath is how long the process of a server that closed its output may take to end
// before it counts as one that runs on.
const graceDeath = 2 * time.Second

// explainDeath is the error err of the first question, or a DiedError if the process is gone.
func (c *captor) explainDeath(ctx context.Context, method string, err error) error {
	if c.answered || c.p.remote != nil || !c.p.waitFor(ctx.Done(), graceDeath) {
		return err
	}
	return &DiedError{method, c.p.state}
}

// Capture speaks to p as a client with the capabilities object caps (nil is {}) under
// the protocol version, lists everything, and ends p. From version 2026-07-28 on it
// begins with server/discover, before with initialize, and tries the other way if the
// server refuses, or says that it does not speak that version. Requests by the server are
// answered as by a client that cannot serve them; everything else that the server says is
// passed over. A kind that cannot be listed is an error; one in exclude is not asked for. ctx
// bounds the whole.
func Capture(ctx context.Context, p *Process, caps json.RawMessage, version string,
	exclude map[surface.Kind]bool) (surface.Listing, ServerInfo, error) {
	defer p.stdout.close()
	listing, info, err := capture(ctx, p, caps, version, exclude)
	grace := graceClose
	if err != nil {
		grace = 0
	}
	p.stdout.stop()
	p.end(ctx.Done(), grace, graceTerm)
	if err != nil {
		return surface.Listing{}, info, fmt.Errorf("%s: %w", showText(p.name), err)
	}
	return listing, info, nil
}

func capture(ctx context.Context, p *Process, caps json.RawMessage, version string,
	exclude map[surface.Kind]bool) (l surface.Listing, info ServerInfo, err error) {
	if len(caps) == 0 {
		caps = json.RawMessage("{}")
	}
	if caps, err = compact(caps); err != nil {
		return l, info, fmt.Errorf("client capabilities: %w", err)
	}
	c := &captor{p: p, lines: jsonrpc.NewLines(p.stdout, jsonrpc.LineLimit), caps: caps, version: version}
	stop := context.AfterFunc(ctx, func() { // ends a read or write that waits
		p.stdin.stop()
		p.stdout.stop()
	})
	defer stop()

	ways := []func(context.Context) (answer, error){c.initialize, c.discover}
	if version >= firstStateless {
		ways = []func(context.Context) (answer, error){c.discover, c.initialize}
	}
	var welcome answer
	for _, way := range ways {
		if welcome, err = way(ctx); err != nil || welcome.err == nil && c.spoken(welcome.result) {
			break
		}
	}
	var reading lister
	if err == nil && welcome.err != nil {
		code, why := reading.failure(welcome.err)
		err = fmt.Errorf("neither initialize nor server/discover is accepted: error %d; %s", code, showReason(why))
	}
	if err != nil {
		return l, info, err
	}
	o, err := c.welcome(welcome.result, &l, &info)
	if err != nil {
		return l, info, err
	}
	list := lister{ask: c.ask}
	if info.Stateless = c.meta != nil; info.Stateless {
		list.meta = c.meta
	} else if err := c.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return l, info, err
	}
	for k, into := range []*[]json.RawMessage{&l.Tools, &l.Prompts, &l.Resources, &l.ResourceTemplates} {
		if o.capability(listings[k].capability) && !exclude[listings[k].kind] {
			if *into, err = list.list(ctx, k); err != nil {
				return l, info, err
			}
		}
	}
	if exclude[surface.KindInstructions] {
		l.Instructions = ""
	}
	return l, info, nil
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil || b.Bytes()[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	return b.Bytes(), nil
}

// captor is a client that waits for each answer before it goes on.
type captor struct {
	p       *Process
	lines   *jsonrpc.Lines
	s       jsonrpc.Scanner
	caps    []byte
	version string
	asked   int

	answered bool   // something, by a result or an error
	meta     []byte // of stateless requests
}

const clientInfo = `{"name":"hallmark","version":"1"}`

func (c *captor) initialize(ctx context.Context) (answer, error) {
	c.meta = nil
	version := c.version
	if version >= firstStateless {
		version = "2025-11-25" // the last one with initialize
	}
	return c.ask(ctx, "initialize", fmt.Appendf(nil,
		`{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, version, c.caps, clientInfo))
}

func (c *captor) discover(ctx context.Context) (answer, error) {
	c.meta = fmt.Appendf(nil, `{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientInfo":%s,"io.modelcontextprotocol/clientCapabilities":%s}`,
		max(c.version, firstStateless), clientInfo, c.caps)
	return c.ask(ctx, "server/discover", append(append([]byte(`{"_meta":`), c.meta...), '}'))
}

// spoken reports whether the result of server/discover names the version that is asked for.
// A server that keeps sessions may answer it, and nothing else without initialize.
func (c *captor) spoken(result []byte) bool {
	var said struct {
		Versions []string `json:"supportedVersions"`
	}
	return c.meta == nil || json.Unmarshal(result, &said) != nil || len(said.Versions) == 0 ||
		slices.Contains(said.Versions, max(c.version, firstStateless))
}

var helloFields = jsonrpc.Names("capabilities", "instructions", "protocolVersion", "serverInfo")

// welcome reads the result of initialize or server/discover.
func (c *captor) welcome(result []byte, l *surface.Listing, info *ServerInfo) (o offers, err error) {
	var at [4]jsonrpc.Span
	if _, err := c.s.Object(result, jsonrpc.SkipSpace(result, 0), helloFields, at[:]); err != nil {
		return o, fmt.Errorf("the server's introduction: %w", err)
	}
	if o, err = readOffers(&c.s, result, at[0]); err != nil {
		return o, err
	}
	if at[1].Present() {
		if l.Instructions, err = surface.ParseInstructions(at[1].Of(result)); err != nil {
			return o, err
		}
	}
	if info.ProtocolVersion, _ = jsonrpc.Text(at[2].Of(result)); c.meta != nil {
		info.ProtocolVersion = max(c.version, firstStateless)
	}
	server := at[3].Of(result)
	if !at[3].Present() { // stateless servers say it in _meta
		var meta struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		if json.Unmarshal(result, &meta) == nil {
			server = meta.Meta["io.modelcontextprotocol/serverInfo"]
		}
	}
	var who struct{ Name, Version string }
	if len(server) > 0 && json.Unmarshal(server, &who) == nil {
		info.Name, info.Version = who.Name, who.Version
	}
	return o, nil
}

func (c *captor) send(line []byte) error {
	if err := c.p.stdin.write(append(line, '\n')); err != nil {
		return fmt.Errorf("the server does not read: %w", err)
	}
	return nil
}

// ask sends a request and reads until its answer.
func (c *captor) ask(ctx context.Context, method string, params []byte) (answer, error) {
	c.asked++
	id := fmt.Sprintf("hallmark-%d", c.asked)
	question := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
	if err := c.send(question); err != nil {
		return answer{}, c.explainDeath(ctx, method, err)
	}
	for {
		line, err := c.lines.Next()
		switch {
		case ctx.Err() != nil:
			return answer{}, fmt.Errorf("%s: no answer: %w", method, context.Cause(ctx))
		case errors.Is(err, jsonrpc.ErrLong):
			return answer{}, fmt.Errorf("%s: %w", method, err)
		case err != nil:
			return answer{}, c.explainDeath(ctx, method, fmt.Errorf("%s: the server ended without an answer", method))
		}
		i := jsonrpc.SkipSpace(line, 0)
		if i == len(line) {
			continue
		}
		var messages []jsonrpc.Element
		if line[i] == '[' {
			messages, _, err = c.s.Batch(line, i)
			if err == nil && jsonrpc.HasStrayReturn(line) {
				err = jsonrpc.ErrReturn
			}
			if err != nil {
				return answer{}, fmt.Errorf("%s: the server sent: %w", method, err)
			}
		} else {
			m, err := c.s.Message(line, i)
			switch {
			case err == nil && !jsonrpc.Ends(line, m.Whole.Hi):
				err = jsonrpc.ErrSyntax
			case err == nil && jsonrpc.HasStrayReturn(line):
				err = jsonrpc.ErrReturn
			}
			messages = []jsonrpc.Element{{Message: m, Fault: err}}
		}
		for _, m := range messages {
			a, ok, err := c.take(line, &m, "s"+id)
			if err != nil {
				return answer{}, fmt.Errorf("%s: %w", method, err)
			}
			if ok {
				c.answered = true
				return a, nil
			}
		}
		for _, m := range jsonrpc.FindCandidates(line) {
			if got, known := m.IDKey(); m.IsAnswer() && (known && got == "s"+id || !known && m.RPC &&
				string(m.ID) != "null") {
				return answer{}, fmt.Errorf("%s: the server's answer cannot be read", method)
			}
		}
	}
}

// take handles one message of the server; ok reports whether it answers id.
func (c *captor) take(line []byte, m *jsonrpc.Element, id string) (a answer, ok bool, err error) {
	if errors.Is(m.Fault, jsonrpc.ErrSyntax) {
		return a, false, nil // such as a greeting
	}
	if m.Fault != nil {
		return a, false, fmt.Errorf("the server sent: %w", m.Fault)
	}
	if !m.Method.Present() {
		got, known := jsonrpc.IDKey(m.ID.Of(line))
		if !known || got != id || m.Result.Present() == m.Err.Present() {
			return a, false, nil
		}
		return copyAnswer(line, &m.Message), true, nil
	}
	if !m.ID.Present() {
		return a, false, nil
	}
	method, _ := jsonrpc.Text(m.Method.Of(line))
	reply := failure(m.ID.Of(line), codeNoMethod, "not served while a surface is captured")
	if method == "ping" {
		reply = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID.Of(line))
	}
	return a, false, c.send(reply[:len(reply)-1])
}
