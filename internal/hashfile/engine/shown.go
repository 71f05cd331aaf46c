package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
)

// ShownDigits is how many hex digits of a file's hash a reader is shown. A model repeats them in each edit, and each
// digit costs it about half a token; a reader may give more, up to all 64.
const shownDigits = 12

// maxShown is how many hashes are remembered as shown.
const maxShown = 1 << 16

// shown remembers the hashes that readers were shown, so that an abbreviation stands for the hash that was shown, and
// not for another one that begins with the same digits: files with equal beginnings of their hashes can be made.
type shown struct {
	mu    sync.Mutex
	known map[string][]string // the digits of hashes, by their first ShownDigits
	order []string            // keys of known, oldest first; a ring when it is full
	next  int
}

// Abbreviate returns a hash as a reader is shown it.
func Abbreviate(hash digest.Digest) string {
	text := hash.String()
	return text[:strings.IndexByte(text, ':')+1+shownDigits]
}

// NoteShown records that a reader was shown a hash.
func (r *reader) NoteShown(hash digest.Digest) {
	s := &r.shown
	s.mu.Lock()
	defer s.mu.Unlock()
	digits := hash.Hex()
	key := digits[:shownDigits]
	if slices.Contains(s.known[key], digits) {
		return
	}
	if s.known == nil {
		s.known = map[string][]string{}
	}
	if s.known[key] == nil {
		if len(s.order) < maxShown {
			s.order = append(s.order, key)
		} else {
			delete(s.known, s.order[s.next])
			s.order[s.next] = key
			s.next = (s.next + 1) % maxShown
		}
	}
	s.known[key] = append(s.known[key], digits)
}

// Expand returns the digits of the hashes that an abbreviation may stand for: those that were shown and begin with its
// digits or, if none was, that of the file as it is now if it begins so. An abbreviation has at least ShownDigits
// lower-case digits.
func (r *reader) Expand(digits string, now digest.Digest) []string {
	s := &r.shown
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, whole := range s.known[digits[:shownDigits]] {
		if strings.HasPrefix(whole, digits) {
			found = append(found, whole)
		}
	}
	if len(found) == 0 && strings.HasPrefix(now.Hex(), digits) {
		found = append(found, now.Hex())
	}
	return found
}
