package stdio

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/surface"
)

// versions are those of the protocol, newest first. A server of stateless cannot send requests, and each message says
// by itself what its client can do.
var versions = []string{stateless, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const stateless = "2026-07-28"

// batched are the versions that have batches.
var batched = versions[3:]

// peer is what a request says of its client.
type peer struct {
	stateless bool
	roots     *Roots
}

// readPeer returns what a request says of its client by itself, as those of stateless do.
func readPeer(m *request) (p peer, f *fault) {
	const prefix = "io.modelcontextprotocol/"
	meta, ok := object(m.params["_meta"])
	if !ok {
		return p, &fault{id: m.id, Code: codeInvalidParams, Text: "_meta is no object"}
	}
	version, _ := text(meta[prefix+"protocolVersion"])
	if version < stateless {
		return p, nil
	}
	capabilities := meta[prefix+"clientCapabilities"]
	if p.roots, ok = readRoots(capabilities); !ok || absent(capabilities) {
		return p, &fault{id: m.id, Code: codeInvalidParams,
			Text: fmt.Sprintf("missing or invalid _meta field %q", prefix+"clientCapabilities")}
	}
	if !slices.Contains(versions, version) {
		return p, &fault{id: m.id, Code: codeUnsupportedVersion, Text: "unsupported protocol version",
			Data: map[string]any{"supported": versions, "requested": version}}
	}
	p.stateless = true
	return p, nil
}

// readRoots returns the capability of roots among a client's; ok is false if these are no object.
func readRoots(capabilities []byte) (roots *Roots, ok bool) {
	var all struct {
		Roots *Roots `json:"roots"`
	}
	if absent(capabilities) {
		return nil, true
	}
	err := surface.DecodeKnown(capabilities, &all)
	return all.Roots, err == nil
}

// answer returns the result of a request that is no call of a tool.
func (s *session) answer(m *request, p peer) (map[string]any, *fault) {
	result := map[string]any{}
	begun := s.version != "" || p.stateless
	switch {
	case m.odd:
		return nil, &fault{id: m.id, Code: codeInvalidParams, Text: "invalid params: they are no object"}
	case m.method == "initialize" && !p.stateless:
		return s.initialize(m)
	case m.method == "ping" && !p.stateless:
		return result, nil
	case m.method == "server/discover" && p.stateless:
		result["supportedVersions"], result["ttlMs"], result["cacheScope"] = versions, 0, "public"
		s.describe(result)
	case m.method == "tools/list" && begun:
		if cursor := m.params["cursor"]; !absent(cursor) && string(cursor) != `""` {
			return nil, &fault{id: m.id, Code: codeInvalidParams, Text: "invalid params: there is one page of tools"}
		}
		result["tools"], result["ttlMs"], result["cacheScope"] = s.server.Tools, 0, "public"
	case !begun && m.method != "server/discover":
		return nil, early(m)
	default:
		return nil, &fault{id: m.id, Code: codeMethodNotFound, Text: fmt.Sprintf("method not found: %q", m.method)}
	}
	s.complete(result, p)
	return result, nil
}

func early(m *request) *fault {
	return &fault{id: m.id, Code: codeOther, Text: fmt.Sprintf("method %q is invalid during session initialization",
		m.method)}
}

// initialize answers the first request of a session of the versions that have one.
func (s *session) initialize(m *request) (map[string]any, *fault) {
	asked, isText := text(m.params["protocolVersion"])
	roots, ok := readRoots(m.params["capabilities"])
	switch {
	case s.version != "":
		return nil, &fault{id: m.id, Code: codeOther, Text: `duplicate "initialize" received`}
	case !m.given:
		return nil, &fault{id: m.id, Code: codeInvalidRequest, Text: `invalid request: missing required "params"`}
	case !ok || !isText && !absent(m.params["protocolVersion"]):
		return nil, &fault{id: m.id, Code: codeInvalidParams,
			Text: "invalid params: protocolVersion is no string, or capabilities are no object"}
	}
	s.roots, s.version = roots, versions[1]
	if slices.Contains(versions[1:], asked) {
		s.version = asked
	}
	result := map[string]any{"protocolVersion": s.version, "serverInfo": s.info()}
	s.describe(result)
	return result, nil
}

// describe adds what clients of all versions are told of the server.
func (s *session) describe(result map[string]any) {
	result["capabilities"] = map[string]any{"tools": struct{}{}}
	result["instructions"] = s.server.Instructions
}

// complete adds what a stateless client wants in each result.
func (s *session) complete(result map[string]any, p peer) {
	if p.stateless {
		result["resultType"] = "complete"
		result["_meta"] = map[string]any{"io.modelcontextprotocol/serverInfo": s.info()}
	}
}

func (s *session) info() any {
	return map[string]string{"name": s.server.Name, "title": s.server.Title, "version": s.server.Version}
}

// prepare makes a request the call of a tool.
func (s *session) prepare(m *request, p peer) *fault {
	wrong := func(text string) *fault { return &fault{id: m.id, Code: codeInvalidParams, Text: text} }
	if s.version == "" && !p.stateless {
		return early(m)
	}
	if !m.given {
		return &fault{id: m.id, Code: codeInvalidRequest, Text: `invalid request: missing required "params"`}
	}
	name, ok := text(m.params["name"])
	if m.odd || !ok && !absent(m.params["name"]) {
		return wrong("invalid params: they are no object with the name of a tool")
	}
	inputs, ok := object(m.params["inputResponses"])
	if !ok {
		return wrong("invalid params: inputResponses is no object")
	}
	at := slices.IndexFunc(s.server.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return wrong(s.server.Unknown(name))
	}
	if !p.stateless {
		p.roots = s.roots
	}
	m.peer, m.writes = p, s.server.Tools[at].Writes
	m.call = &Call{Tool: name, Arguments: m.params["arguments"], Roots: p.roots, Stateless: p.stateless, Inputs: inputs,
		session: s}
	return nil
}

// rest returns the members of the answer to a call beside its text.
func (r *request) rest(result *Result) map[string]any {
	rest := map[string]any{}
	r.call.session.complete(rest, r.peer)
	if result.Ask != nil {
		rest["content"], rest["inputRequests"], rest["resultType"] = json.RawMessage("null"), result.Ask, "input_required"
		return rest
	}
	if result.Structure != nil {
		rest["structuredContent"] = result.Structure
	}
	if result.IsError {
		rest["isError"] = true
	}
	return rest
}
