package engine

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// maxMade is how many edits are remembered.
const maxMade = 1000

// recentEdits remembers the latest edits, so that one whose answer was lost is not made a second time.
type recentEdits struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
	order [][sha256.Size]byte // a ring when it is full
	next  int
}

// keyOfEdit stands for a file, the hash with which it was read, and what is to be done to it.
func keyOfEdit(p *place.Place, in EditRequest) [sha256.Size]byte {
	h := sha256.New()
	digits, _ := parseFileHash(in.FileHash)
	fmt.Fprintf(h, "%q %.*s", p.Real(), shownDigits, digits)
	for _, o := range in.Operations {
		fmt.Fprintf(h, " %q %q %q", o.Op, o.Anchor, o.EndAnchor)
		if o.Content != nil {
			fmt.Fprintf(h, " %q", strings.TrimSuffix(*o.Content, "\n"))
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (m *recentEdits) has(p *place.Place, in EditRequest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[keyOfEdit(p, in)]
}

func (m *recentEdits) add(p *place.Place, in EditRequest) {
	key := keyOfEdit(p, in)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.known[key]:
		return
	case m.known == nil:
		m.known = map[[sha256.Size]byte]bool{}
	}
	if m.known[key] = true; len(m.order) < maxMade {
		m.order = append(m.order, key)
		return
	}
	delete(m.known, m.order[m.next])
	m.order[m.next] = key
	m.next = (m.next + 1) % maxMade
}
