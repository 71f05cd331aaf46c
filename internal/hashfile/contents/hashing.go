package contents

import "github.com/hallmark-mcp/hallmark/digest"

// hashing computes a digest in a goroutine of its own, while the caller reads more.
type hashing struct {
	parts chan []byte
	done  chan digest.Digest
}

// newHashing starts the goroutine, which runs until sum is called.
func newHashing() *hashing {
	h := &hashing{make(chan []byte, 16), make(chan digest.Digest, 1)}
	go func() {
		hasher := digest.NewHasher()
		for part := range h.parts {
			hasher.Write(part)
		}
		h.done <- hasher.Digest(digest.SHA256)
	}()
	return h
}

// add appends a part, which the caller must not change any more.
func (h *hashing) add(part []byte) { h.parts <- part }

// sum ends the goroutine and returns the digest of all parts.
func (h *hashing) sum() digest.Digest {
	close(h.parts)
	return <-h.done
}
