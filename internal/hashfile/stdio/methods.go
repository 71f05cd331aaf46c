package stdio

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/surface"
)

// versions has those of the protocol, newest first. A server of stateless cannot send requests, and each message says
// by itself what its client can do.
var versions = []string{stateless, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const stateless = "2026-07-28"

// batched are the versions that have batches.
var batched = versions[3:]

// readPeer reads what a request says of its client by itself, as those of stateless do.
func (m *request) readPeer() *fault {
	const prefix = "io.modelcontextprotocol/"
	meta, ok := object(m.params["_meta"])
	if !ok {
		return wrong("_meta is no object")
	}
	version, _ := text(meta[prefix+"protocolVersion"])
	if version < stateless {
		return nil
	}
	capabilities := meta[prefix+"clientCapabilities"]
	if m.roots, ok = readRoots(capabilities); !ok || absent(capabilities) {
		return wrong(fmt.Sprintf("missing or invalid _meta field %q", prefix+"clientCapabilities"))
	}
	if !slices.Contains(versions, version) {
		return &fault{codeUnsupportedVersion, "unsupported protocol version",
			map[string]any{"supported": versions, "requested": version}}
	}
	m.stateless = true
	return nil
}

// readRoots returns the capability of roots among a client's; ok is false if these are no object.
func readRoots(capabilities []byte) (roots *Roots, ok bool) {
	var all struct {
		Roots *Roots `json:"roots"`
	}
	ok = absent(capabilities) || surface.DecodeKnown(capabilities, &all) == nil
	return all.Roots, ok
}

// answer returns the result of a request that is no call of a tool.
func (s *session) answer(m *request) (map[string]any, *fault) {
	result := s.results(m)
	begun := s.version != "" || m.stateless
	switch {
	case m.method == "initialize" && !m.stateless:
		return result, s.initialize(m, result)
	case m.method == "ping" && !m.stateless:
	case m.method == "server/discover" && m.stateless:
		result["supportedVersions"], result["ttlMs"], result["cacheScope"] = versions, 0, "public"
		s.describe(result)
	case m.method == "tools/list" && begun:
		if cursor := m.params["cursor"]; !absent(cursor) && string(cursor) != `""` {
			return nil, wrong("there is one page of tools")
		}
		result["tools"], result["ttlMs"], result["cacheScope"] = s.server.Tools, 0, "public"
	case !begun && m.method != "server/discover":
		return nil, early(m)
	default:
		return nil, &fault{Code: codeMethodNotFound, Text: fmt.Sprintf("method not found: %q", m.method)}
	}
	return result, nil
}

func early(m *request) *fault {
	return &fault{Code: codeEarly, Text: fmt.Sprintf("method %q is invalid during session initialization", m.method)}
}

// initialize answers the first request of a session of the versions that have one.
func (s *session) initialize(m *request, result map[string]any) *fault {
	asked, isText := text(m.params["protocolVersion"])
	roots, ok := readRoots(m.params["capabilities"])
	switch {
	case s.version != "":
		return &fault{Code: codeEarly, Text: `duplicate "initialize" received`}
	case !ok || !isText && !absent(m.params["protocolVersion"]):
		return wrong("protocolVersion is no string, or capabilities are no object")
	}
	s.roots, s.version = roots, versions[1]
	if slices.Contains(versions[1:], asked) {
		s.version = asked
	}
	result["protocolVersion"], result["serverInfo"] = s.version, s.info()
	s.describe(result)
	return nil
}

// describe adds what clients of all versions are told of the server.
func (s *session) describe(result map[string]any) {
	result["capabilities"] = map[string]any{"tools": struct{}{}}
	result["instructions"] = s.server.Instructions
}

func (s *session) info() any {
	return map[string]string{"name": s.server.Name, "title": s.server.Title, "version": s.server.Version}
}

// results returns what each result has for a client.
func (s *session) results(m *request) map[string]any {
	if !m.stateless {
		return map[string]any{}
	}
	return map[string]any{"resultType": "complete",
		"_meta": map[string]any{"io.modelcontextprotocol/serverInfo": s.info()}}
}

// prepare makes a request the call of a tool.
func (s *session) prepare(m *request) *fault {
	if s.version == "" && !m.stateless {
		return early(m)
	}
	name, isText := text(m.params["name"])
	inputs, ok := object(m.params["inputResponses"])
	if !ok || !isText && !absent(m.params["name"]) {
		return wrong("name is no string, or inputResponses is no object")
	}
	at := slices.IndexFunc(s.server.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return &fault{Code: codeInvalidParams, Text: s.server.Unknown(name)}
	}
	if !m.stateless {
		m.roots = s.roots
	}
	m.writes = s.server.Tools[at].Writes
	m.call = &Call{Tool: name, Arguments: m.params["arguments"], Roots: m.roots, Stateless: m.stateless, Inputs: inputs,
		session: s}
	return nil
}

// rest returns the members of the result of a call beside its text.
func (s *session) rest(m *request, result *Result) map[string]any {
	rest := s.results(m)
	if result.Ask != nil {
		rest["content"], rest["inputRequests"], rest["resultType"] = json.RawMessage("null"),
			result.Ask, "input_required"
	}
	if result.Structure != nil {
		rest["structuredContent"] = result.Structure
	}
	if result.IsError {
		rest["isError"] = true
	}
	return rest
}
