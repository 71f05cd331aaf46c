package guard

import (
	"bytes"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// call is what a guarded request names.
type call struct {
	kind      surface.Kind // "" for completion and tasks
	name      string       // of a tool or prompt, or a URI
	ref       string       // "prompt" or "resource", of a completion
	taskID    string
	uris      []string // of a subscription
	task      bool     // the call makes a task
	stateless []byte   // params._meta, if that holds a protocol version
}

// guardedMethod reports whether requests of method wait until the surface is known, and are judged by
// what they name.
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

// maxMeta bounds a params._meta that the guard keeps. Clients put their icons into it.
const maxMeta = 1 << 20 // bytes

var (
	callFields = jsonrpc.Names("_meta", "name", "uri", "ref", "task", "taskId", "notifications")
	subsFields = jsonrpc.Names("resourceSubscriptions")
	refFields  = jsonrpc.Names("type", "name", "uri")
	metaFields = jsonrpc.Names("io.modelcontextprotocol/protocolVersion", "progressToken")
)

// readCall reads what a guarded request names, within bounds.
func (s *session) readCall(line []byte, m *jsonrpc.Message, method string) (call, error) {
	c, err := s.parseCall(line, m, method)
	switch {
	case err != nil:
	case c.kind == surface.KindTool && len(c.name) > jsonrpc.MaxName:
		err = &refused{jsonrpc.CodeParams, fmt.Sprintf("params.name is longer than %d bytes", jsonrpc.MaxName)}
	case len(c.taskID) > jsonrpc.MaxID:
		err = &refused{jsonrpc.CodeParams, fmt.Sprintf("params.taskId is longer than %d bytes", jsonrpc.MaxID)}
	}
	return c, err
}

// parseCall reads what a guarded request names.
func (s *session) parseCall(line []byte, m *jsonrpc.Message, method string) (c call, err error) {
	var at [7]jsonrpc.Span
	if !m.Params.Present() {
		return c, missingName(method, at[5].Present())
	}
	s.s.Rescan = true // it was scanned as a part of the message
	_, err = s.s.Object(line, m.Params.Lo, callFields, at[:])
	s.s.Rescan = false
	if err != nil {
		if err == jsonrpc.ErrSyntax {
			return c, &refused{jsonrpc.CodeParams, "params are not an object"}
		}
		return c, &refused{jsonrpc.CodeParams, "params: " + err.Error()}
	}
	if at[0].Present() && line[at[0].Lo] == '{' {
		if c.stateless, err = s.parseMeta(line, at[0]); err != nil {
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
		return s.parseReference(line, at[3], c)
	case "subscriptions/listen":
		c.uris, err = s.parseSubscriptions(line, at[6])
		return c, err
	default:
		if at[5].Present() {
			c.taskID, ok = jsonrpc.Text(at[5].Of(line))
		}
	}
	if !ok {
		return c, missingName(method, at[5].Present())
	}
	return c, nil
}

// missingName is the error of a call whose params lack what they must name. named is whether they have a
// taskId.
func missingName(method string, named bool) error {
	switch method {
	case "tools/call", "prompts/get":
		return &refused{jsonrpc.CodeParams, "params.name is not a string of characters"}
	case "resources/read", "resources/subscribe":
		return &refused{jsonrpc.CodeParams, "params.uri is not a string of characters"}
	case "completion/complete":
		return &refused{jsonrpc.CodeParams, "params.ref is not an object"}
	}
	if named {
		return &refused{jsonrpc.CodeParams, "params.taskId is not a string of characters"}
	}
	return nil
}

// parseSubscriptions reads the resources of which params.notifications asks to be told.
func (s *session) parseSubscriptions(line []byte, at jsonrpc.Span) (uris []string, err error) {
	if !at.Present() || line[at.Lo] == 'n' {
		return nil, nil // the server answers that
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

// parseReference reads params.ref of a completion.
func (s *session) parseReference(line []byte, at jsonrpc.Span, c call) (call, error) {
	var in [3]jsonrpc.Span
	if !at.Present() {
		return c, missingName("completion/complete", false)
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

// parseMeta is a copy of a params._meta that holds a protocol version, without its progress token, for
// requests of the guard's own. It is nil if there is no version.
func (s *session) parseMeta(line []byte, at jsonrpc.Span) ([]byte, error) {
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

// refuseGuarded says why a guarded request is not forwarded, or returns nil. r.mu is held.
func (r *relay) refuseGuarded(c *call, method string) error {
	if !r.listed {
		return &refused{jsonrpc.CodeRequest, "a call before the handshake is complete: " + jsonrpc.ShowText(method)}
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
	return &refused{jsonrpc.CodeWithheld, fmt.Sprintf("%s; run '%s'", why, r.reviewCommand())}
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
