package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/surface"
)

// handleAnswer handles the answer to q.
func (s *session) handleAnswer(line []byte, m *jsonrpc.Message, q *request) []byte {
	if q.kind == askGuard {
		q.answer <- CopyAnswer(line, m)
		return nil
	}
	if (q.kind == askCall || q.kind == askTask) && s.requestPolicy() != RequestsAllow {
		if err := s.checkInput(line, m, q); err != nil {
			return s.refuseAnswer(q, err)
		}
	}
	switch {
	case q.kind == askInitialize && m.Err.Present():
		s.abandonHandshake()
		return s.pruneError(line, m, q)
	case m.Err.Present() && (q.kind == askList || q.kind == askDiscover):
		return s.pruneError(line, m, q)
	case m.Err.Present():
	case q.kind == askList:
		return s.filterPage(line, m, q)
	case q.kind == askInitialize, q.kind == askDiscover:
		return s.filterIntroduction(line, m, q)
	case q.kind == askTask:
		if err := s.rememberTask(line, m, q); err != nil {
			return s.refuseAnswer(q, err)
		}
	}
	return line
}

// filterPage judges the items of an answer to a listing and cuts out what drifted.
func (s *session) filterPage(line []byte, m *jsonrpc.Message, q *request) []byte {
	var at [2]jsonrpc.Span
	method := &Methods[q.listing]
	_, err := s.s.Object(line, m.Result.Lo, method.Fields, at[:])
	if err == nil {
		page := Page(method.Member, s.o.Server, s.replaceCursor)
		if line, m, err = s.prune(line, m, page, NoValue, method.Name); err == nil {
			_, err = s.s.Object(line, m.Result.Lo, method.Fields, at[:])
		}
	}
	if err != nil {
		return s.refuseAnswer(q, err)
	}
	if !at[0].Present() || line[at[0].Lo] == 'n' {
		return line
	}
	var elements []jsonrpc.Span
	_, err = s.s.Array(line, at[0].Lo, func(e jsonrpc.Span) error {
		if len(elements) == MaxItems {
			return fmt.Errorf("more than %d items", MaxItems)
		}
		elements = append(elements, e)
		return nil
	})
	if err != nil {
		return s.refuseAnswer(q, fmt.Errorf("%s: %w", method.Member, err))
	}
	raw := make([]json.RawMessage, len(elements))
	for i, e := range elements {
		raw[i] = e.Of(line)
	}
	s.mu.Lock()
	keep, drifted, again := s.surface.JudgePage(method.Kind, raw)
	if again {
		s.relist(method.Kind)
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

// refuseAnswer answers q with an error because its result cannot be read with certainty.
func (s *session) refuseAnswer(q *request, err error) []byte {
	s.notes.Printf("dropped an answer of the server: %s", err)
	return s.answerBroken(q, err.Error())
}

// cutElements returns line if all elements of the array at whole are kept, else a copy without the
// others. Kept elements stay byte for byte, with the space around them.
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
		end := jsonrpc.SkipSpace(line, e.Hi) // where the comma or bracket after it stands
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

var introductionFields = jsonrpc.Names("capabilities", "instructions")

// filterIntroduction reads the result of initialize or server/discover and cuts out instructions that
// drifted.
func (s *session) filterIntroduction(line []byte, m *jsonrpc.Message, q *request) []byte {
	var at [2]jsonrpc.Span
	_, err := s.s.Object(line, m.Result.Lo, introductionFields, at[:])
	if err == nil {
		introduction := InitializeResult(s.o.Server)
		if line, m, err = s.prune(line, m, introduction, NoValue, "the introduction"); err == nil {
			_, err = s.s.Object(line, m.Result.Lo, introductionFields, at[:])
		}
	}
	var offers Offers
	if err == nil {
		offers, err = ReadOffers(&s.s, line, at[0])
	}
	if err != nil {
		return s.refuseAnswer(q, err)
	}
	instructions, malformed := "", error(nil)
	if at[1].Present() {
		instructions, malformed = surface.ParseInstructions(at[1].Of(line))
	}
	s.mu.Lock()
	drift := s.surface.JudgeInstructions(instructions, malformed != nil)
	if q.kind == askDiscover {
		if q.meta != nil {
			s.beginStateless(q.meta, offers)
		}
	} else {
		s.offers, s.listed, s.initialized, s.initializing = offers, false, true, false
		if s.initializedEarly {
			s.initializedEarly, s.meta = false, nil
			s.relistAll()
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

var (
	taskFields   = jsonrpc.Names("task")
	taskIDFields = jsonrpc.Names("taskId")
)

// rememberTask remembers which tool runs as the task that the answer to a call names. A task that cannot
// be remembered is an error, because its result could not be judged.
func (s *session) rememberTask(line []byte, m *jsonrpc.Message, q *request) error {
	var at [1]jsonrpc.Span
	if line[m.Result.Lo] != '{' {
		return nil
	}
	if _, err := s.s.Object(line, m.Result.Lo, taskFields, at[:]); err != nil {
		return err
	}
	if !at[0].Present() || line[at[0].Lo] != '{' {
		return nil
	}
	if _, err := s.s.Object(line, at[0].Lo, taskIDFields, at[:]); err != nil {
		return err
	}
	if !at[0].Present() {
		return nil
	}
	id, ok := jsonrpc.Text(at[0].Of(line))
	if !ok || len(id) > jsonrpc.MaxID {
		return fmt.Errorf("the id of its task is no string of characters, or longer than %d bytes", jsonrpc.MaxID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if tool, ok := s.tasks.Get(id); ok && tool != q.tool {
		return errors.New("the id of its task is that of another tool's")
	}
	if !s.tasks.Put(id, q.tool, len(q.tool)) {
		s.tasksFull = true
		return errors.New("more tasks were made than can be remembered")
	}
	return nil
}

// prune leaves out of an answer what the shape of its result, or of its error, has no room for.
// what names the answer in a note. It returns line and m themselves if nothing is left out.
func (s *session) prune(line []byte, m *jsonrpc.Message, result, fault Shape, what string) ([]byte,
	*jsonrpc.Message, error) {
	if !s.comparesAny() || m.Result.Present() && line[m.Result.Lo] != '{' {
		return line, m, nil
	}
	out, left, err := Message(line, m.Whole, result, fault)
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
	if q.kind == askList {
		what = Methods[q.listing].Name
	}
	out, _, err := s.prune(line, m, NoValue, Failure, what)
	if err != nil {
		return s.refuseAnswer(q, err)
	}
	return out
}
