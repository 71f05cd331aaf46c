package ledger

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// GenerateKey makes a key of the log origin, or of the witness of that name,
// in the string forms of C2SP signed-note. The signer key is the secret.
func GenerateKey(rand io.Reader, origin string) (signerKey, verifierKey string, err error) {
	if err := CheckOrigin(origin); err != nil {
		return "", "", err
	}
	return note.GenerateKey(rand, origin)
}

// Key is a signer and the verifier key that belongs to it.
type Key struct {
	note.Signer
	VerifierKey string // "NAME+ID+BASE64"
}

// NewKey is the key of the log origin that a seed of 32 bytes gives.
func NewKey(origin string, seed []byte) (Key, error) {
	if err := CheckOrigin(origin); err != nil {
		return Key{}, err
	}
	if len(seed) != ed25519.SeedSize {
		return Key{}, malformedError("seed of %d bytes", len(seed))
	}
	v, err := note.NewEd25519VerifierKey(origin, ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
	if err != nil {
		return Key{}, fmt.Errorf("log key: %w", err)
	}
	id, _, _ := strings.Cut(v[len(origin)+1:], "+")
	secret := append([]byte{1}, seed...) // 1 is Ed25519
	return ParseKey("PRIVATE+KEY+" + origin + "+" + id + "+" + base64.StdEncoding.EncodeToString(secret))
}

// ParseKey reads the signer key of a log ("PRIVATE+KEY+NAME+ID+BASE64").
// Errors never show it.
func ParseKey(signerKey string) (Key, error) {
	s, pub, err := parseSecret(signerKey)
	if err != nil {
		return Key{}, err
	}
	v, err := note.NewEd25519VerifierKey(s.Name(), pub)
	if err != nil {
		return Key{}, fmt.Errorf("log key: %w", err)
	}
	return Key{s, v}, nil
}

// ParseWitnessKey reads the signer key of a witness: its signatures are
// cosignatures with the time at which they are made. The key that ParseKey reads
// may be used here, but a log and a witness must not share one.
func ParseWitnessKey(signerKey string) (Key, error) {
	plain, err := ParseKey(signerKey)
	if err != nil {
		return Key{}, err
	}
	s, err := cosign.NewSignerForCosignatureV1(signerKey)
	if err != nil {
		return Key{}, fmt.Errorf("witness key: %w", err)
	}
	v, err := cosign.VKeyToCosignatureV1(plain.VerifierKey)
	if err != nil {
		return Key{}, fmt.Errorf("witness key: %w", err)
	}
	return Key{s, v}, nil
}

// parseSecret reads a signer key and derives its public key.
func parseSecret(signerKey string) (note.Signer, ed25519.PublicKey, error) {
	s, err := note.NewSigner(signerKey)
	if err != nil {
		return nil, nil, malformedError("signer key")
	}
	if err := CheckOrigin(s.Name()); err != nil {
		return nil, nil, err
	}
	seed := keyMaterial(signerKey)
	if len(seed) != ed25519.SeedSize {
		return nil, nil, malformedError("signer key")
	}
	return s, ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey), nil
}

// ParseVerifier reads the verifier key of a log: Ed25519.
func ParseVerifier(verifierKey string) (note.Verifier, error) {
	v, err := note.NewVerifier(verifierKey)
	if err != nil {
		return nil, malformedError("log key %+.120q", verifierKey)
	}
	if err := CheckOrigin(v.Name()); err != nil {
		return nil, err
	}
	return v, nil
}

// ParseWitness reads the verifier key of a witness: a cosignature key, Ed25519 or ML-DSA-44, or
// the plain Ed25519 key from which one is derived.
func ParseWitness(verifierKey string) (note.Verifier, error) {
	v, err := cosign.NewVerifierForCosignatureV1(verifierKey)
	if err != nil {
		return nil, malformedError("witness key %+.120q", verifierKey)
	}
	if err := CheckOrigin(v.Name()); err != nil {
		return nil, err
	}
	// The library does not compare the key's id with the key; a plain key has
	// the id of a plain key.
	_, rest, _ := strings.Cut(verifierKey, "+")
	id, _, _ := strings.Cut(rest, "+")
	if plain, err := note.NewVerifier(verifierKey); err == nil && fmt.Sprintf("%08x", plain.KeyHash()) == id {
		return v, nil
	}
	if fmt.Sprintf("%08x", v.KeyHash()) != id {
		return nil, malformedError("witness key %+.120q: its id is another key's", verifierKey)
	}
	return v, nil
}

// keyMaterial is the key in a key string, without the byte of its algorithm;
// nil if there is none.
func keyMaterial(key string) []byte {
	raw, err := base64.StdEncoding.DecodeString(lastKeyPart(key))
	if err != nil || len(raw) < 1 {
		return nil
	}
	return raw[1:]
}

// lastKeyPart is the base64 part of a key string. Base64 may hold "+", so that
// the parts are counted from the front.
func lastKeyPart(key string) string {
	skip := 2
	if strings.HasPrefix(key, "PRIVATE+KEY+") {
		skip = 4
	}
	parts := strings.SplitN(key, "+", skip+1)
	return parts[len(parts)-1]
}
