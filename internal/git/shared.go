package git

import (
	"cmp"
	"context"
	"errors"
	"sync"
)

// Shared is what repositories gave to one command: each reference is resolved once, and each commit fetched once,
// however many facets come from it. The zero value is empty.
type Shared struct {
	mu      sync.Mutex
	refs    map[string]func() (string, error)
	commits map[string]func() (*Commit, error)
	with    *Shared // that has all of it instead
}

// Join makes s hold nothing itself: what it is asked for is had of another one, which outlives it. Nil changes nothing.
func (s *Shared) Join(with *Shared) { s.with = with }

// Resolve is [Repository.Resolve].
func (s *Shared) Resolve(ctx context.Context, r Repository, ref Ref) (commit string, err error) {
	s = cmp.Or(s.with, s)
	return once(s, &s.refs, r.URL+"\x00"+ref.Tag+"\x00"+ref.Branch, func() (string, error) {
		return r.Resolve(ctx, ref)
	})
}

// Fetch is [Repository.Fetch]. The commit is there until [Shared.Close].
func (s *Shared) Fetch(ctx context.Context, r Repository, commit string) (*Commit, error) {
	s = cmp.Or(s.with, s)
	return once(s, &s.commits, r.URL+"\x00"+commit, func() (*Commit, error) { return r.Fetch(ctx, commit) })
}

// once is what a function gives for a key, which is called the first time that the key is asked for.
func once[V any](s *Shared, all *map[string]func() (V, error), key string, get func() (V, error)) (V, error) {
	s.mu.Lock()
	if *all == nil {
		*all = map[string]func() (V, error){}
	}
	known, ok := (*all)[key]
	if !ok {
		known = sync.OnceValues(get)
		(*all)[key] = known
	}
	s.mu.Unlock()
	return known()
}

// Close removes what was fetched.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, get := range s.commits {
		if c, err := get(); err == nil {
			errs = append(errs, c.Close())
		}
	}
	s.commits = nil
	return errors.Join(errs...)
}
