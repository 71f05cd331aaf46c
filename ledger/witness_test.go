package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

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
	began := time.Now().Truncate(time.Second)
	for i, w := range witnesses[:2] {
		line, err := Cosign(s, w)
		if err != nil {
			t.Fatal(err)
		}
		v, err := ParseWitness(w.VerifierKey)
		if err != nil {
			t.Fatal(err)
		}
		const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		other := bytes.Clone(line)
		last := len(other) - len("==\n") - 1
		other[last] = digits[strings.IndexByte(digits, other[last])+1] // of which only the first two bits count
		if _, err := AddCosignatures(s, other, v); !errors.Is(err, ErrMalformed) {
			t.Errorf("bits that are left over: %v", err)
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
			if quorum <= i+1 &&
				(err != nil || len(got.Cosignatures) != i+1 || got.CosignedAt(quorum).Before(began)) {
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
	if _, err := ParseWitness(strings.Replace(plain, "w.example.com", "x.example.com", 1)); !errors.Is(err,
		ErrMalformed) {
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

func TestCheckpointOfAnotherOrigin(t *testing.T) {
	l := newLog(t, "a.example.com")
	signed, err := note.Sign(&note.Note{Text: "b.example.com\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"},
		l.key)
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
		w, err := ParseWitnessKey(
			"PRIVATE+KEY+" + plain.Name() + "+" + id + "+" +
				base64.StdEncoding.EncodeToString(append([]byte{1}, seed...)))
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

// A signature has one text: the bits that its base64 leaves over are zero.
func TestSignatureText(t *testing.T) {
	l := newLog(t, "log.example.com")
	signed, err := l.checkpoint(t).Sign(l.key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.trust(t).Open(signed); err != nil {
		t.Fatal(err)
	}
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := len(signed) - len("=\n") - 1
	for i := 1; i < 4; i++ {
		other := bytes.Clone(signed)
		other[last] = digits[strings.IndexByte(digits, signed[last])+i]
		if _, err := l.trust(t).Open(other); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q in the place of %q: %v", other[last], signed[last], err)
		}
	}
}
