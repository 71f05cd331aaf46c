package hashfile

import (
	"bytes"
	"container/list"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
)

// What snapshots hold at most, in bytes.
const (
	maxSnapshots = 64 << 20
	maxSnapshot  = 16 << 20 // of one file; larger ones cannot be rebased
)

// snapshots are the contents of files as they were read, by file_hash. Those that were not
// used for the longest time go first.
type snapshots struct {
	mu    sync.Mutex
	order list.List // of *snapshot, latest first
	size  int
}

type snapshot struct {
	hash digest.Digest
	data []byte
}

// sum is the file_hash of data. Comparing with what is known is faster than hashing.
func (s *Server) sum(data []byte) digest.Digest {
	s.snapshots.mu.Lock()
	var candidates []*snapshot
	for e := s.snapshots.order.Front(); e != nil; e = e.Next() {
		if found := e.Value.(*snapshot); len(found.data) == len(data) {
			candidates = append(candidates, found)
		}
	}
	s.snapshots.mu.Unlock()
	for _, c := range candidates {
		if bytes.Equal(c.data, data) {
			return c.hash
		}
	}
	return digest.FromBytes(data)
}

// add keeps data, which the caller does not change.
func (s *snapshots) add(hash digest.Digest, data []byte) {
	if len(data) > maxSnapshot {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(hash.String()) != nil {
		return
	}
	s.order.PushFront(&snapshot{hash, data})
	s.size += len(data)
	for s.size > maxSnapshots {
		last := s.order.Back()
		s.size -= len(last.Value.(*snapshot).data)
		s.order.Remove(last)
	}
}

func (s *snapshots) get(hash string) (data []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.find(hash); found != nil {
		return found.data, true
	}
	return nil, false
}

// find moves what it finds to the front. s.mu is held.
func (s *snapshots) find(hash string) *snapshot {
	for e := s.order.Front(); e != nil; e = e.Next() {
		if found := e.Value.(*snapshot); found.hash.String() == hash {
			s.order.MoveToFront(e)
			return found
		}
	}
	return nil
}
