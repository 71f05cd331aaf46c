package guard

import (
	"bytes"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
	"github.com/hallmark-mcp/hallmark/internal/guard/memory"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
	"github.com/hallmark-mcp/hallmark/surface"
)

// guardedMethod reports whether requests of method wait for the surface to be known
// and are judged by what they name.
func guardedMethod(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "resources/subscribe", "completion/complete",
		"subscriptions/listen":
		return true
	}
	return len(method) > len("tasks/") && method[:len("tasks/")] == "tasks/"
}

// maxSubscriptions bounds the resources that one request subscribes to.
const maxSubscriptions = 1000

// maxMeta bounds a params._meta that the guard keeps. Clients put their icons there.
const maxMeta = 1 << 20 // bytes

var (
	callFields = jsonrpc.Names("_meta", "name", "uri", "ref", "task", "taskId", "notifications")
	subsFields = jsonrpc.Names("resourceSubscriptions")
	refFields  = jsonrpc.Names("type", "name", "uri")
	metaFields = jsonrpc.Names("io.modelcontextprotocol/protocolVersion", "progressToken")
)

// call reads what a guarded request names.
func (s *session) call(line []byte, m *jsonrpc.Message, method string) (call, error) {
	c, err := s.callOf(line, m, method)
	switch {
	case err != nil:
	case c.kind == surface.KindTool && len(c.name) > memory.MaxName:
		err = &refused{jsonrpc.CodeParams, fmt.Sprintf("params.name is longer than %d bytes", memory.MaxName)}
	case len(c.taskID) > jsonrpc.MaxID:
		err = &refused{jsonrpc.CodeParams, fmt.Sprintf("params.taskId is longer than %d bytes", jsonrpc.MaxID)}
	}
	return c, err
}

func (s *session) callOf(line []byte, m *jsonrpc.Message, method string) (c call, err error) {
	var at [7]jsonrpc.Span
	if !m.Params.Present() {
		return c, needs(method, &c, at[:])
	}
	s.s.Rescan = true // as a part of the message
	_, err = s.s.Object(line, m.Params.Lo, callFields, at[:])
	s.s.Rescan = false
	if err != nil {
		if err == jsonrpc.ErrSyntax {
			return c, &refused{jsonrpc.CodeParams, "params are not an object"}
		}
		return c, &refused{jsonrpc.CodeParams, "params: " + err.Error()}
	}
	if at[0].Present() && line[at[0].Lo] == '{' {
		if c.stateless, err = s.metaOf(line, at[0]); err != nil {
			return c, err
		}
	}
	ok := true
	switch method {
	case "tools/call":
		c.kind, c.task = surface.KindTool, at[4].Present()
		c.name, ok = jsonrpc.Text(at[1].Of(line))
	case "prompts/get":
		c.kind = surface.KindPrompt
		c.name, ok = jsonrpc.Text(at[1].Of(line))
	case "resources/read", "resources/subscribe":
		c.kind = surface.KindResource
		c.name, ok = jsonrpc.Text(at[2].Of(line))
	case "completion/complete":
		return s.ref(line, at[3], c)
	case "subscriptions/listen":
		c.uris, err = s.subscriptions(line, at[6])
		return c, err
	default:
		if at[5].Present() {
			c.taskID, ok = jsonrpc.Text(at[5].Of(line))
		}
	}
	if !ok {
		return c, needs(method, &c, at[:])
	}
	return c, nil
}

// needs is the error of a call whose params lack what they must name.
func needs(method string, c *call, at []jsonrpc.Span) error {
	switch method {
	case "tools/call", "prompts/get":
		return &refused{jsonrpc.CodeParams, "params.name is not a string of characters"}
	case "resources/read", "resources/subscribe":
		return &refused{jsonrpc.CodeParams, "params.uri is not a string of characters"}
	case "completion/complete":
		return &refused{jsonrpc.CodeParams, "params.ref is not an object"}
	}
	if at[5].Present() {
		return &refused{jsonrpc.CodeParams, "params.taskId is not a string of characters"}
	}
	return nil
}

// subscriptions reads the resources that params.notifications asks to hear of.
func (s *session) subscriptions(line []byte, at jsonrpc.Span) (uris []string, err error) {
	if !at.Present() || line[at.Lo] == 'n' {
		return nil, nil // the server says what it thinks of that
	}
	var in [1]jsonrpc.Span
	if _, err := s.s.Object(line, at.Lo, subsFields, in[:]); err != nil {
		return nil, &refused{jsonrpc.CodeParams, "params.notifications: " + err.Error()}
	}
	if !in[0].Present() || line[in[0].Lo] == 'n' {
		return nil, nil
	}
	_, err = s.s.Array(line, in[0].Lo, func(e jsonrpc.Span) error {
		uri, ok := jsonrpc.Text(e.Of(line))
		if !ok || len(uris) == maxSubscriptions {
			return jsonrpc.ErrSyntax
		}
		uris = append(uris, uri)
		return nil
	})
	if err != nil {
		return nil, &refused{jsonrpc.CodeParams, fmt.Sprintf(
			"params.notifications.resourceSubscriptions is not a list of at most %d strings", maxSubscriptions)}
	}
	return uris, nil
}

// ref reads params.ref of a completion.
func (s *session) ref(line []byte, at jsonrpc.Span, c call) (call, error) {
	var in [3]jsonrpc.Span
	if !at.Present() {
		return c, needs("completion/complete", nil, nil)
	}
	if _, err := s.s.Object(line, at.Lo, refFields, in[:]); err != nil {
		return c, &refused{jsonrpc.CodeParams, "params.ref: " + err.Error()}
	}
	ok := false
	switch kind, _ := jsonrpc.Text(in[0].Of(line)); kind {
	case "ref/prompt":
		c.ref = "prompt"
		c.name, ok = jsonrpc.Text(in[1].Of(line))
	case "ref/resource":
		c.ref = "resource"
		c.name, ok = jsonrpc.Text(in[2].Of(line))
	}
	if !ok {
		return c, &refused{jsonrpc.CodeParams, "params.ref names neither a prompt nor a resource"}
	}
	return c, nil
}

// metaOf is a copy of a params._meta that holds a protocol version, without its
// progress token, for requests of the guard's own; nil if it holds none.
func (s *session) metaOf(line []byte, at jsonrpc.Span) ([]byte, error) {
	var in [2]jsonrpc.Span
	if _, err := s.s.Object(line, at.Lo, metaFields, in[:]); err != nil {
		return nil, &refused{jsonrpc.CodeParams, "params._meta: " + err.Error()}
	}
	switch {
	case !in[0].Present():
		return nil, nil
	case at.Hi-at.Lo > maxMeta:
		return nil, &refused{jsonrpc.CodeParams, fmt.Sprintf("params._meta is longer than %d bytes", maxMeta)}
	}
	if in[1].Present() {
		return jsonrpc.CutMember(line, at, in[1]), nil
	}
	return bytes.Clone(at.Of(line)), nil
}

// mustWait reports whether m is a guarded request that has to wait for a listing. It
// begins one if this is the first guarded request of a stateless client.
func (s *session) mustWait(line []byte, m *jsonrpc.Message) bool {
	if !m.Method.Present() || !m.ID.Present() {
		return false
	}
	s.mu.Lock()
	holding, known := s.holding != nil, s.listed
	s.mu.Unlock()
	if known && !holding {
		return false // as nearly always
	}
	method, _ := jsonrpc.Text(m.Method.Of(line))
	if !guardedMethod(method) {
		return false
	}
	if holding {
		return true
	}
	c, err := s.call(line, m, method)
	if err != nil || c.stateless == nil {
		return false // route refuses it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginStateless(c.stateless, listing.AllOffers)
	return s.holding != nil
}

// refusal says why a guarded request is not forwarded, or returns nil. r.mu is held.
func (r *relay) refusal(c *call, method string) error {
	if !r.listed {
		return &refused{jsonrpc.CodeRequest, "a call before the handshake is complete: " + notes.ShowText(method)}
	}
	if r.o.OnDrift == Warn {
		return nil
	}
	why := ""
	if r.o.OnDrift == Block {
		why = r.surface.RefuseAll()
	}
	if why == "" {
		why = r.refuseCall(c)
	}
	if why == "" {
		return nil
	}
	return &refused{notes.CodeWithheld, fmt.Sprintf("%s; run 'hallmark review %s'", why, notes.ShowText(r.o.Server))}
}

// refuseCall says why what c names must not be used, or "". r.mu is held.
func (r *relay) refuseCall(c *call) string {
	switch {
	case c.kind == surface.KindResource:
		return r.surface.RefuseURI(c.name, r.offers.Resources)
	case len(c.uris) > 0:
		for _, uri := range c.uris {
			if why := r.surface.RefuseURI(uri, r.offers.Resources); why != "" {
				return why
			}
		}
		return ""
	case c.kind != "":
		return r.surface.RefuseItem(c.kind, c.name)
	case c.ref == "prompt":
		return r.surface.RefuseItem(surface.KindPrompt, c.name)
	case c.ref == "resource":
		return r.surface.RefuseReference(c.name)
	case c.taskID != "":
		if tool, ok := r.tasks.Get(c.taskID); ok {
			return r.surface.RefuseItem(surface.KindTool, tool)
		}
		if r.tasksFull {
			return "more tasks were made than can be remembered"
		}
	}
	return ""
}
