package api

import "sync"

// turns limits how many publishes fetch packages at once, in all and for each publisher: one whose
// hosts are slow could take every place.
type turns struct {
	all  chan struct{} // nil: no limit
	each int           // 0: no limit

	mu sync.Mutex
	of map[string]*places // of publishers who have a place or wait for one
}

// places belong to one publisher.
type places struct {
	taken chan struct{}
	users int // publishes that wait or have one; at 0 the entry is removed
}

func newTurns(l Limits) *turns {
	t := &turns{each: max(l.EachChecks, 0), of: map[string]*places{}}
	if l.Checks > 0 {
		t.all = make(chan struct{}, l.Checks)
	}
	return t
}

// enter returns the places of whose, nil if there is no limit for it. Each enter needs a
// leave.
func (t *turns) enter(whose string) chan struct{} {
	if t.each == 0 || whose == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of[whose]
	if p == nil {
		p = &places{taken: make(chan struct{}, t.each)}
		t.of[whose] = p
	}
	p.users++
	return p.taken
}

func (t *turns) leave(whose string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.of[whose]; p != nil {
		if p.users--; p.users == 0 {
			delete(t.of, whose)
		}
	}
}
