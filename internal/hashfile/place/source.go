package place

import (
	"context"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

// Source knows where the allowed directories of a server come from: its configuration, and its client.
type Source struct {
	own    []*Named // of the configuration
	client clientRoots
	wait   time.Duration // for the client's answer
}

// NewSource returns the source of the directories of paths, which have to exist, and of the client's roots. A client
// that is asked for its roots has to answer within wait.
func NewSource(paths []string, wait time.Duration) (*Source, error) {
	s := &Source{wait: wait}
	s.client.asking = make(chan struct{}, 1)
	for _, path := range paths {
		n, err := nameRoot(path)
		if err != nil {
			return nil, err
		}
		s.own = append(s.own, n)
	}
	return s, nil
}

// NoteChange records that the client notified of a change of its roots. The next call asks for them again.
func (s *Source) NoteChange() { s.client.noteChange() }

// Close releases the allowed directories. No call may be running.
func (s *Source) Close() {
	s.client.close()
	for _, n := range s.own {
		n.close()
	}
}

// Scope returns the directories that a call may use; the caller closes it. If ask is not nil it has to be sent to the
// client in place of an answer, and the client repeats the call with its input.
func (s *Source) Scope(ctx context.Context, call *stdio.Call) (sc *Scope, ask map[string]any, err error) {
	if call.Roots == nil {
		if len(s.own) == 0 {
			return nil, nil,
				Refuse(OutsideRoots, "no directory is allowed: the server was started without "+
					"--root and the client offers no roots; start it with --root DIR")
		}
		return s.Configured(), nil, nil
	}
	var listed listing
	if call.Stateless {
		answer, ok := call.Inputs["roots"]
		if !ok {
			return nil, map[string]any{"roots": map[string]any{"method": "roots/list", "params": struct{}{}}}, nil
		}
		listed = readListing(answer, nil)
	} else {
		listed = s.client.list(ctx, call, s.wait)
	}
	if listed.err != nil {
		return nil, nil, Refuse(OutsideRoots,
			"the client does not list its roots (%s), so that no directory is allowed", Show(listed.err.Error()))
	}
	sc = s.combine(listed.paths)
	sc.cut = listed.cut
	return sc, nil, nil
}

// Configured returns the scope of a call that may use the configured directories, whatever the client's roots are.
func (s *Source) Configured() *Scope {
	sc := &Scope{}
	sc.roots, sc.absent = settle(s.own)
	return sc
}

// combine returns the scope of the client's roots, with these paths, and the configured ones, which the former narrow.
// Roots that are no directories of this machine are left out.
func (s *Source) combine(paths []string) *Scope {
	listed, absent := settle(s.client.nameRoots(paths))
	if len(s.own) == 0 {
		return &Scope{roots: listed, absent: absent}
	}
	sc := s.Configured()
	sc.narrow = true
	for _, r := range listed {
		sc.within, sc.given = append(sc.within, r.Path), append(sc.given, r.given)
		sc.links = append(sc.links, r.links...)
	}
	return sc
}
