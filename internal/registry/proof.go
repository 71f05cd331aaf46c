package registry

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Skew is how far a proof's time may be from the registry's.
const ProofSkew = 15 * time.Second

// Proof is what a login by dns or http sends.
type Proof struct {
	Domain    string `json:"domain" maxLength:"253" example:"example.com"`
	Timestamp string `json:"timestamp" maxLength:"64" doc:"The time now, RFC 3339" example:"2026-01-31T12:00:00Z"`
	Signature string `json:"signed_timestamp" maxLength:"512" doc:"Hexadecimal signature of the timestamp's text"`
}

// Algorithm is the algorithm of a key that signs proofs.
type Algorithm string

// The algorithms.
const (
	Ed25519   Algorithm = "ed25519"
	ECDSAP384 Algorithm = "ecdsap384"
)

// scalar is the length of the numbers of ECDSA over P-384, in bytes.
const scalar = 48

// ProofKey signs proofs, on the side of who logs in.
type ProofKey struct {
	algorithm Algorithm
	ed25519   ed25519.PrivateKey
	p384      *ecdsa.PrivateKey
}

// ParseProofKey reads a private key: in hexadecimal the 32 bytes of an Ed25519 seed, or the 48 of a P-384 scalar; or in
// PEM, as openssl writes it. No error shows any of it.
func ParseProofKey(a Algorithm, text string) (*ProofKey, error) {
	if a != Ed25519 && a != ECDSAP384 {
		return nil, fmt.Errorf("algorithm %+q is neither %s nor %s", string(a), Ed25519, ECDSAP384)
	}
	text = strings.TrimPrefix(text, "\ufeff") // which editors of Windows put before it
	if block := findKey([]byte(text)); block != nil {
		return parsePEM(a, block)
	}
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New("private key: neither hexadecimal nor PEM")
	}
	k := &ProofKey{algorithm: a}
	switch {
	case a == Ed25519 && len(raw) == scalar:
		return nil, fmt.Errorf("private key: has %d bytes; an ed25519 seed has %d: it is one of P-384, of which "+
			"--algorithm %s says so", len(raw), ed25519.SeedSize, ECDSAP384)
	case a == Ed25519 && len(raw) != ed25519.SeedSize:
		return nil, fmt.Errorf("private key: has %d bytes; an ed25519 seed has %d", len(raw), ed25519.SeedSize)
	case a == Ed25519:
		k.ed25519 = ed25519.NewKeyFromSeed(raw)
	case len(raw) != scalar:
		return nil, fmt.Errorf("private key: has %d bytes; one of P-384 has %d", len(raw), scalar)
	default:
		if k.p384, err = ecdsa.ParseRawPrivateKey(elliptic.P384(), raw); err != nil {
			return nil, fmt.Errorf("private key: not one of P-384")
		}
	}
	return k, nil
}

// findKey returns the first block of PEM that is a private key, behind a curve, a public key or a certificate. If there
// is none it is the last block; nil if there is no block at all.
func findKey(text []byte) (block *pem.Block) {
	for next, rest := pem.Decode(text); next != nil; next, rest = pem.Decode(rest) {
		if block = next; strings.HasSuffix(block.Type, "PRIVATE KEY") {
			break
		}
	}
	return block
}

// parsePEM reads a block of PEM, whose key must be one of a.
func parsePEM(a Algorithm, block *pem.Block) (*ProofKey, error) {
	var key any
	var err error
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return nil, fmt.Errorf("private key: PEM block is %+q, not a private key without a password: "+
			"'openssl pkey' takes the password away", block.Type)
	case block.Type == "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case block.Type == "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("private key: PEM block is %+q, not a private key as 'openssl genpkey' writes it",
			block.Type)
	}
	if err != nil {
		return nil, errors.New("private key: its PEM cannot be parsed")
	}
	k := new(ProofKey)
	switch key := key.(type) {
	case ed25519.PrivateKey:
		k.algorithm, k.ed25519 = Ed25519, key
	case *ecdsa.PrivateKey:
		if key.Curve == elliptic.P384() {
			k.algorithm, k.p384 = ECDSAP384, key
		}
	}
	switch k.algorithm {
	case a:
		return k, nil
	case "":
		return nil, errors.New("private key: is neither one of Ed25519 nor of P-384")
	}
	return nil, fmt.Errorf("private key: is one of another algorithm: say --algorithm %s", k.algorithm)
}

// Record is the text to publish in DNS or at the well-known address.
func (k *ProofKey) Record() string {
	public := []byte(nil)
	if k.algorithm == Ed25519 {
		public = k.ed25519.Public().(ed25519.PublicKey)
	} else if raw, err := k.p384.PublicKey.Bytes(); err == nil {
		// Uncompressed: 4, X, Y. Compressed: 2 or 3 by the parity of Y, X.
		public = append([]byte{2 | raw[len(raw)-1]&1}, raw[1:1+scalar]...)
	}
	return fmt.Sprintf("v=MCPv1; k=%s; p=%s", k.algorithm, base64.StdEncoding.EncodeToString(public))
}

// Prove signs the time now for domain.
func (k *ProofKey) Prove(domain string, now time.Time) (Proof, error) {
	p := Proof{Domain: domain, Timestamp: now.UTC().Format(time.RFC3339)}
	if k.algorithm == Ed25519 {
		p.Signature = hex.EncodeToString(ed25519.Sign(k.ed25519, []byte(p.Timestamp)))
		return p, nil
	}
	sum := sha512.Sum384([]byte(p.Timestamp))
	r, s, err := ecdsa.Sign(rand.Reader, k.p384, sum[:])
	if err != nil {
		return Proof{}, err
	}
	signature := make([]byte, 2*scalar)
	r.FillBytes(signature[:scalar])
	s.FillBytes(signature[scalar:])
	p.Signature = hex.EncodeToString(signature)
	return p, nil
}
