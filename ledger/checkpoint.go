package ledger

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is the head of a log at one moment.
type Checkpoint struct {
	Origin string // the log's name, and the name of its key
	Size   int64  // leaves
	Root   tlog.Hash
}

// maxExtensions is how many extension lines a checkpoint may carry. They are
// covered by its signature and mean nothing here; we write none.
const maxExtensions = 16

// maxOrigin is the longest origin in bytes: ML-DSA cosignatures cover no more.
const maxOrigin = 255

// CheckOrigin reports whether s can be the name of a log or a witness: 1 to
// 255 bytes of UTF-8 without spaces, controls and plus signs.
func CheckOrigin(s string) error {
	if s == "" || len(s) > maxOrigin || !utf8.ValidString(s) || strings.Contains(s, "+") ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return malformedError("origin %+.80q", s)
	}
	return nil
}

// Marshal is the text that is signed: three lines.
func (c Checkpoint) Marshal() ([]byte, error) {
	if err := CheckOrigin(c.Origin); err != nil {
		return nil, err
	}
	if c.Size < 0 || c.Size > MaxSize {
		return nil, malformedError("checkpoint: size %d", c.Size)
	}
	return fmt.Appendf(nil, "%s\n%d\n%s\n", c.Origin, c.Size, c.Root), nil
}

// ParseCheckpoint reads the text of a checkpoint. It says nothing of who
// signed it: see [Trust.Open].
func ParseCheckpoint(text []byte) (Checkpoint, error) {
	if len(text) > MaxCheckpoint || len(text) == 0 || text[len(text)-1] != '\n' {
		return Checkpoint{}, malformedError("checkpoint: no text of at most %d bytes that ends with a line feed",
			MaxCheckpoint)
	}
	lines := strings.Split(string(text[:len(text)-1]), "\n")
	if len(lines) < 3 || len(lines) > 3+maxExtensions {
		return Checkpoint{}, malformedError("checkpoint: %d lines, not 3 to %d", len(lines), 3+maxExtensions)
	}
	for _, extension := range lines[3:] {
		if extension == "" || !utf8.ValidString(extension) {
			return Checkpoint{}, malformedError("checkpoint: extension line %+.40q", extension)
		}
	}
	c := Checkpoint{Origin: lines[0]}
	if err := CheckOrigin(c.Origin); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	var err error
	if c.Size, err = parseSize(lines[1]); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	if c.Root, err = parseHash(lines[2]); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	return c, nil
}

// Sign is the checkpoint as a signed note. The first signer is the log's own:
// its key bears the origin's name.
func (c Checkpoint) Sign(log note.Signer, others ...note.Signer) ([]byte, error) {
	if log.Name() != c.Origin {
		return nil, fmt.Errorf("checkpoint of %+q: the key is named %+q", c.Origin, log.Name())
	}
	text, err := c.Marshal()
	if err != nil {
		return nil, err
	}
	return note.Sign(&note.Note{Text: string(text)}, append([]note.Signer{log}, others...)...)
}

// Cosignature is the statement of a witness that at that time it knew of no
// other history of the log.
type Cosignature struct {
	Witness string
	At      time.Time
}

// Signed is a checkpoint whose signatures were verified.
type Signed struct {
	Checkpoint
	Note         []byte        // as it was signed, all signatures included
	Cosignatures []Cosignature // of trusted witnesses, one at most of each
}

// CosignedAt is the latest time such that n witnesses have cosigned then or later, each
// stating that it knew of no other history. An n below 1 counts as 1. It is the zero time
// if there are fewer than n cosignatures. A checkpoint itself bears no time.
func (s Signed) CosignedAt(n int) time.Time {
	times := make([]time.Time, len(s.Cosignatures))
	for i, c := range s.Cosignatures {
		times[i] = c.At
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	if n = max(n, 1); n > len(times) {
		return time.Time{}
	}
	return times[n-1]
}

// Trust is what a reader of a log relies on: the log's key, the witnesses that
// it knows, and how many of them must have cosigned.
type Trust struct {
	Log       note.Verifier
	Witnesses []note.Verifier // each with a key and a name of its own
	Quorum    int
}

// NewTrust makes a Trust of key strings; see [ParseWitnesses] for those of the witnesses.
func NewTrust(logKey string, witnessKeys []string, quorum int) (Trust, error) {
	log, err := ParseVerifier(logKey)
	if err != nil {
		return Trust{}, err
	}
	witnesses, err := ParseWitnesses(witnessKeys, quorum)
	if err != nil {
		return Trust{}, err
	}
	isOwn := func(k string) bool { return bytes.Equal(keyMaterial(k), keyMaterial(logKey)) }
	if slices.ContainsFunc(witnessKeys, isOwn) {
		return Trust{}, fmt.Errorf("the key of log %+q is listed as a witness: it would vouch for itself", log.Name())
	}
	return Trust{Log: log, Witnesses: witnesses, Quorum: quorum}, nil
}

// ParseWitnesses reads the keys of witnesses: Ed25519 or ML-DSA-44 cosignature keys; a
// plain Ed25519 key stands for the cosignature key that it gives. A quorum that cannot
// be met is an error.
func ParseWitnesses(keys []string, quorum int) ([]note.Verifier, error) {
	var all []note.Verifier
	material := map[string]bool{}
	for _, k := range keys {
		w, err := ParseWitness(k)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if other.Name() == w.Name() {
				return nil, fmt.Errorf("witness %+q is listed twice", w.Name())
			}
		}
		raw := string(keyMaterial(k))
		if material[raw] { // under two names it would count twice
			return nil, fmt.Errorf("the key of witness %+q is listed twice", w.Name())
		}
		material[raw] = true
		all = append(all, w)
	}
	if quorum < 0 || quorum > len(all) {
		return nil, fmt.Errorf("%d of %d witnesses cannot be required", quorum, len(all))
	}
	return all, nil
}

// Open verifies a signed checkpoint: the log's key has signed it, its origin is
// the key's name, and enough witnesses have cosigned it. Signatures of unknown
// keys are ignored; a wrong one of a known key is an error. Errors about
// signatures wrap [ErrSignature], those about bytes [ErrMalformed].
func (t Trust) Open(signed []byte) (Signed, error) {
	if len(signed) > MaxCheckpoint {
		return Signed{}, malformedError("checkpoint: more than %d bytes", MaxCheckpoint)
	}
	n, err := note.Open(signed, note.VerifierList(append([]note.Verifier{t.Log}, t.Witnesses...)...))
	if err != nil {
		return Signed{}, fmt.Errorf("checkpoint: %w: %w", ErrSignature, quotedError{err})
	}
	c, err := ParseCheckpoint([]byte(n.Text))
	if err != nil {
		return Signed{}, err
	}
	if c.Origin != t.Log.Name() {
		return Signed{}, fmt.Errorf("checkpoint: %w: its origin is %+q, the key's name %+q", ErrSignature, c.Origin,
			t.Log.Name())
	}
	s := Signed{Checkpoint: c, Note: signed}
	byLog := false
	for _, sig := range n.Sigs {
		if err := checkText(sig); err != nil {
			return Signed{}, err
		}
		if sig.Name == t.Log.Name() && sig.Hash == t.Log.KeyHash() {
			byLog = true
			continue
		}
		at, err := cosign.CoSigV1Timestamp(sig)
		if err != nil || at.Unix() <= 0 {
			return Signed{}, malformedError("checkpoint: the cosignature of %+q has no time", sig.Name)
		}
		s.Cosignatures = append(s.Cosignatures, Cosignature{sig.Name, at.UTC()})
	}
	if !byLog {
		return Signed{}, fmt.Errorf("checkpoint of %+q: %w: not by the log's key %+q", c.Origin, ErrSignature,
			t.Log.Name())
	}
	if len(s.Cosignatures) < t.Quorum {
		return Signed{}, fmt.Errorf(
			"checkpoint of %+q: %w: cosigned by %d of the %d witnesses that are known, %d are required",
			c.Origin, ErrSignature, len(s.Cosignatures), len(t.Witnesses), t.Quorum)
	}
	return s, nil
}

// checkText is an error if the base64 of a signature leaves bits over: package note reads these as nothing, so that one
// signature would have several texts.
func checkText(sig note.Signature) error {
	if _, err := base64.StdEncoding.Strict().DecodeString(sig.Base64); err != nil {
		return malformedError("checkpoint: the signature of %+q is not as base64 is written", sig.Name)
	}
	return nil
}

// quotedError escapes the text of an error of package note, which may hold bytes that were
// read.
type quotedError struct{ err error }

func (q quotedError) Error() string { return strings.Trim(fmt.Sprintf("%+q", q.err.Error()), `"`) }
func (q quotedError) Unwrap() error { return q.err }
