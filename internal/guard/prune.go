package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// What a server says of itself, and around the items of a listing, is in no digest. So only
// what has no room for text of the server's is passed on: the members that the protocol
// names, with values that are numbers, words of the protocol, versions and one short name.
// Everything else is left out, always, whether the protocol knows it or not.

// A shape says what is passed on of a value.
type shape struct {
	members map[string]shape    // of an object, which alone is passed on then, or a scalar
	numbers bool                // of an object: a few further members with scalars are too
	fits    func(v []byte) bool // what is passed on as it is
	instead string              // JSON in place of what is not; "" leaves the member out
}

const (
	maxWord    = 64 // bytes of a name or version
	maxNumbers = 8  // members of an object that are passed on for being scalars
	maxNumber  = 32 // bytes
)

// word reports whether v is a string that may be a name, a version or a date, and no sentence.
func word(v []byte) bool {
	s, ok := text(v)
	return ok && s != "" && len(s) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("._@/+-", r))
	})
}

// protocolVersions reports whether v is a list of protocol versions, which are dates, or DRAFT-….
func protocolVersions(v []byte) bool {
	var list []json.RawMessage
	return json.Unmarshal(v, &list) == nil && len(list) <= 32 && !slices.ContainsFunc(list, func(v json.RawMessage) bool { return !protocolVersion(v) })
}

func protocolVersion(v []byte) bool {
	return word(v) && len(v) <= maxNumber && ('0' <= v[1] && v[1] <= '9' || bytes.HasPrefix(v, []byte(`"DRAFT-`)))
}

func anything([]byte) bool { return true }

// scalars are true, false, null and numbers.
func scalars(v []byte) bool { return len(v) <= maxNumber && bytes.IndexByte([]byte(`"{[`), v[0]) < 0 }

// nothing is what means the same as none.
func nothing(v []byte) bool {
	switch string(v) {
	case "null", `""`, "{}", "[]":
		return true
	}
	return false
}

func oneOf(these ...string) func([]byte) bool {
	return func(v []byte) bool { return slices.Contains(these, string(v)) }
}

func object(members map[string]shape) shape { return shape{members: members} }

var (
	flag      = shape{fits: scalars}
	empty     = shape{fits: nothing}
	opaque    = shape{fits: anything}
	switches  = object(map[string]shape{"listChanged": flag, "subscribe": flag})
	blank     = object(nil)
	offerings = object(map[string]shape{
		"tools": switches, "prompts": switches, "resources": switches, "logging": blank, "completions": blank,
		"tasks": object(map[string]shape{
			"list": blank, "cancel": blank,
			"requests": object(map[string]shape{"tools": object(map[string]shape{"call": blank})}),
		}),
		"experimental": empty, "extensions": empty,
	})
	results = map[string]shape{
		"resultType": {fits: oneOf(`"complete"`)}, "ttlMs": flag, "cacheScope": {fits: oneOf(`"public"`, `"private"`)},
	}
)

// introductions is the shape of the results of initialize and server/discover. The server's
// name is known to its client, who is told that one if the server gives a sentence for one.
func introductions(server string) shape {
	return resultOf(map[string]shape{
		"protocolVersion": {fits: protocolVersion}, "supportedVersions": {fits: protocolVersions},
		"capabilities": offerings, "serverInfo": identity(server), "instructions": opaque,
	}, server)
}

// identity is the shape of what a server says that it is.
func identity(server string) shape {
	called, err := json.Marshal(surface.Escape(server))
	if err != nil || server == "" {
		called = []byte(`"server"`)
	}
	return object(map[string]shape{
		"name": {fits: word, instead: string(called)}, "version": {fits: word, instead: `"0"`},
		"title": empty, "description": empty, "icons": empty, "websiteUrl": empty,
	})
}

// resultOf is the shape of a result with the given members besides those of every result.
func resultOf(members map[string]shape, server string) shape {
	meta := object(map[string]shape{"io.modelcontextprotocol/serverInfo": identity(server)})
	meta.numbers = true
	members["_meta"] = meta
	for name, sh := range results {
		members[name] = sh
	}
	return object(members)
}

// pages is the shape of the result of a listing.
func pages(member, server string) shape {
	return resultOf(map[string]shape{member: opaque, "nextCursor": opaque}, server)
}

// pruner copies what is passed on.
type pruner struct {
	s    scanner
	left []string // paths of what is left out
}

var errTwice = errors.New("a member is given twice")

// value is what is passed on of the value at v, which is that of a member at path: the bytes of b
// themselves if that is all of it, nil if it is nothing.
func (p *pruner) value(b []byte, v span, sh shape, path string) ([]byte, error) {
	raw := v.of(b)
	switch {
	case sh.fits != nil && sh.fits(raw):
		return raw, nil
	case sh.fits == nil && raw[0] == '{':
		return p.object(b, v, sh, path)
	case sh.fits == nil && scalars(raw):
		return raw, nil
	}
	p.left = append(p.left, path)
	if sh.instead != "" {
		return []byte(sh.instead), nil
	}
	return nil, nil
}

func (p *pruner) object(b []byte, at span, sh shape, path string) ([]byte, error) {
	i := space(b, at.lo+1)
	if b[i] == '}' {
		return at.of(b), nil
	}
	var (
		kept [][]byte
		seen = map[string]bool{}
		same = true
	)
	for {
		start := i
		value, _ := scanName(b, i)
		end, err := p.s.value(b, value)
		if err != nil {
			return nil, err
		}
		nameEnd, _ := scanString(b, start)
		name, ok := text(b[start:nameEnd])
		inside, known := sh.members[name]
		if !known && sh.numbers && len(seen) < maxNumbers && word(b[start:nameEnd]) && scalars(b[value:end]) {
			inside, known = flag, true
		}
		var out []byte
		if !ok || !known {
			p.left = append(p.left, strings.TrimPrefix(path+".", ".")+"…")
		} else if seen[name] {
			return nil, errTwice
		} else if out, err = p.value(b, span{value, end}, inside, strings.TrimPrefix(path+"."+name, ".")); err != nil {
			return nil, err
		}
		seen[name] = true
		if out != nil && &out[0] == &b[value] && len(out) == end-value {
			kept = append(kept, b[start:end])
		} else {
			if same = false; out != nil {
				kept = append(kept, append(bytes.Clone(b[start:value]), out...))
			}
		}
		if i = space(b, end); b[i] == '}' {
			break
		}
		i = space(b, i+1)
	}
	if same {
		return at.of(b), nil
	}
	return append(append([]byte{'{'}, bytes.Join(kept, []byte(","))...), '}'), nil
}

// prune leaves out of an answer what the shape of its result has no room for. It returns line and
// m themselves if that is nothing.
func (s *session) prune(line []byte, m *message, result shape, what string) ([]byte, *message, error) {
	if !s.compares() || line[m.result.lo] != '{' {
		return line, m, nil
	}
	var p pruner
	out, err := p.object(line, m.whole, object(map[string]shape{
		"jsonrpc": {fits: oneOf(`"2.0"`), instead: `"2.0"`}, "id": opaque, "result": result, "error": empty,
	}), "")
	if err != nil || len(p.left) == 0 {
		return line, m, err
	}
	slices.Sort(p.left)
	verb := "is passed on without"
	if s.o.OnDrift == Warn {
		verb = "is let through with"
	}
	s.noteOnce(fmt.Sprintf("%s of the server %s %s", what, verb, strings.ReplaceAll(strings.Join(slices.Compact(p.left), ", "), "result.", "")))
	if s.o.OnDrift == Warn {
		return line, m, nil
	}
	out = append(out, '\n')
	again, err := s.s.message(out, 0)
	return out, &again, err
}

// compares reports whether anything was approved to be compared with.
func (r *relay) compares() bool {
	return slices.ContainsFunc(surface.Kinds(), func(k surface.Kind) bool { return !r.o.Approved.Exclude[k] })
}

// noteOnce writes a line that was not written before.
func (r *relay) noteOnce(line string) {
	r.mu.Lock()
	again := r.noted[line]
	if len(r.noted) < maxNotes {
		r.noted[line] = true
	}
	r.mu.Unlock()
	if !again {
		r.notes.printf("%s", line)
	}
}
