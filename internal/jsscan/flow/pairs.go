package flow

import "math/bits"

// pairs is a set of pairs of numbers, none of which is 0. There are millions of them in a large file: a table without pointers, in
// which a look costs one place of memory.
type pairs struct {
	slots []uint64 // 0 is free; their number is a power of two
	n     int
}

// add adds a pair, and reports whether it was not there.
func (s *pairs) add(pair uint64) bool {
	if 4*s.n >= 3*len(s.slots) {
		s.grow()
	}
	at := s.slot(pair)
	if s.slots[at] == pair {
		return false
	}
	s.slots[at] = pair
	s.n++
	return true
}

// slot is where a pair is, or where it belongs.
func (s *pairs) slot(pair uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	high, low := bits.Mul64(pair, 0x9e3779b97f4a7c15)
	for at := (high ^ low>>29) & mask; ; at = (at + 1) & mask {
		if s.slots[at] == 0 || s.slots[at] == pair {
			return at
		}
	}
}

func (s *pairs) grow() {
	old := s.slots
	s.slots = make([]uint64, max(64, 2*len(old)))
	for _, pair := range old {
		if pair != 0 {
			s.slots[s.slot(pair)] = pair
		}
	}
}
