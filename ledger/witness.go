package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// AddCheckpoint is the body of a request to a witness (C2SP tlog-witness,
// add-checkpoint): the checkpoint to cosign, and the proof that it continues
// the one that the witness cosigned last.
type AddCheckpoint struct {
	Old        int64       // the size that the witness cosigned last; 0 if none
	Proof      []tlog.Hash // none if Old is 0
	Checkpoint []byte      // a signed note
}

// Marshal is the text of the request.
func (a AddCheckpoint) Marshal() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "old %d\n", a.Old)
	for _, h := range a.Proof {
		fmt.Fprintf(&b, "%s\n", h)
	}
	b.WriteByte('\n')
	b.Write(a.Checkpoint)
	return b.Bytes()
}

// ParseAddCheckpoint reads the text of a request, in its one form.
func ParseAddCheckpoint(text []byte) (AddCheckpoint, error) {
	if len(text) > MaxProof {
		return AddCheckpoint{}, malformedError("request: more than %d bytes", MaxProof)
	}
	head, checkpoint, ok := strings.Cut(string(text), "\n\n")
	lines := strings.Split(head, "\n")
	size, isOld := strings.CutPrefix(lines[0], "old ")
	if !ok || !isOld || checkpoint == "" {
		return AddCheckpoint{}, malformedError("request: no old size and checkpoint")
	}
	a := AddCheckpoint{Checkpoint: []byte(checkpoint)}
	var err error
	if a.Old, err = parseSize(size); err != nil {
		return AddCheckpoint{}, fmt.Errorf("request: old size: %w", err)
	}
	if a.Proof, err = parseHashes(lines[1:]); err != nil {
		return AddCheckpoint{}, fmt.Errorf("request: %w", err)
	}
	return a, nil
}

// Cosign returns the signature line of a witness for a checkpoint, in the form
// of a witness's answer. The caller has checked that s continues what the
// witness cosigned last.
func Cosign(s Signed, witness note.Signer) ([]byte, error) {
	text, err := s.signedText()
	if err != nil {
		return nil, err
	}
	signed, err := note.Sign(&note.Note{Text: text}, witness)
	if err != nil {
		return nil, err
	}
	return signed[len(text)+1:], nil
}

// AddCosignatures returns the signed checkpoint with those lines of a witness's
// answer that are its valid signatures, in place of older ones of the same
// witness. Other lines are dropped; an answer without a valid one is an error.
func AddCosignatures(s Signed, answer []byte, witness note.Verifier) ([]byte, error) {
	text, err := s.signedText()
	if err != nil {
		return nil, err
	}
	if len(answer) > MaxCheckpoint {
		return nil, malformedError("answer of witness %+q: more than %d bytes", witness.Name(), MaxCheckpoint)
	}
	fresh, err := note.Open([]byte(text+"\n"+string(answer)), note.VerifierList(witness))
	if err != nil {
		return nil, fmt.Errorf("answer of witness %+q: %w", witness.Name(), quotedError{err})
	}
	for _, sig := range fresh.Sigs {
		if err := checkText(sig); err != nil {
			return nil, fmt.Errorf("answer of witness %+q: %w", witness.Name(), err)
		}
	}
	_, err = note.Open(s.Note, note.VerifierList()) // with no verifier, so that it lists all signatures as unverified
	var all *note.UnverifiedNoteError
	if !errors.As(err, &all) {
		return nil, malformedError("checkpoint")
	}
	merged := &note.Note{Text: text, Sigs: fresh.Sigs}
	for i := len(all.Note.UnverifiedSigs) - 1; i >= 0; i-- {
		if old := all.Note.UnverifiedSigs[i]; old.Name != witness.Name() || old.Hash != witness.KeyHash() {
			merged.Sigs = append([]note.Signature{old}, merged.Sigs...)
		}
	}
	return note.Sign(merged)
}

// signedText is what the signatures cover.
func (s Signed) signedText() (string, error) {
	text, _, ok := strings.Cut(string(s.Note), "\n\n")
	if !ok {
		return "", malformedError("checkpoint")
	}
	return text + "\n", nil
}
