package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
	"github.com/hallmark-mcp/hallmark/internal/guard/prune"
	"github.com/hallmark-mcp/hallmark/surface"
)

// prune leaves out of an answer what the shape of its result, or of its error, has no room for.
// what names the answer in a note. It returns line and m themselves if nothing is left out.
func (s *session) prune(line []byte, m *jsonrpc.Message, result, fault prune.Shape, what string) ([]byte, *jsonrpc.Message,
	error) {
	if !s.comparesAny() || m.Result.Present() && line[m.Result.Lo] != '{' {
		return line, m, nil
	}
	out, left, err := prune.Message(line, m.Whole, result, fault)
	if err != nil {
		return line, m, err
	}
	if len(left) > 0 {
		verb := "is passed on without"
		if s.o.OnDrift == Warn {
			verb = "is let through with"
		}
		s.notes.PrintOnce(fmt.Sprintf("%s of the server %s %s", what, verb,
			strings.ReplaceAll(strings.Join(left, ", "), "result.", "")))
	}
	if s.o.OnDrift == Warn || &out[0] == &line[m.Whole.Lo] {
		return line, m, nil
	}
	out = append(out, '\n')
	again, err := s.s.Message(out, 0)
	return out, &again, err
}

// pruneError is prune for the error that answers q.
func (s *session) pruneError(line []byte, m *jsonrpc.Message, q *request) []byte {
	what := "the introduction"
	if q.what == askList {
		what = listing.Methods[q.listing].Name
	}
	out, _, err := s.prune(line, m, prune.Nothing, prune.Failure, what)
	if err != nil {
		return s.refuse(q, err)
	}
	return out
}

// comparesAny reports whether any kind of items is compared with what was approved.
func (r *relay) comparesAny() bool {
	return slices.ContainsFunc(surface.Kinds(), func(k surface.Kind) bool { return !r.o.Approved.Exclude[k] })
}
