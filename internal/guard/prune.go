package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// What a server says of itself, and around the items of a listing, is in no digest. So only
// what has no room for text of the server's is passed on: the members that the protocol
// names, with values that are numbers, words of the protocol and versions. Everything else is
// left out, always, whether the protocol knows it or not. Three things cannot be left out, as
// clients need them, and get other words: the server's name, see identity; the cursor of a
// page, see cursor.go; and the reason of an error, which is quoted.

// A shape says what is passed on of a value.
type shape struct {
	members map[string]shape      // of an object, which alone is passed on then, or a scalar
	fits    func(v []byte) bool   // what is passed on as it is
	instead func(v []byte) []byte // JSON in place of what is not; nil leaves the member out
	quiet   func(v []byte) bool   // what is replaced without a word, as it is in every session
}

const (
	maxWord   = 64 // bytes of a name or version
	maxNumber = 32 // bytes
)

// word reports whether v is a string that may be a name, a version or a date, and no sentence.
func word(v []byte) bool {
	s, ok := jsonrpc.Text(v)
	return ok && s != "" && len(s) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("._@/+-",
			r))
	})
}

// programVersion is a version of a program: numbers, commits, and the words that versions have.
var programVersion = regexp.MustCompile(`^"v?[0-9](?:[-+._]?(?:alpha|beta|canary|dev|development|final|git|nightly|` +
	`next|post|pre|preview|r|rc|release|snapshot|stable|SNAPSHOT|g)?[0-9a-f]*)*"$`)

func release(v []byte) bool { return word(v) && programVersion.Match(v) }

// protocolVersions reports whether v is a list of protocol versions.
func protocolVersions(v []byte) bool {
	var list []json.RawMessage
	return json.Unmarshal(v, &list) == nil && len(list) <= 32 && !slices.ContainsFunc(list,
		func(v json.RawMessage) bool { return !protocolVersion(v) })
}

// protocolDate is a protocol version: a date, of a draft or candidate with a few letters.
var protocolDate = regexp.MustCompile(`^"(?:\d{4}-\d{2}-\d{2}(?:-[0-9A-Za-z.]{1,8})?|DRAFT-\d{4}-[0-9A-Za-z.]{1,8})"$`)

func protocolVersion(v []byte) bool { return protocolDate.Match(v) }

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

func always(json []byte) func([]byte) []byte { return func([]byte) []byte { return json } }

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

// introductions is the shape of the results of initialize and server/discover.
func introductions(server string) shape {
	return resultOf(map[string]shape{
		"protocolVersion": {fits: protocolVersion}, "supportedVersions": {fits: protocolVersions},
		"capabilities": offerings, "serverInfo": identity(server), "instructions": opaque,
	}, server)
}

// identity is the shape of what a server says that it is. Its name is the one that its user
// gave it, whatever it calls itself: even one word has room for a sentence, and for the name
// of somebody else.
func identity(server string) shape {
	called, err := json.Marshal(surface.Escape(server))
	if err != nil || server == "" {
		called = []byte(`"server"`)
	}
	return object(map[string]shape{
		"name":    {fits: oneOf(string(called)), instead: always(called), quiet: word},
		"version": {fits: release, instead: always([]byte(`"0"`))},
		"title":   empty, "description": empty, "icons": empty, "websiteUrl": empty,
	})
}

// resultOf is the shape of a result with the given members besides those of every result.
func resultOf(members map[string]shape, server string) shape {
	members["_meta"] = object(map[string]shape{"io.modelcontextprotocol/serverInfo": identity(server)})
	for name, sh := range results {
		members[name] = sh
	}
	return object(members)
}

// pages is the shape of the result of a listing, in which stand takes the place of a cursor.
func pages(member, server string, stand func([]byte) []byte) shape {
	return resultOf(map[string]shape{
		member: opaque, "nextCursor": {fits: plainCursor, instead: stand, quiet: anything},
	}, server)
}

// failures is the shape of an error that answers one of those. Of its data is passed on what
// a client needs to choose another version of the protocol.
var failures = object(map[string]shape{
	"code": flag,
	"message": {
		fits: oneOf(`"Parse error"`, `"Invalid Request"`, `"Method not found"`, `"Invalid params"`,
			`"Internal error"`),
		instead: attributeReason, quiet: anything,
	},
	"data": object(map[string]shape{"supported": {fits: protocolVersions}, "requested": {fits: protocolVersion}}),
})

// attributeReason is the reason of a server's error as Hallmark repeats it.
func attributeReason(v []byte) []byte {
	said, _ := jsonrpc.Text(v)
	out, err := json.Marshal("hallmark: " + showReason(said))
	if err != nil {
		return nil
	}
	return out
}

// pruner copies what is passed on.
type pruner struct {
	s    jsonrpc.Scanner
	left []string // paths of what is left out
}

var errTwice = errors.New("a member is given twice")

// value is what is passed on of the value at v, which is that of a member at path: the bytes of b
// themselves if that is all of it, nil if it is nothing.
func (p *pruner) value(b []byte, v jsonrpc.Span, sh shape, path string) ([]byte, error) {
	raw := v.Of(b)
	switch {
	case sh.fits != nil && sh.fits(raw):
		return raw, nil
	case sh.fits == nil && raw[0] == '{':
		return p.object(b, v, sh, path)
	case sh.fits == nil && scalars(raw):
		return raw, nil
	}
	var out []byte
	if sh.instead != nil {
		out = sh.instead(raw)
	}
	if out == nil || sh.quiet == nil || !sh.quiet(raw) {
		p.left = append(p.left, path)
	}
	return out, nil
}

func (p *pruner) object(b []byte, at jsonrpc.Span, sh shape, path string) ([]byte, error) {
	i := jsonrpc.SkipSpace(b, at.Lo+1)
	if b[i] == '}' {
		return at.Of(b), nil
	}
	var (
		kept [][]byte
		seen = map[string]bool{}
		same = true
	)
	for {
		start := i
		value, _ := jsonrpc.ScanName(b, i)
		end, err := p.s.Value(b, value)
		if err != nil {
			return nil, err
		}
		nameEnd, _ := jsonrpc.ScanString(b, start)
		name, ok := jsonrpc.Text(b[start:nameEnd])
		inside, known := sh.members[name]
		var out []byte
		if !ok || !known {
			p.left = append(p.left, strings.TrimPrefix(path+".", ".")+"…")
		} else if seen[name] {
			return nil, errTwice
		} else if out, err = p.value(b, jsonrpc.Span{Lo: value, Hi: end}, inside, strings.TrimPrefix(path+"."+name,
			".")); err != nil {
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
		if i = jsonrpc.SkipSpace(b, end); b[i] == '}' {
			break
		}
		i = jsonrpc.SkipSpace(b, i+1)
	}
	if same {
		return at.Of(b), nil
	}
	return append(append([]byte{'{'}, bytes.Join(kept, []byte(","))...), '}'), nil
}

// prune leaves out of an answer what the shape of its result, or of its error, has no room for.
// It returns line and m themselves if that is nothing.
func (s *session) prune(line []byte, m *jsonrpc.Message, result, fault shape, what string) ([]byte, *jsonrpc.Message,
	error) {
	if !s.compares() || m.Result.Present() && line[m.Result.Lo] != '{' {
		return line, m, nil
	}
	var p pruner
	out, err := p.object(line, m.Whole, object(map[string]shape{
		"jsonrpc": {fits: oneOf(`"2.0"`), instead: always([]byte(`"2.0"`))},
		"id":      opaque, "result": result, "error": fault,
	}), "")
	if err != nil {
		return line, m, err
	}
	if len(p.left) > 0 {
		slices.Sort(p.left)
		verb := "is passed on without"
		if s.o.OnDrift == Warn {
			verb = "is let through with"
		}
		s.noteOnce(fmt.Sprintf("%s of the server %s %s", what, verb,
			strings.ReplaceAll(strings.Join(slices.Compact(p.left), ", "), "result.", "")))
	}
	if s.o.OnDrift == Warn || &out[0] == &line[m.Whole.Lo] {
		return line, m, nil
	}
	out = append(out, '\n')
	again, err := s.s.Message(out, 0)
	return out, &again, err
}

// pruneError does that to an answer that is an error.
func (s *session) pruneError(line []byte, m *jsonrpc.Message, q *request) []byte {
	what := "the introduction"
	if q.what == askList {
		what = listings[q.listing].method
	}
	out, _, err := s.prune(line, m, empty, failures, what)
	if err != nil {
		return s.refuse(q, err)
	}
	return out
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
