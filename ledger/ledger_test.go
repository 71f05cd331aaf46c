package ledger

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
)

// testLog is a log in memory.
type testLog struct {
	key    Key
	leaves [][]byte
	hashes []tlog.Hash
}

func (l *testLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, i := range indexes {
		out = append(out, l.hashes[i])
	}
	return out, nil
}

func newLog(t testing.TB, origin string) *testLog {
	skey, _, err := GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey(skey)
	if err != nil {
		t.Fatal(err)
	}
	return &testLog{key: key}
}

func (l *testLog) add(t testing.TB, leaf []byte) {
	hashes, err := tlog.StoredHashes(int64(len(l.leaves)), leaf, l)
	if err != nil {
		t.Fatal(err)
	}
	l.leaves = append(l.leaves, leaf)
	l.hashes = append(l.hashes, hashes...)
}

func (l *testLog) checkpoint(t testing.TB) Checkpoint {
	return l.at(t, int64(len(l.leaves)))
}

func (l *testLog) at(t testing.TB, size int64) Checkpoint {
	root, err := tlog.TreeHash(size, l)
	if err != nil {
		t.Fatal(err)
	}
	return Checkpoint{l.key.Name(), size, root}
}

func (l *testLog) fetch(path string) ([]byte, error) {
	tile, err := ParseTilePath(path)
	if err != nil {
		return nil, err
	}
	if !InTree(tile, int64(len(l.leaves))) {
		return nil, fmt.Errorf("%s: not in the tree", path)
	}
	if tile.L != Entries {
		return tlog.ReadTileData(tile, l)
	}
	var b []byte
	for i := range tile.W {
		if b, err = AppendEntry(b, l.leaves[tile.N*TileWidth+int64(i)]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func leaf(i int) Leaf {
	return Leaf{Kind: Server, Name: fmt.Sprintf("io.github.acme/server-%d", i), Version: "1.0.0",
		Document: digest.FromBytes([]byte{byte(i)}), Publisher: "github:acme",
		At: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}
}

func filled(t testing.TB, n int) *testLog {
	l := newLog(t, "registry.example.com")
	for i := range n {
		b, err := leaf(i).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		l.add(t, b)
	}
	return l
}

func (l *testLog) trust(t testing.TB) Trust {
	trust, err := NewTrust(l.key.VerifierKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func (l *testLog) prove(t testing.TB, index int64) Proof {
	c := l.checkpoint(t)
	hashes, err := tlog.ProveRecord(c.Size, index, l)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := c.Sign(l.key)
	if err != nil {
		t.Fatal(err)
	}
	return Proof{l.leaves[index], index, hashes, signed}
}

func TestProof(t *testing.T) {
	l := filled(t, 300)
	trust := l.trust(t)
	for _, index := range []int64{0, 1, 255, 256, 299} {
		p, err := ParseProof(l.prove(t, index).Marshal())
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Verify(trust)
		if err != nil || got.Leaf.Name != leaf(int(index)).Name || got.Index != index || got.Size != 300 {
			t.Errorf("proof of %d: %v, %v", index, got, err)
		}
		p.Leaf = l.leaves[(index+1)%300]
		if _, err := p.Verify(trust); !errors.Is(err, ErrFork) {
			t.Errorf("proof of %d with another leaf: %v", index, err)
		}
	}
	p := l.prove(t, 7)
	head, err := trust.Open(p.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.VerifyIn(head); err != nil || got.Index != 7 || got.Size != 300 {
		t.Errorf("%v, %v", got, err)
	}
	p.Checkpoint = append(bytes.Clone(p.Checkpoint), '\n') // is not the one that was opened
	if got, err := p.VerifyIn(head); err == nil {
		t.Errorf("proven by another checkpoint: %v", got)
	}
	other, err := l.prove(t, 3).Verify(newLog(t, "registry.example.com").trust(t))
	if !errors.Is(err, ErrSignature) {
		t.Errorf("proof under another key: %v, %v", other, err)
	}
}

func TestReader(t *testing.T) {
	for _, size := range []int{1, 2, 255, 256, 257, 700} {
		l := filled(t, size)
		r := &Reader{At: l.checkpoint(t), Fetch: l.fetch}
		for i := range l.leaves {
			if i%50 != 0 && i != size-1 {
				continue
			}
			got, err := r.Entry(int64(i))
			if err != nil || !bytes.Equal(got, l.leaves[i]) {
				t.Fatalf("size %d, entry %d: %v", size, i, err)
			}
			proof, err := r.Prove(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckInclusion(r.At, int64(i), got, proof); err != nil {
				t.Error(err)
			}
			if err := r.CheckExtends(l.at(t, int64(i))); err != nil {
				t.Errorf("size %d does not extend %d: %v", size, i, err)
			}
			wrong := l.at(t, int64(i))
			wrong.Root[3] ^= 1
			if err := r.CheckExtends(wrong); !errors.Is(err, ErrFork) {
				t.Errorf("size %d extends a wrong %d: %v", size, i, err)
			}
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	l := filled(t, 300)
	for _, path := range []string{"tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1", "tile/entries/000",
		"tile/entries/001.p/44"} {
		fetch := func(p string) ([]byte, error) {
			data, err := l.fetch(p)
			if p == path {
				data = bytes.Clone(data)
				data[len(data)-1] ^= 1
			}
			return data, err
		}
		r := &Reader{At: l.checkpoint(t), Fetch: fetch}
		var bad int
		for _, n := range []int64{0, 1} {
			if _, err := r.Bundle(n); err != nil {
				bad++
				if !errors.Is(err, ErrFork) {
					t.Errorf("%s changed: not a fork: %v", path, err)
				}
			}
		}
		if bad == 0 {
			t.Errorf("%s changed: not noticed", path)
		}
	}
}

func TestReaderFallsBackToFullTiles(t *testing.T) {
	l := filled(t, 512)
	r := &Reader{At: l.at(t, 300), Fetch: func(path string) ([]byte, error) {
		if tile, err := ParseTilePath(path); err != nil || tile.W < TileWidth && tile.L < 1 {
			return nil, fmt.Errorf("%s: gone", path)
		}
		return l.fetch(path)
	}}
	got, err := r.Bundle(1)
	if err != nil || len(got) != 44 {
		t.Errorf("%d leaves, %v", len(got), err)
	}
}

func TestReplay(t *testing.T) {
	l := filled(t, 600)
	r := new(Replay)
	for i, b := range l.leaves {
		if err := r.Check(l.at(t, int64(i))); err != nil {
			t.Fatal(err)
		}
		if _, fault := r.Add(b); fault != nil {
			t.Fatal(fault)
		}
		if i%97 == 0 {
			state := r.Marshal()
			var err error
			if r, err = ParseReplay(state); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(r.Marshal(), state) {
				t.Fatal("state does not come back")
			}
		}
	}
	if i, ok := r.Find(Server, "io.github.acme/server-7", "1.0.0"); !ok || i != 7 {
		t.Errorf("found %d, %v", i, ok)
	}
	again := leaf(7)
	again.Document = digest.FromBytes([]byte("other"))
	b, _ := again.Marshal()
	if _, fault := r.Add(b); fault == nil || fault.What != Duplicate || fault.Earlier != 7 || fault.Index != 600 {
		t.Errorf("duplicate: %v", fault)
	}
	if _, fault := r.Add([]byte("{}")); fault == nil || fault.What != Unreadable || fault.Index != 601 {
		t.Errorf("unreadable: %v", fault)
	}
	if err := r.Check(l.checkpoint(t)); err == nil {
		t.Error("another size passes")
	}
	c := l.checkpoint(t)
	c.Size = r.Size()
	if err := r.Check(c); !errors.Is(err, ErrFork) {
		t.Errorf("another root: %v", err)
	}
	state := r.Marshal()
	for _, i := range []int{30, 50, len(state) - 40, len(state) - 1} {
		torn := bytes.Clone(state)
		torn[i] ^= 1
		if _, err := ParseReplay(torn); !errors.Is(err, ErrMalformed) {
			t.Errorf("torn at %d: %v", i, err)
		}
	}
}

func TestNewKey(t *testing.T) {
	seed := bytes.Repeat([]byte{9}, 32)
	key, err := NewKey("log.example.com", seed)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := Checkpoint{Origin: "log.example.com"}.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Open(signed); err != nil {
		t.Error(err)
	}
	if _, err := NewKey("log.example.com", seed[1:]); err == nil {
		t.Error("a short seed passes")
	}
	if _, err := NewKey("a b", seed); err == nil {
		t.Error("an origin with a space passes")
	}
}

// Between trees that need no proof, hashes accuse nobody.
func TestNeedlessProof(t *testing.T) {
	five, none := filled(t, 5).checkpoint(t), filled(t, 0).checkpoint(t)
	for _, older := range []Checkpoint{five, none} {
		if err := CheckConsistency(older, five, nil); err != nil {
			t.Error(err)
		}
		if err := CheckConsistency(older, five, make([]tlog.Hash, 1)); !errors.Is(err, ErrMalformed) ||
			errors.Is(err, ErrFork) {
			t.Errorf("%d entries: %v", older.Size, err)
		}
	}
	none.Root[0] ^= 1
	if err := CheckConsistency(none, five, nil); !errors.Is(err, ErrFork) {
		t.Errorf("a root of nothing: %v", err)
	}
}

// What no honest program writes is not written, and not read from a state.
func TestBounds(t *testing.T) {
	l := Leaf{Kind: Server, Name: "a", Version: "1", Document: digest.FromBytes(nil), Publisher: "p",
		At: time.Unix(5, 1)}
	if text, err := l.Marshal(); !errors.Is(err, ErrMalformed) {
		t.Errorf("a leaf with a part of a second: %s, %v", text, err)
	}
	huge := binary.BigEndian.AppendUint64(nil, MaxSize*2)
	if e, err := ParseEdge(append(huge, make([]byte, tlog.HashSize)...)); !errors.Is(err, ErrMalformed) {
		t.Errorf("an edge of %d entries: %v", e.Size, err)
	}
	edge := Edge{Size: 1, Hashes: make([]tlog.Hash, 1)}
	state := append([]byte(replayHeader), edge.Marshal()...)
	state = binary.BigEndian.AppendUint64(state, 2)
	state = append(state, make([]byte, 2*seenSize)...)
	sum := sha256.Sum256(state)
	if _, err := ParseReplay(append(state, sum[:]...)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a state with more subjects than entries: %v", err)
	}
}

// TestOneBase64: bytes have one text, and every other that a lenient decoder reads is refused.
func TestOneBase64(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "AAA=": true, "AAAA": true, "AA==": true,
		"AAB=": false, "AB==": false, "AA=": false, "AAA": false, "AA\r==": false, "AAAA\n": false, "AA==\r": false,
		"AA-A": false, "AA==AAAA": false,
	} {
		if raw, got := decodeBase64(text); got != ok || ok && base64.StdEncoding.EncodeToString(raw) != text {
			t.Errorf("%q: %v, %x", text, got, raw)
		}
	}
}
