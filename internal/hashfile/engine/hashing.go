package engine

import (
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
)

// hashing computes a digest in a goroutine of its own, while the caller reads more.
type hashing struct {
	parts chan []byte
	end   sync.Once
	done  chan struct{} // closed when the goroutine has ended
	hash  digest.Digest // after that
}

// newHashing starts the goroutine, which runs until sum or stop is called. If free is not nil, it is sent each part
// that has been hashed, and has to have room for all of them.
func newHashing(free chan<- []byte) *hashing {
	h := &hashing{parts: make(chan []byte, 16), done: make(chan struct{})}
	go func() {
		defer close(h.done)
		hasher := digest.NewHasher()
		for part := range h.parts {
			hasher.Write(part)
			if free != nil {
				free <- part[:cap(part)]
			}
		}
		h.hash = hasher.Digest(digest.SHA256)
	}()
	return h
}

// add appends a part, which the caller must not change any more.
func (h *hashing) add(part []byte) { h.parts <- part }

// stop ends the goroutine when it has hashed all parts. It may be called again, and after sum.
func (h *hashing) stop() {
	h.end.Do(func() { close(h.parts) })
	<-h.done
}

// sum returns the digest of all parts.
func (h *hashing) sum() digest.Digest {
	h.stop()
	return h.hash
}
