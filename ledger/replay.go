package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Replay reads a log from its first entry on, rebuilds its root, and finds
// what a log must not hold. It keeps the right edge of the tree and, for each
// published name and version, 24 bytes: some 60 MB of memory and 24 MB of
// state for 1,000,000 entries. The zero value has read nothing.
type Replay struct {
	edge Edge
	seen map[subject]int64
}

// subject is a part of the hash of a kind, name and version: 16 bytes, so that
// an honest log never has two alike.
type subject [16]byte

// What is wrong with an entry.
const (
	Duplicate  = "duplicate"  // published twice
	Unreadable = "unreadable" // no leaf
)

// Fault is an entry that a log must not hold.
type Fault struct {
	What    string
	Index   int64
	Leaf    Leaf  // zero if unreadable
	Earlier int64 // of a duplicate: the entry that it repeats
	Err     error // of an unreadable one: why
}

// Error says which entry is wrong, and why.
func (f *Fault) Error() string {
	if f.What == Unreadable {
		return fmt.Sprintf("entry %d is no leaf: %v", f.Index, f.Err)
	}
	return fmt.Sprintf("entry %d: %+q was published before, in entry %d", f.Index, f.Leaf.Subject(), f.Earlier)
}

// Unwrap returns the cause of an unreadable entry.
func (f *Fault) Unwrap() error { return f.Err }

// Size is the number of entries read so far.
func (r *Replay) Size() int64 { return r.edge.Size }

// Root is the root of the tree of the entries read so far.
func (r *Replay) Root() tlog.Hash { return r.edge.Root() }

// Add reads the next entry. Every entry counts in the tree; fault is what is
// wrong with this one, or nil.
func (r *Replay) Add(entry []byte) (leaf Leaf, fault *Fault) {
	index := r.edge.Size
	r.edge.Add(tlog.RecordHash(entry))

	leaf, err := ParseLeaf(entry)
	if err != nil {
		return Leaf{}, &Fault{What: Unreadable, Index: index, Err: err}
	}
	if !leaf.Kind.Publishes() {
		return leaf, nil
	}
	key := subjectOf(leaf.Kind, leaf.Name, leaf.Version)
	if earlier, ok := r.seen[key]; ok {
		return leaf, &Fault{What: Duplicate, Index: index, Leaf: leaf, Earlier: earlier}
	}
	if r.seen == nil {
		r.seen = make(map[subject]int64)
	}
	r.seen[key] = index
	return leaf, nil
}

// Find returns the index of the entry that published a name and version.
func (r *Replay) Find(kind Kind, name, version string) (int64, bool) {
	index, ok := r.seen[subjectOf(kind, name, version)]
	return index, ok
}

// Check compares the rebuilt tree with a checkpoint of its size.
func (r *Replay) Check(c Checkpoint) error {
	switch {
	case c.Size != r.Size():
		return fmt.Errorf("log %+q: %d entries were read, the checkpoint is of %d", c.Origin, r.Size(), c.Size)
	case c.Root != r.Root():
		return fmt.Errorf("log %+q: %w: the root of its %d entries is %s, its checkpoint says %s", c.Origin, ErrFork,
			r.Size(), r.Root(), c.Root)
	}
	return nil
}

// subjectOf identifies a kind, name and version. None of them holds a line feed, so that
// different ones give different texts to hash.
func subjectOf(kind Kind, name, version string) subject {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + name + "\n" + version))
	return subject(sum[:16])
}

const (
	replayHeader = "hallmark ledger replay v1\n"
	seenSize     = len(subject{}) + 8
)

// Marshal is the state, from which [ParseReplay] goes on. It ends with the hash of
// the rest, which detects damage but no forgery: keep it where only trusted
// programs write.
func (r *Replay) Marshal() []byte {
	edge := r.edge.Marshal()
	b := make([]byte, 0, len(replayHeader)+len(edge)+8+len(r.seen)*seenSize+sha256.Size)
	b = append(append(b, replayHeader...), edge...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(r.seen)))
	type entry struct {
		subject subject
		index   int64
	}
	entries := make([]entry, 0, len(r.seen))
	for s, i := range r.seen {
		entries = append(entries, entry{s, i})
	}
	slices.SortFunc(entries, func(x, y entry) int { return cmp.Compare(x.index, y.index) })
	for _, e := range entries {
		b = append(b, e.subject[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(e.index))
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// ParseReplay reads what Marshal wrote.
func ParseReplay(state []byte) (*Replay, error) {
	body, ok := bytes.CutPrefix(state, []byte(replayHeader))
	if !ok || len(body) < 8+8+sha256.Size {
		return nil, malformedError("replay state")
	}
	end := len(body) - sha256.Size
	if sum := sha256.Sum256(state[:len(state)-sha256.Size]); !bytes.Equal(sum[:], body[end:]) {
		return nil, malformedError("replay state: it is torn")
	}
	body = body[:end]
	size := binary.BigEndian.Uint64(body)
	length := 8 + bits.OnesCount64(size)*tlog.HashSize
	if len(body) < length+8 {
		return nil, malformedError("replay state: size")
	}
	edge, err := ParseEdge(body[:length])
	if err != nil {
		return nil, fmt.Errorf("replay state: %w", err)
	}
	r := &Replay{edge: edge}
	body = body[length:]
	n := binary.BigEndian.Uint64(body)
	body = body[8:]
	if n > size || uint64(len(body)) != n*uint64(seenSize) {
		return nil, malformedError("replay state: entries")
	}
	r.seen = make(map[subject]int64, n)
	for ; len(body) > 0; body = body[seenSize:] {
		index := binary.BigEndian.Uint64(body[len(subject{}):])
		if index >= size {
			return nil, malformedError("replay state: entry %d", index)
		}
		r.seen[subject(body[:len(subject{})])] = int64(index)
	}
	return r, nil
}
