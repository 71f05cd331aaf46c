package digest

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"
)

// BufferSize is the size of the one buffer that hashing a stream needs. At this
// size the hash function, not the copying, sets the pace.
const BufferSize = 256 << 10

// Hasher computes digests under several algorithms in one pass. It is an
// [io.Writer] whose Write never fails. It is not safe for concurrent use.
type Hasher struct {
	algs   []Algorithm
	hashes []hash.Hash
	size   int64
}

// NewHasher returns a hasher for algs; without arguments it computes sha256.
// It panics on an unknown algorithm, which is a programming error.
func NewHasher(algs ...Algorithm) *Hasher {
	if len(algs) == 0 {
		algs = []Algorithm{SHA256}
	}
	h := &Hasher{}
	for _, a := range algs {
		if !slices.Contains(h.algs, a) {
			h.algs = append(h.algs, a)
			h.hashes = append(h.hashes, a.newHash())
		}
	}
	return h
}

// Write adds p to every digest.
func (h *Hasher) Write(p []byte) (int, error) {
	for _, x := range h.hashes {
		x.Write(p)
	}
	h.size += int64(len(p))
	return len(p), nil
}

// Size is the number of bytes written so far.
func (h *Hasher) Size() int64 { return h.size }

// Digest is the digest under alg of what was written so far, or the zero value
// if the hasher does not compute alg.
func (h *Hasher) Digest(alg Algorithm) Digest {
	i := slices.Index(h.algs, alg)
	if i < 0 {
		return Digest{}
	}
	d := Digest{alg: alg}
	h.hashes[i].Sum(d.sum[:0])
	return d
}

// Digests returns one digest for each algorithm, in the order given to NewHasher.
func (h *Hasher) Digests() []Digest {
	out := make([]Digest, len(h.algs))
	for i, a := range h.algs {
		out[i] = h.Digest(a)
	}
	return out
}

// FromBytes is the sha256 digest of p.
func FromBytes(p []byte) Digest {
	return Digest{alg: SHA256, sum: widen(sha256.Sum256(p))}
}

func widen(sum [sha256.Size]byte) (out [sha512.Size]byte) {
	copy(out[:], sum[:])
	return out
}

// FromReader reads r to its end in bounded memory and returns the sha256 digest
// and the number of bytes. An error comes from r.
func FromReader(r io.Reader) (Digest, int64, error) {
	h := NewHasher()
	buf := buffers.Get().(*[BufferSize]byte)
	defer buffers.Put(buf)
	if _, err := io.CopyBuffer(h, onlyReader{r}, buf[:]); err != nil {
		return Digest{}, h.size, err
	}
	return h.Digest(SHA256), h.size, nil
}

// buffers are reused by FromReader: making one costs more than hashing a small file.
var buffers = sync.Pool{New: func() any { return new([BufferSize]byte) }}

// onlyReader hides WriterTo, which would choose a buffer of its own.
type onlyReader struct{ io.Reader }

// MismatchError is what a reader of [NewVerifier] returns in place of io.EOF.
type MismatchError struct {
	Want, Got         Digest
	WantSize, GotSize int64 // bytes; WantSize is -1 if none was demanded
}

// Error shows what was expected and what was found: sizes if they differ, else digests.
func (e *MismatchError) Error() string {
	if e.WantSize >= 0 && e.WantSize != e.GotSize {
		return fmt.Sprintf("size mismatch: expected %d bytes, got %d", e.WantSize, e.GotSize)
	}
	return fmt.Sprintf("%s mismatch: expected %s, got %s", e.Want.alg, e.Want, e.Got)
}

// NewVerifier returns a reader of r that ends with io.EOF only if r gave exactly
// size bytes (any number if size is negative) with the digest want; otherwise it
// ends with a [MismatchError], and at the latest one byte after size. Do not act on
// what was read before the end.
func NewVerifier(r io.Reader, want Digest, size int64) io.Reader {
	v := &verifier{r: r, want: want, size: size}
	if !want.IsZero() {
		v.hasher = NewHasher(want.alg)
	}
	return v
}

type verifier struct {
	r      io.Reader
	hasher *Hasher // nil if want is the zero value, which nothing matches
	want   Digest
	size   int64 // -1: any
	read   int64
	err    error
}

func (v *verifier) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if v.size >= 0 && int64(len(p)) > v.size-v.read {
		p = p[:v.size-v.read+1] // one byte more than allowed shows that the stream is longer
	}
	n, err := v.r.Read(p)
	v.read += int64(n)
	if v.hasher != nil {
		v.hasher.Write(p[:n])
	}
	if v.size >= 0 && v.read > v.size {
		v.err = v.mismatchError()
		return 0, v.err
	}
	if err == io.EOF {
		if v.size >= 0 && v.read != v.size || v.hasher == nil || !Equal(v.want, v.hasher.Digest(v.want.alg)) {
			err = v.mismatchError()
		}
	}
	v.err = err
	return n, err
}

func (v *verifier) mismatchError() error {
	e := &MismatchError{Want: v.want, WantSize: v.size, GotSize: v.read}
	if v.hasher != nil {
		e.Got = v.hasher.Digest(v.want.alg)
	}
	return e
}
