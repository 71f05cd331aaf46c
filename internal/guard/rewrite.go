package guard

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
	"github.com/hallmark-mcp/hallmark/internal/guard/prune"
	"github.com/hallmark-mcp/hallmark/surface"
)

// page judges the items of a listing's answer and cuts out what drifted.
func (s *session) page(line []byte, m *jsonrpc.Message, q *request) []byte {
	var at [2]jsonrpc.Span
	k := &listing.Methods[q.listing]
	_, err := s.s.Object(line, m.Result.Lo, k.Fields, at[:])
	if err == nil {
		if line, m, err = s.prune(line, m, prune.Page(k.Member, s.o.Server, s.replaceCursor), prune.Nothing, k.Name); err == nil {
			_, err = s.s.Object(line, m.Result.Lo, k.Fields, at[:])
		}
	}
	if err != nil {
		return s.refuse(q, err)
	}
	if !at[0].Present() || line[at[0].Lo] == 'n' {
		return line
	}
	var elements []jsonrpc.Span
	_, err = s.s.Array(line, at[0].Lo, func(e jsonrpc.Span) error {
		if len(elements) == listing.MaxItems {
			return fmt.Errorf("more than %d items", listing.MaxItems)
		}
		elements = append(elements, e)
		return nil
	})
	if err != nil {
		return s.refuse(q, fmt.Errorf("%s: %w", k.Member, err))
	}
	raw := make([]json.RawMessage, len(elements))
	for i, e := range elements {
		raw[i] = e.Of(line)
	}
	s.mu.Lock()
	keep, drifted, again := s.surface.JudgePage(k.Kind, raw)
	if again {
		s.relist(k.Kind)
	}
	s.mu.Unlock()
	for _, d := range drifted {
		s.noteDrift(d)
	}
	if s.o.OnDrift == Warn {
		return line
	}
	return cutElements(line, at[0], elements, keep)
}

// refuse answers q with an error because its result cannot be read for certain.
func (s *session) refuse(q *request, err error) []byte {
	s.notes.Printf("dropped an answer of the server: %s", err)
	return s.broken(q, err.Error())
}

// cutElements returns line if all elements of the array at whole are kept, else a
// copy without the others. Kept ones stay byte for byte, with the space around them.
func cutElements(line []byte, whole jsonrpc.Span, elements []jsonrpc.Span, keep []bool) []byte {
	all := true
	for _, k := range keep {
		all = all && k
	}
	if all {
		return line
	}
	out := append(make([]byte, 0, len(line)), line[:whole.Lo+1]...)
	start, first := whole.Lo+1, true
	for i, e := range elements {
		end := jsonrpc.SkipSpace(line, e.Hi) // of the comma or bracket after it
		if keep[i] {
			if !first {
				out = append(out, ',')
			}
			first = false
			out = append(out, line[start:end]...)
		}
		start = end + 1
	}
	return append(out, line[whole.Hi-1:]...)
}

var welcomeFields = jsonrpc.Names("capabilities", "instructions")

// welcome reads the result of initialize or server/discover and strips instructions
// that drifted.
func (s *session) welcome(line []byte, m *jsonrpc.Message, q *request) []byte {
	var at [2]jsonrpc.Span
	_, err := s.s.Object(line, m.Result.Lo, welcomeFields, at[:])
	if err == nil {
		if line, m, err = s.prune(line, m, prune.Introduction(s.o.Server), prune.Nothing, "the introduction"); err == nil {
			_, err = s.s.Object(line, m.Result.Lo, welcomeFields, at[:])
		}
	}
	var o listing.Offers
	if err == nil {
		o, err = listing.ReadOffers(&s.s, line, at[0])
	}
	if err != nil {
		return s.refuse(q, err)
	}
	instructions, bad := "", error(nil)
	if at[1].Present() {
		instructions, bad = surface.ParseInstructions(at[1].Of(line))
	}
	s.mu.Lock()
	drift := s.surface.JudgeInstructions(instructions, bad != nil)
	if q.what == askDiscover {
		if q.meta != nil {
			s.beginStateless(q.meta, o)
		}
	} else {
		s.offers, s.listed, s.initialized, s.initializing = o, false, true, false
		if s.waiting {
			s.waiting, s.meta = false, nil
			s.startAll()
		}
	}
	s.mu.Unlock()
	if drift == nil {
		return line
	}
	s.noteDrift(*drift)
	if s.o.OnDrift == Warn {
		return line
	}
	result := jsonrpc.CutMember(line, m.Result, at[1])
	out := append(bytes.Clone(line[:m.Result.Lo]), result...)
	return append(out, line[m.Result.Hi:]...)
}
