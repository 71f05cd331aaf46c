package engine

import (
	"bytes"
	"container/list"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// What snapshots hold at most, in bytes.
const (
	maxSnapshots = 64 << 20
	maxSnapshot  = 16 << 20 // of one file; larger ones cannot be rebased
	snapshotCost = 512      // what one takes besides its bytes, about
)

// snapshots are the contents of files as they were read. Of each file the latest state is held whole, and each earlier
// one as its difference to the next, so that a file that is edited repeatedly is not held once for each edit. When
// they take too much memory, the file that was not used for the longest time loses its oldest state first.
type snapshots struct {
	mu    sync.Mutex
	files map[snapshotKey]*list.Element
	order list.List // of *history, latest first
	size  int
}

// snapshotKey identifies a file: by its path in an allowed directory, and the identity of that directory, so that a
// directory that has the same path before or after is another one.
type snapshotKey struct {
	root *place.Identity
	path string
}

// history holds the states of one file.
type history struct {
	key   snapshotKey
	hash  digest.Digest
	data  []byte    // the latest, which nobody changes
	edit  edit      // that made it
	older []earlier // oldest first
}

// edit is what an edit of this server did to the state before it; nil if the state came from elsewhere.
type edit []hashline.Hunk

// earlier is a state as its difference to the next one: its bytes are the first head bytes of the next state, then
// middle, then the last tail bytes of the next state.
type earlier struct {
	hash       string
	edit       edit // that made it
	head, tail int
	size       int // of the next state
	middle     []byte
}

// latest returns the latest state of a file. The caller must not change data.
func (s *snapshots) latest(key snapshotKey) (hash digest.Digest, data []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.files[key]
	if e == nil {
		return digest.Digest{}, nil, false
	}
	s.order.MoveToFront(e)
	h := e.Value.(*history)
	return h.hash, h.data, true
}

// add keeps data, which nobody may change any more, as the latest state of a file.
func (s *snapshots) add(key snapshotKey, hash digest.Digest, data []byte, by edit) {
	if len(data) > maxSnapshot {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[snapshotKey]*list.Element{}
	}
	e := s.files[key]
	if e == nil {
		e = s.order.PushFront(&history{key: key, hash: hash, data: data, edit: by})
		s.files[key] = e
		s.size += len(key.path) + len(data) + snapshotCost
	} else {
		s.order.MoveToFront(e)
		h := e.Value.(*history)
		if bytes.Equal(h.data, data) {
			return
		}
		was := h.before(data)
		h.older = append(h.older, was)
		s.size += len(data) - len(h.data) + len(was.middle) + snapshotCost
		h.hash, h.data, h.edit = hash, data, by
	}
	for s.size > maxSnapshots {
		s.drop(s.order.Back())
	}
}

// before returns the latest state as an earlier one of next.
func (h *history) before(next []byte) earlier {
	n := min(len(h.data), len(next))
	head := commonBytes(n, func(from, to int) bool { return bytes.Equal(h.data[from:to], next[from:to]) })
	a, b := len(h.data), len(next)
	tail := commonBytes(n-head, func(from, to int) bool { return bytes.Equal(h.data[a-to:a-from], next[b-to:b-from]) })
	return earlier{h.hash.String(), h.edit, head, tail, len(next), bytes.Clone(h.data[head : a-tail])}
}

// commonBytes returns how many of the first n bytes are the same in two states. Same compares a range of them, counted
// from the end at which the comparison begins.
func commonBytes(n int, same func(from, to int) bool) int {
	found := 0
	for step := 64 << 10; found < n; { // by blocks, then by less and less
		step = min(step, n-found)
		switch {
		case same(found, found+step):
			found += step
		case step == 1:
			return found
		default:
			step /= 2
		}
	}
	return found
}

// drop forgets the oldest state of a file. The caller holds s.mu.
func (s *snapshots) drop(e *list.Element) {
	h := e.Value.(*history)
	if len(h.older) == 0 {
		s.order.Remove(e)
		delete(s.files, h.key)
		s.size -= len(h.key.path) + len(h.data) + snapshotCost
		return
	}
	oldest := h.older[0]
	h.older[0] = earlier{}
	h.older = h.older[1:]
	s.size -= len(oldest.middle) + snapshotCost
}

// get returns the state of a file that has a hash. The caller must not change it. Since are the edits of this server
// that made the state with the hash now of it; nil if something else did, too.
func (s *snapshots) get(key snapshotKey, hash, now string) (data []byte, since [][]hashline.Hunk, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.files[key]
	if e == nil {
		return nil, nil, false
	}
	s.order.MoveToFront(e)
	h := e.Value.(*history)
	if h.hash.String() == hash {
		return h.data, nil, true
	}
	for i := len(h.older) - 1; i >= 0; i-- {
		if h.older[i].hash == hash {
			return h.earlier(i), h.editsAfter(i, now), true
		}
	}
	return nil, nil, false
}

// editsAfter returns the edits that made the state with the hash now of an earlier one; nil if something else did, too.
func (h *history) editsAfter(i int, now string) (since [][]hashline.Hunk) {
	if h.hash.String() != now || h.edit == nil {
		return nil
	}
	for _, e := range h.older[i+1:] {
		if e.edit == nil {
			return nil
		}
		since = append(since, e.edit)
	}
	return append(since, h.edit)
}

// forget forgets a file.
func (s *snapshots) forget(key snapshotKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.files[key]; e != nil && s.files[key] == e; {
		s.drop(e)
	}
}

// earlier rebuilds the bytes of an earlier state.
func (h *history) earlier(i int) []byte {
	// Pieces of the state: bytes, or if there are none, a stretch of state i.
	type piece struct {
		text     []byte
		from, to int
	}
	first := h.older[i]
	pieces := []piece{{to: first.head + len(first.middle) + first.tail}}
	for _, e := range h.older[i:] { // from state i to the next
		var next []piece
		end, shift := e.head+len(e.middle), e.size-e.tail-e.head-len(e.middle)
		for _, p := range pieces {
			if p.text != nil {
				next = append(next, p)
				continue
			}
			if p.from < e.head {
				next = append(next, piece{from: p.from, to: min(p.to, e.head)})
			}
			if from, to := max(p.from, e.head), min(p.to, end); from < to {
				next = append(next, piece{text: e.middle[from-e.head : to-e.head]})
			}
			if from := max(p.from, end); from < p.to {
				next = append(next, piece{from: from + shift, to: p.to + shift})
			}
		}
		pieces = next
	}
	var data []byte
	for _, p := range pieces {
		if p.text == nil {
			p.text = h.data[p.from:p.to]
		}
		data = append(data, p.text...)
	}
	return data
}

// keyOf returns the key for snapshots of the file at a place: its path in this directory, which another directory that
// has the root's path before or after does not share.
func keyOf(p *place.Place) snapshotKey { return snapshotKey{p.Root.Identity, p.Rel} }
