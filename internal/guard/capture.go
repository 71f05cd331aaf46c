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
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/surface"
)

// ServerInfo is what a server says of itself. All text is the server's own.
type ServerInfo struct {
	Name            string
	Version         string
	ProtocolVersion string // the one that was agreed
	Stateless       bool   // server/discover was used, not initialize
}

// DiedError is wrapped by the error of [Surface] if the server's process ended by itself before it had
// answered anything, for example because something that it needs is missing.
type DiedError struct {
	Method string // of the request that it did not answer
	How    string // "exit status 3", "signal: killed"
}

// Error says what the process did not answer, and how it ended.
func (e *DiedError) Error() string {
	return e.Method + ": the server ended without an answer: " + e.How
}

// deathGrace is how long the process of a server that closed its output may take to end before it counts
// as one that runs on.
const deathGrace = 2 * time.Second

// explainDeath is err, or a DiedError if the process ended before it answered the first request.
func (c *captureClient) explainDeath(ctx context.Context, method string, err error) error {
	if c.answered || c.p.IsRemote() || !c.p.WaitFor(ctx.Done(), deathGrace) {
		return err
	}
	return &DiedError{method, c.p.State()}
}

// Surface speaks to p as a client with the capabilities object caps (nil is {}) under the protocol version,
// lists everything, and ends p. From version 2026-07-28 on it begins with server/discover, before with
// initialize, and tries the other one if the server refuses, or does not name that version. Requests by the
// server are answered as by a client that cannot serve them; everything else that the server sends is
// ignored. A kind that cannot be listed is an error; a kind in exclude is not listed. ctx bounds the whole.
func Surface(ctx context.Context, p *process.Process, caps json.RawMessage, version string,
	exclude map[surface.Kind]bool) (surface.Listing, ServerInfo, error) {
	defer p.Stdout.Close()
	listed, info, err := capture(ctx, p, caps, version, exclude)
	grace := process.GraceClose
	if err != nil {
		grace = 0
	}
	p.Stdout.Stop()
	p.End(ctx.Done(), grace, process.GraceTerm)
	if err != nil {
		return surface.Listing{}, info, fmt.Errorf("%s: %w", jsonrpc.ShowText(p.Name()), err)
	}
	return listed, info, nil
}

// capture is Surface, but leaves p running.
func capture(ctx context.Context, p *process.Process, caps json.RawMessage, version string,
	exclude map[surface.Kind]bool) (l surface.Listing, info ServerInfo, err error) {
	if len(caps) == 0 {
		caps = json.RawMessage("{}")
	}
	if caps, err = compact(caps); err != nil {
		return l, info, fmt.Errorf("client capabilities: %w", err)
	}
	c := &captureClient{p: p, lines: jsonrpc.NewLines(p.Stdout, jsonrpc.LineLimit), caps: caps, version: version}
	stop := context.AfterFunc(ctx, func() { // ends a read or write that waits
		p.Stdin.Stop()
		p.Stdout.Stop()
	})
	defer stop()

	hello, err := c.greet(ctx)
	if err != nil {
		return l, info, err
	}
	offers, err := c.readIntroduction(hello.Result, &l, &info)
	if err != nil {
		return l, info, err
	}
	list := Lister{Ask: c.ask}
	if info.Stateless = c.meta != nil; info.Stateless {
		list.Meta = c.meta
	} else if err := c.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return l, info, err
	}
	for k, into := range []*[]json.RawMessage{&l.Tools, &l.Prompts, &l.Resources, &l.ResourceTemplates} {
		if offers.Has(Methods[k].Capability) && !exclude[Methods[k].Kind] {
			if *into, err = list.List(ctx, k); err != nil {
				return l, info, err
			}
		}
	}
	if exclude[surface.KindInstructions] {
		l.Instructions = ""
	}
	return l, info, nil
}

// greet begins the session, by the handshake of its version or else by the other one.
func (c *captureClient) greet(ctx context.Context) (hello Answer, err error) {
	handshakes := []func(context.Context) (Answer, error){c.initialize, c.discover}
	if c.version >= process.FirstStateless {
		handshakes = []func(context.Context) (Answer, error){c.discover, c.initialize}
	}
	for _, shake := range handshakes {
		if hello, err = shake(ctx); err != nil || hello.Err == nil && c.speaksVersion(hello.Result) {
			break
		}
	}
	if err == nil && hello.Err != nil {
		code, why := ReadError(hello.Err)
		err = fmt.Errorf("neither initialize nor server/discover is accepted: error %d; %s", code,
			jsonrpc.ShowReason(why))
	}
	return hello, err
}

// compact is raw without white space.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil || b.Bytes()[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	return b.Bytes(), nil
}

// client is a client that waits for each answer before it goes on.
type captureClient struct {
	p        *process.Process
	lines    *jsonrpc.Lines
	s        jsonrpc.Scanner
	caps     []byte
	version  string
	requests int

	answered bool   // the server has answered a request, by a result or an error
	meta     []byte // of stateless requests
}

const clientInfo = `{"name":"hallmark","version":"1"}`

// initialize asks for the introduction of a server with sessions.
func (c *captureClient) initialize(ctx context.Context) (Answer, error) {
	c.meta = nil
	version := c.version
	if version >= process.FirstStateless {
		version = "2025-11-25" // the last one with initialize
	}
	return c.ask(ctx, "initialize", fmt.Appendf(nil,
		`{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, version, c.caps, clientInfo))
}

// discover asks for the introduction of a stateless server.
func (c *captureClient) discover(ctx context.Context) (Answer, error) {
	c.meta = fmt.Appendf(nil, `{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientInfo":%s,"io.modelcontextprotocol/clientCapabilities":%s}`,
		max(c.version, process.FirstStateless), clientInfo, c.caps)
	return c.ask(ctx, "server/discover", append(append([]byte(`{"_meta":`), c.meta...), '}'))
}

// speaksVersion reports whether the result of server/discover names the version that is asked for. A server
// that keeps sessions may answer server/discover, and nothing else without initialize.
func (c *captureClient) speaksVersion(result []byte) bool {
	var said struct {
		Versions []string `json:"supportedVersions"`
	}
	return c.meta == nil || json.Unmarshal(result, &said) != nil || len(said.Versions) == 0 ||
		slices.Contains(said.Versions, max(c.version, process.FirstStateless))
}

var captureIntroductionFields = jsonrpc.Names("capabilities", "instructions", "protocolVersion", "serverInfo")

// readIntroduction reads the result of initialize or server/discover into l and info.
func (c *captureClient) readIntroduction(result []byte, l *surface.Listing, info *ServerInfo) (o Offers, err error) {
	var at [4]jsonrpc.Span
	if _, err := c.s.Object(result, jsonrpc.SkipSpace(result, 0), captureIntroductionFields, at[:]); err != nil {
		return o, fmt.Errorf("the server's introduction: %w", err)
	}
	if o, err = ReadOffers(&c.s, result, at[0]); err != nil {
		return o, err
	}
	if at[1].Present() {
		if l.Instructions, err = surface.ParseInstructions(at[1].Of(result)); err != nil {
			return o, err
		}
	}
	if info.ProtocolVersion, _ = jsonrpc.Text(at[2].Of(result)); c.meta != nil {
		info.ProtocolVersion = max(c.version, process.FirstStateless)
	}
	server := at[3].Of(result)
	if !at[3].Present() { // stateless servers have it in _meta
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

// send writes one line to the server.
func (c *captureClient) send(line []byte) error {
	if err := c.p.Stdin.WriteAll(append(line, '\n')); err != nil {
		return fmt.Errorf("the server does not read: %w", err)
	}
	return nil
}

// ask sends a request and reads until its answer.
func (c *captureClient) ask(ctx context.Context, method string, params []byte) (Answer, error) {
	c.requests++
	id := fmt.Sprintf("hallmark-%d", c.requests)
	question := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
	if err := c.send(question); err != nil {
		return Answer{}, c.explainDeath(ctx, method, err)
	}
	for {
		line, err := c.lines.Next()
		switch {
		case ctx.Err() != nil:
			return Answer{}, fmt.Errorf("%s: no answer: %w", method, context.Cause(ctx))
		case errors.Is(err, jsonrpc.ErrLong):
			return Answer{}, fmt.Errorf("%s: %w", method, err)
		case err != nil:
			return Answer{}, c.explainDeath(ctx, method,
				fmt.Errorf("%s: the server ended without an answer", method))
		}
		i := jsonrpc.SkipSpace(line, 0)
		if i == len(line) {
			continue
		}
		messages, err := c.readMessages(line, i)
		if err != nil {
			return Answer{}, fmt.Errorf("%s: the server sent: %w", method, err)
		}
		for _, m := range messages {
			a, ok, err := c.handleMessage(line, &m, "s"+id)
			if err != nil {
				return Answer{}, fmt.Errorf("%s: %w", method, err)
			}
			if ok {
				c.answered = true
				return a, nil
			}
		}
		for _, m := range jsonrpc.FindCandidates(line) {
			if got, known := m.IDKey(); m.IsAnswer() && (known && got == "s"+id || !known && m.RPC &&
				string(m.ID) != "null") {
				return Answer{}, fmt.Errorf("%s: the server's answer cannot be read", method)
			}
		}
	}
}

// readMessages reads the messages of a line, of which the first begins at line[i]. A single one that cannot be read has
// a fault; a batch is an error.
func (c *captureClient) readMessages(line []byte, i int) (messages []jsonrpc.Element, err error) {
	messages, end, err := c.s.Messages(line, i)
	if line[i] == '[' {
		if err == nil && jsonrpc.HasStrayReturn(line) {
			err = jsonrpc.ErrReturn
		}
		return messages, err
	}
	switch m := &messages[0]; {
	case m.Fault == nil && !jsonrpc.Ends(line, end):
		m.Fault = jsonrpc.ErrSyntax
	case m.Fault == nil && jsonrpc.HasStrayReturn(line):
		m.Fault = jsonrpc.ErrReturn
	}
	return messages, nil
}

// handleMessage handles one message of the server; ok reports whether it answers id.
func (c *captureClient) handleMessage(line []byte, m *jsonrpc.Element, id string) (a Answer, ok bool, err error) {
	if errors.Is(m.Fault, jsonrpc.ErrSyntax) {
		return a, false, nil // a greeting, for example
	}
	if m.Fault != nil {
		return a, false, fmt.Errorf("the server sent: %w", m.Fault)
	}
	if !m.Method.Present() {
		got, known := jsonrpc.IDKey(m.ID.Of(line))
		if !known || got != id || m.Result.Present() == m.Err.Present() {
			return a, false, nil
		}
		return CopyAnswer(line, &m.Message), true, nil
	}
	if !m.ID.Present() {
		return a, false, nil
	}
	method, _ := jsonrpc.Text(m.Method.Of(line))
	reply := jsonrpc.OwnErrorLine(m.ID.Of(line), jsonrpc.CodeNoMethod, "not served while a surface is captured")
	if method == "ping" {
		reply = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID.Of(line))
	}
	return a, false, c.send(reply[:len(reply)-1])
}
