package guard

import (
	"bytes"
	"fmt"

	"github.com/hallmark-mcp/hallmark/surface"
)

// guardedMethod reports whether requests of method wait for the surface to be known
// and are judged by what they name.
func guardedMethod(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "resources/subscribe", "completion/complete", "subscriptions/listen":
		return true
	}
	return len(method) > len("tasks/") && method[:len("tasks/")] == "tasks/"
}

// maxSubscriptions bounds the resources that one request subscribes to.
const maxSubscriptions = 1000

// maxMeta bounds a params._meta that the guard keeps. Clients put their icons there.
const maxMeta = 1 << 20 // bytes

var (
	callFields = names("_meta", "name", "uri", "ref", "task", "taskId", "notifications")
	subsFields = names("resourceSubscriptions")
	refFields  = names("type", "name", "uri")
	metaFields = names("io.modelcontextprotocol/protocolVersion", "progressToken")
)

// call reads what a guarded request names.
func (s *session) call(line []byte, m *message, method string) (call, error) {
	c, err := s.callOf(line, m, method)
	switch {
	case err != nil:
	case c.kind == surface.KindTool && len(c.name) > maxName:
		err = &refused{codeParams, fmt.Sprintf("params.name is longer than %d bytes", maxName)}
	case len(c.taskID) > maxID:
		err = &refused{codeParams, fmt.Sprintf("params.taskId is longer than %d bytes", maxID)}
	}
	return c, err
}

func (s *session) callOf(line []byte, m *message, method string) (c call, err error) {
	var at [7]span
	if !m.params.ok() {
		return c, needs(method, &c, at[:])
	}
	s.s.again = true // as a part of the message
	_, err = s.s.object(line, m.params.lo, callFields, at[:])
	s.s.again = false
	if err != nil {
		if err == errSyntax {
			return c, &refused{codeParams, "params are not an object"}
		}
		return c, &refused{codeParams, "params: " + err.Error()}
	}
	if at[0].ok() && line[at[0].lo] == '{' {
		if c.stateless, err = s.metaOf(line, at[0]); err != nil {
			return c, err
		}
	}
	ok := true
	switch method {
	case "tools/call":
		c.kind, c.task = surface.KindTool, at[4].ok()
		c.name, ok = text(at[1].of(line))
	case "prompts/get":
		c.kind = surface.KindPrompt
		c.name, ok = text(at[1].of(line))
	case "resources/read", "resources/subscribe":
		c.kind = surface.KindResource
		c.name, ok = text(at[2].of(line))
	case "completion/complete":
		return s.ref(line, at[3], c)
	case "subscriptions/listen":
		c.uris, err = s.subscriptions(line, at[6])
		return c, err
	default:
		if at[5].ok() {
			c.taskID, ok = text(at[5].of(line))
		}
	}
	if !ok {
		return c, needs(method, &c, at[:])
	}
	return c, nil
}

// needs is the error of a call whose params lack what they must name.
func needs(method string, c *call, at []span) error {
	switch method {
	case "tools/call", "prompts/get":
		return &refused{codeParams, "params.name is not a string of characters"}
	case "resources/read", "resources/subscribe":
		return &refused{codeParams, "params.uri is not a string of characters"}
	case "completion/complete":
		return &refused{codeParams, "params.ref is not an object"}
	}
	if at[5].ok() {
		return &refused{codeParams, "params.taskId is not a string of characters"}
	}
	return nil
}

// subscriptions reads the resources that params.notifications asks to hear of.
func (s *session) subscriptions(line []byte, at span) (uris []string, err error) {
	if !at.ok() || line[at.lo] == 'n' {
		return nil, nil // the server says what it thinks of that
	}
	var in [1]span
	if _, err := s.s.object(line, at.lo, subsFields, in[:]); err != nil {
		return nil, &refused{codeParams, "params.notifications: " + err.Error()}
	}
	if !in[0].ok() || line[in[0].lo] == 'n' {
		return nil, nil
	}
	_, err = s.s.array(line, in[0].lo, func(e span) error {
		uri, ok := text(e.of(line))
		if !ok || len(uris) == maxSubscriptions {
			return errSyntax
		}
		uris = append(uris, uri)
		return nil
	})
	if err != nil {
		return nil, &refused{codeParams, fmt.Sprintf("params.notifications.resourceSubscriptions is not a list of at most %d strings", maxSubscriptions)}
	}
	return uris, nil
}

// ref reads params.ref of a completion.
func (s *session) ref(line []byte, at span, c call) (call, error) {
	var in [3]span
	if !at.ok() {
		return c, needs("completion/complete", nil, nil)
	}
	if _, err := s.s.object(line, at.lo, refFields, in[:]); err != nil {
		return c, &refused{codeParams, "params.ref: " + err.Error()}
	}
	ok := false
	switch kind, _ := text(in[0].of(line)); kind {
	case "ref/prompt":
		c.ref = "prompt"
		c.name, ok = text(in[1].of(line))
	case "ref/resource":
		c.ref = "resource"
		c.name, ok = text(in[2].of(line))
	}
	if !ok {
		return c, &refused{codeParams, "params.ref names neither a prompt nor a resource"}
	}
	return c, nil
}

// metaOf is a copy of a params._meta that holds a protocol version, without its
// progress token, for requests of the guard's own; nil if it holds none.
func (s *session) metaOf(line []byte, at span) ([]byte, error) {
	var in [2]span
	if _, err := s.s.object(line, at.lo, metaFields, in[:]); err != nil {
		return nil, &refused{codeParams, "params._meta: " + err.Error()}
	}
	switch {
	case !in[0].ok():
		return nil, nil
	case at.hi-at.lo > maxMeta:
		return nil, &refused{codeParams, fmt.Sprintf("params._meta is longer than %d bytes", maxMeta)}
	}
	if in[1].ok() {
		return cutMember(line, at, in[1]), nil
	}
	return bytes.Clone(at.of(line)), nil
}

// cutMember is a copy of the object at whole without the member whose value is at
// value. Everything else stays byte for byte.
func cutMember(b []byte, whole, value span) []byte {
	// The member's name begins at the last quote that opens a string before the
	// colon. Walk the members from the left to find it.
	var s scanner
	i := space(b, whole.lo+1)
	for {
		start := i
		v, _ := scanName(b, i)
		end, _ := s.value(b, v)
		after := space(b, end)
		if v == value.lo {
			switch {
			case b[after] == ',': // with the comma after it
				end = space(b, after+1)
			case b[before(b, start)] == ',': // the last one, with the comma before it
				start = before(b, start)
			}
			return append(bytes.Clone(b[whole.lo:start]), b[end:whole.hi]...)
		}
		i = space(b, after+1)
	}
}

// before is the index of the last byte before i that is no white space.
func before(b []byte, i int) int {
	for i--; i > 0 && space(b[:i+1], i) > i; i-- {
	}
	return i
}

// mustWait reports whether m is a guarded request that has to wait for a listing. It
// begins one if this is the first guarded request of a stateless client.
func (s *session) mustWait(line []byte, m *message) bool {
	if !m.method.ok() || !m.id.ok() {
		return false
	}
	s.mu.Lock()
	holding, known := s.holding != nil, s.listed
	s.mu.Unlock()
	if known && !holding {
		return false // as nearly always
	}
	method, _ := text(m.method.of(line))
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
	s.beginStateless(c.stateless, allOffers)
	return s.holding != nil
}

// refusal says why a guarded request is not forwarded, or returns nil. r.mu is held.
func (r *relay) refusal(c *call, method string) error {
	if !r.listed {
		return &refused{codeRequest, "a call before the handshake is complete: " + shown(method)}
	}
	if r.o.OnDrift == Warn {
		return nil
	}
	why := ""
	if r.o.OnDrift == Block {
		why = r.sight.any()
	}
	if why == "" {
		why = r.named(c)
	}
	if why == "" {
		return nil
	}
	return &refused{codeWithheld, fmt.Sprintf("%s; run 'hallmark review %s'", why, shown(r.o.Server))}
}

// named says why what c names must not be used, or "". r.mu is held.
func (r *relay) named(c *call) string {
	g := r.sight
	switch {
	case c.kind == surface.KindResource:
		return g.uriRefusal(c.name, r.offers.resources)
	case len(c.uris) > 0:
		for _, uri := range c.uris {
			if why := g.uriRefusal(uri, r.offers.resources); why != "" {
				return why
			}
		}
		return ""
	case c.kind != "":
		return g.refusal(c.kind, c.name)
	case c.ref == "prompt":
		return g.refusal(surface.KindPrompt, c.name)
	case c.ref == "resource":
		// A template, or a resource by its own URI.
		if why := g.refusal(surface.KindTemplate, c.name); why == "" || !g.approved[key(surface.KindTemplate, c.name)].IsZero() {
			return why
		}
		if !g.exclude[surface.KindResource] && g.approved[key(surface.KindResource, c.name)].IsZero() {
			return g.refusal(surface.KindTemplate, c.name)
		}
		if _, drifted := g.drifts(key(surface.KindTemplate, c.name)); drifted {
			return g.refusal(surface.KindTemplate, c.name)
		}
		return g.refusal(surface.KindResource, c.name)
	case c.taskID != "":
		if tool, ok := r.tasks.m[c.taskID]; ok {
			return g.refusal(surface.KindTool, tool)
		}
		if r.tasksFull {
			return "more tasks were made than can be remembered"
		}
	}
	return ""
}
