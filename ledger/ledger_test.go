package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
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
		Document: digest.FromBytes([]byte{byte(i)}), Publisher: "github:acme", At: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}
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
	for _, path := range []string{"tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1", "tile/entries/000", "tile/entries/001.p/44"} {
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

func TestWitnesses(t *testing.T) {
	l := filled(t, 5)
	c := l.checkpoint(t)
	signed, err := c.Sign(l.key)
	if err != nil {
		t.Fatal(err)
	}
	var witnesses []Key
	var keys []string
	for i := range 3 {
		skey, _, err := GenerateKey(rand.Reader, fmt.Sprintf("witness.example.com/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		w, err := ParseWitnessKey(skey)
		if err != nil {
			t.Fatal(err)
		}
		witnesses, keys = append(witnesses, w), append(keys, w.VerifierKey)
	}
	s, err := l.trust(t).Open(signed)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range witnesses[:2] {
		line, err := Cosign(s, w)
		if err != nil {
			t.Fatal(err)
		}
		v, err := ParseWitness(w.VerifierKey)
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, "— stranger.example.com AAAAAAAA\n"...)
		if s.Note, err = AddCosignatures(s, line, v); err != nil {
			t.Fatal(err)
		}
		// Twice is once.
		if s.Note, err = AddCosignatures(s, line, v); err != nil {
			t.Fatal(err)
		}
		for quorum := range 4 {
			trust, err := NewTrust(l.key.VerifierKey, keys, quorum)
			if err != nil {
				t.Fatal(err)
			}
			got, err := trust.Open(s.Note)
			if quorum <= i+1 && (err != nil || len(got.Cosignatures) != i+1 || time.Since(got.CosignedAt(quorum)) > time.Minute) {
				t.Errorf("%d cosignatures, %d required: %v, %v", i+1, quorum, got, err)
			}
			if quorum > i+1 && !errors.Is(err, ErrSignature) {
				t.Errorf("%d cosignatures, %d required: %v", i+1, quorum, err)
			}
		}
	}
	if n := bytes.Count(s.Note, []byte("— ")); n != 3 {
		t.Errorf("%d signature lines of a log and two witnesses", n)
	}
	if bytes.Contains(s.Note, []byte("stranger")) {
		t.Error("a stranger's line was kept")
	}
	v, _ := ParseWitness(keys[2])
	if _, err := AddCosignatures(s, []byte("— stranger.example.com AAAAAAAA\n"), v); err == nil {
		t.Error("an answer without the witness's signature passes")
	}
	if _, err := NewTrust(l.key.VerifierKey, keys, 4); err == nil {
		t.Error("4 of 3 can be required")
	}
	if _, err := NewTrust(l.key.VerifierKey, append(slices.Clone(keys), keys[0]), 1); err == nil {
		t.Error("a witness listed twice passes")
	}
	// One key under two names does not count twice, and an id belongs to its key.
	secret, plain, err := GenerateKey(rand.Reader, "w.example.com")
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewKey("x.example.com", keyMaterial(secret))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTrust(l.key.VerifierKey, []string{plain, again.VerifierKey}, 1); err == nil {
		t.Error("one key under two names passes")
	}
	if _, err := ParseWitness(strings.Replace(plain, "w.example.com", "x.example.com", 1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a key with the id of another name: %v", err)
	}
	// A cosignature alone is not the log's signature.
	text, _ := c.Marshal()
	line, _ := Cosign(s, witnesses[0])
	trust, _ := NewTrust(l.key.VerifierKey, keys, 1)
	if _, err := trust.Open(append(append(text, '\n'), line...)); !errors.Is(err, ErrSignature) {
		t.Errorf("cosigned, but not signed: %v", err)
	}
}

func TestAddCheckpoint(t *testing.T) {
	l := filled(t, 9)
	r := &Reader{At: l.checkpoint(t), Fetch: l.fetch}
	proof, err := r.ProveSince(5)
	if err != nil {
		t.Fatal(err)
	}
	signed, _ := r.At.Sign(l.key)
	want := AddCheckpoint{Old: 5, Proof: proof, Checkpoint: signed}
	got, err := ParseAddCheckpoint(want.Marshal())
	if err != nil || got.Old != 5 || !slices.Equal(got.Proof, proof) || !bytes.Equal(got.Checkpoint, signed) {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := CheckConsistency(l.at(t, 5), r.At, got.Proof); err != nil {
		t.Error(err)
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

func TestCheckpointOfAnotherOrigin(t *testing.T) {
	l := newLog(t, "a.example.com")
	signed, err := note.Sign(&note.Note{Text: "b.example.com\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"}, l.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.trust(t).Open(signed); !errors.Is(err, ErrSignature) {
		t.Errorf("another origin: %v", err)
	}
}

// cosignedAt is the line of a cosignature that w made at that time, in seconds: the
// library makes them with the time of now.
func cosignedAt(text string, w Key, seed []byte, at int64) string {
	message := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text)
	sig := binary.BigEndian.AppendUint32(nil, w.KeyHash())
	sig = binary.BigEndian.AppendUint64(sig, uint64(at))
	sig = append(sig, ed25519.Sign(ed25519.NewKeyFromSeed(seed), message)...)
	return "— " + w.Name() + " " + base64.StdEncoding.EncodeToString(sig) + "\n"
}

// A cosignature counts as of its time, one at most of each witness, and without a time not
// at all. Of a quorum the oldest says how fresh a checkpoint is.
func TestFresh(t *testing.T) {
	l := filled(t, 3)
	signed, err := l.checkpoint(t).Sign(l.key)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(signed), "\n\n")
	text += "\n"
	var keys []string
	line := func(i int, at int64) string {
		seed := bytes.Repeat([]byte{byte(i + 1)}, 32)
		plain, err := NewKey(fmt.Sprintf("w%d.example.com", i), seed)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, plain.VerifierKey)
		id, _, _ := strings.Cut(plain.VerifierKey[len(plain.Name())+1:], "+")
		w, err := ParseWitnessKey("PRIVATE+KEY+" + plain.Name() + "+" + id + "+" + base64.StdEncoding.EncodeToString(append([]byte{1}, seed...)))
		if err != nil {
			t.Fatal(err)
		}
		return cosignedAt(text, w, seed, at)
	}
	note := string(signed) + line(0, 1000) + line(1, 5000) + line(2, 3000)
	trust, err := NewTrust(l.key.VerifierKey, keys, 3)
	if err != nil {
		t.Fatal(err)
	}
	s, err := trust.Open([]byte(note))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int64{0: 5000, 1: 5000, 2: 3000, 3: 1000} {
		if got := s.CosignedAt(n); got.Unix() != want {
			t.Errorf("fresh for %d: %s, want %d", n, got, want)
		}
	}
	if got := s.CosignedAt(4); !got.IsZero() {
		t.Errorf("fresh for more than there are: %s", got)
	}
	for what, note := range map[string]string{
		"two of one witness": string(signed) + line(0, 1000) + line(0, 2000),
		"without a time":     string(signed) + line(0, 1000) + line(1, 0),
	} {
		two, err := NewTrust(l.key.VerifierKey, keys[:3], 2)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := two.Open([]byte(note)); err == nil {
			t.Errorf("%s: %+v", what, s.Cosignatures)
		}
	}
	// a log does not vouch for itself
	if _, err := NewTrust(l.key.VerifierKey, []string{l.key.VerifierKey}, 1); err == nil {
		t.Error("the log's own key passes as a witness")
	}
}

// Between trees that need no proof, hashes accuse nobody.
func TestNeedlessProof(t *testing.T) {
	five, none := filled(t, 5).checkpoint(t), filled(t, 0).checkpoint(t)
	for _, older := range []Checkpoint{five, none} {
		if err := CheckConsistency(older, five, nil); err != nil {
			t.Error(err)
		}
		if err := CheckConsistency(older, five, make([]tlog.Hash, 1)); !errors.Is(err, ErrMalformed) || errors.Is(err, ErrFork) {
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
	l := Leaf{Kind: Server, Name: "a", Version: "1", Document: digest.FromBytes(nil), Publisher: "p", At: time.Unix(5, 1)}
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
		"AAB=": false, "AB==": false, "AA=": false, "AAA": false, "AA\r==": false, "AAAA\n": false, "AA==\r": false, "AA-A": false, "AA==AAAA": false,
	} {
		if raw, got := decodeBase64(text); got != ok || ok && base64.StdEncoding.EncodeToString(raw) != text {
			t.Errorf("%q: %v, %x", text, got, raw)
		}
	}
}
