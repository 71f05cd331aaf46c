package ledger

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Proof says that a leaf is in a log. It can be verified without the log.
type Proof struct {
	Leaf       []byte // its canonical encoding
	Index      int64
	Hashes     []tlog.Hash // from the leaf's sibling up to the root's child
	Checkpoint []byte      // a signed note
}

const proofHeader = "c2sp.org/tlog-proof@v1"

// Marshal is the proof in the text form of C2SP tlog-proof.
func (p Proof) Marshal() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nextra %s\nindex %d\n", proofHeader, base64.StdEncoding.EncodeToString(p.Leaf), p.Index)
	for _, h := range p.Hashes {
		fmt.Fprintf(&b, "%s\n", h)
	}
	b.WriteByte('\n')
	b.Write(p.Checkpoint)
	return b.Bytes()
}

// ParseProof reads a proof in its one text form. Nothing in it is verified:
// see [Proof.Verify].
func ParseProof(text []byte) (Proof, error) {
	if len(text) > MaxProof {
		return Proof{}, malformedError("proof: more than %d bytes", MaxProof)
	}
	head, checkpoint, ok := strings.Cut(string(text), "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || len(lines) < 3 || lines[0] != proofHeader {
		return Proof{}, malformedError("proof: no header, leaf, index and checkpoint")
	}
	extra, ok1 := strings.CutPrefix(lines[1], "extra ")
	index, ok2 := strings.CutPrefix(lines[2], "index ")
	if !ok1 || !ok2 {
		return Proof{}, malformedError("proof: no line extra and line index")
	}
	p := Proof{Checkpoint: []byte(checkpoint)}
	if p.Leaf, ok = decodeBase64(extra); !ok {
		return Proof{}, malformedError("proof: the extra line is not base64")
	}
	var err error
	if p.Index, err = parseSize(index); err != nil {
		return Proof{}, fmt.Errorf("proof: index: %w", err)
	}
	if p.Hashes, err = parseHashes(lines[3:]); err != nil {
		return Proof{}, fmt.Errorf("proof: %w", err)
	}
	if len(p.Leaf) > MaxLeaf || len(p.Checkpoint) == 0 || len(p.Checkpoint) > MaxCheckpoint {
		return Proof{}, malformedError("proof: leaf or checkpoint of no possible size")
	}
	return p, nil
}

// Proven is what a verified proof says.
type Proven struct {
	Leaf  Leaf
	Index int64
	Signed
}

// Verify checks that the checkpoint is signed as t requires, and that the leaf
// is in its tree. The caller must check that it is the leaf that was wanted.
func (p Proof) Verify(t Trust) (Proven, error) {
	s, err := t.Open(p.Checkpoint)
	if err != nil {
		return Proven{}, err
	}
	return p.VerifyIn(s)
}

// VerifyIn is [Proof.Verify] for a proof whose checkpoint was opened before: s
// must be that checkpoint.
func (p Proof) VerifyIn(s Signed) (Proven, error) {
	if !bytes.Equal(s.Note, p.Checkpoint) {
		return Proven{}, malformedError("proof: ends with another checkpoint")
	}
	leaf, err := ParseLeaf(p.Leaf)
	if err != nil {
		return Proven{}, err
	}
	if err := CheckInclusion(s.Checkpoint, p.Index, p.Leaf, p.Hashes); err != nil {
		return Proven{}, fmt.Errorf("%+q: %w", leaf.Subject(), err)
	}
	return Proven{leaf, p.Index, s}, nil
}

// CheckInclusion checks that leaf is the entry with that index of the tree of c
// (RFC 6962, section 2.1.1). An error wraps [ErrFork].
func CheckInclusion(c Checkpoint, index int64, leaf []byte, proof []tlog.Hash) error {
	if index < 0 || index >= c.Size || c.Size > MaxSize {
		return fmt.Errorf("%w: entry %d is beyond its %d entries", ErrFork, index, c.Size)
	}
	if err := tlog.CheckRecord(proof, c.Size, c.Root, index, tlog.RecordHash(leaf)); err != nil {
		return fmt.Errorf("%w: the proof does not show entry %d in the tree of %d entries", ErrFork, index, c.Size)
	}
	return nil
}

// CheckConsistency checks that the tree of newer begins with the tree of older. It
// is the test that a log is append-only; ErrFork says that it is not.
func CheckConsistency(older, newer Checkpoint, proof []tlog.Hash) error {
	switch {
	case older.Origin != newer.Origin:
		return fmt.Errorf("checkpoints of two logs, %+q and %+q", older.Origin, newer.Origin)
	case older.Size > newer.Size:
		return fmt.Errorf("%w: it went back from %d entries to %d", ErrFork, older.Size, newer.Size)
	case older.Size == newer.Size:
		if older.Root != newer.Root {
			return fmt.Errorf("%w: two roots of %d entries, %s and %s", ErrFork, older.Size, older.Root, newer.Root)
		}
		return checkNoHashes(proof)
	case older.Size == 0: // begins everything
		if empty, _ := tlog.TreeHash(0, nil); older.Root != empty {
			return fmt.Errorf("%w: the root of no entries is %s", ErrFork, older.Root)
		}
		return checkNoHashes(proof)
	case newer.Size > MaxSize || older.Size < 0:
		return malformedError("checkpoint: size")
	}
	if err := tlog.CheckTree(proof, newer.Size, newer.Root, older.Size, older.Root); err != nil {
		return fmt.Errorf("%w: the tree of %d entries does not begin with that of %d", ErrFork, newer.Size, older.Size)
	}
	return nil
}

// checkNoHashes refuses a proof of what needs none. The error is not [ErrFork]: a proof is
// not signed, and anybody may have added to it.
func checkNoHashes(proof []tlog.Hash) error {
	if len(proof) > 0 {
		return malformedError("proof: %d hashes where none are needed", len(proof))
	}
	return nil
}

func parseHashes(lines []string) ([]tlog.Hash, error) {
	if len(lines) > MaxHashes {
		return nil, malformedError("list of %d hashes, more than %d", len(lines), MaxHashes)
	}
	hashes := make([]tlog.Hash, 0, len(lines))
	for _, line := range lines {
		h, err := parseHash(line)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return hashes, nil
}
