package contents

import "github.com/hallmark-mcp/hallmark/digest"

// hashing hashes what is read while more is read.
type hashing struct {
	parts chan []byte
	done  chan digest.Digest
}

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

// add hashes a part, which must not change any more.
func (h *hashing) add(part []byte) { h.parts <- part }

// sum ends the hashing and returns the digest of all parts.
func (h *hashing) sum() digest.Digest {
	close(h.parts)
	return <-h.done
}
