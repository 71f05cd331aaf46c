package plugin

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"aead.dev/minisign"

	"github.com/hallmark-mcp/hallmark/digest"
)

// MaxKey is the largest text of a key, in bytes.
const MaxKey = 16 << 10

// Sizes of RSA keys, in bits. The upper one bounds the work that a signature causes.
const (
	minRSA = 2048
	maxRSA = 8192
)

// PublicKey verifies signatures under one algorithm. The zero value verifies none.
type PublicKey struct {
	alg  SignatureAlgorithm
	key  crypto.PublicKey
	text string
}

// ParsePublicKey reads a public key from PEM or from what minisign prints.
func ParsePublicKey(text string) (PublicKey, error) {
	if len(text) > MaxKey {
		return PublicKey{}, fmt.Errorf("public key has more than %d bytes", MaxKey)
	}
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "-----BEGIN") {
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(text)); err != nil {
			return PublicKey{}, errors.New("public key is neither PEM nor minisign's")
		}
		return PublicKey{Minisign, key, key.String()}, nil
	}
	block, rest := pem.Decode([]byte(text))
	if block == nil {
		return PublicKey{}, errors.New("public key is not PEM")
	}
	switch {
	case strings.Contains(block.Type, "PRIVATE"):
		return PublicKey{}, errors.New("this is a private key; give the public one")
	case block.Type != "PUBLIC KEY":
		return PublicKey{}, fmt.Errorf("PEM block is %+q, not \"PUBLIC KEY\"", block.Type)
	case len(strings.TrimSpace(string(rest))) > 0:
		return PublicKey{}, errors.New("more follows the public key")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, fmt.Errorf("public key: %w", err)
	}
	return newPublicKey(key)
}

// newPublicKey finds the algorithm of a key of package crypto.
func newPublicKey(key crypto.PublicKey) (PublicKey, error) {
	p := PublicKey{key: key}
	switch k := key.(type) {
	case ed25519.PublicKey:
		p.alg = Ed25519
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < minRSA || bits > maxRSA {
			return PublicKey{}, fmt.Errorf("RSA key of %d bits; %d to %d are accepted", bits, minRSA, maxRSA)
		}
		p.alg = RSASHA256
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			p.alg = ECDSAP256
		case elliptic.P384():
			p.alg = ECDSAP384
		default:
			return PublicKey{}, errors.New("ECDSA key is neither on P-256 nor on P-384")
		}
	case minisign.PublicKey:
		return PublicKey{Minisign, k, k.String()}, nil
	default:
		return PublicKey{}, fmt.Errorf("keys of kind %T are not supported", key)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, err
	}
	p.text = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return p, nil
}

// Algorithm is the key's own.
func (p PublicKey) Algorithm() SignatureAlgorithm { return p.alg }

// String is the key as it is in a keys file: PEM, or minisign's base64 line. Two texts
// of one key print the same.
func (p PublicKey) String() string { return p.text }

// ID is the default id of the key: the first 16 hex digits of the SHA-256 of String, or the
// one that minisign gives it.
func (p PublicKey) ID() string {
	if k, ok := p.key.(minisign.PublicKey); ok {
		return fmt.Sprintf("%016X", k.ID())
	}
	return digest.FromBytes([]byte(p.text)).Hex()[:16]
}

// Verify is nil if signature was made over message by the private key and states the
// key's algorithm. For minisign the signature is the text of a .minisig file, else its
// raw bytes.
func (p PublicKey) Verify(alg SignatureAlgorithm, message, signature []byte) error {
	if p.alg == "" || !strings.EqualFold(string(alg), string(p.alg)) {
		return ErrAlgorithm
	}
	ok := false
	switch k := p.key.(type) {
	case ed25519.PublicKey:
		ok = ed25519.Verify(k, message, signature)
	case *rsa.PublicKey:
		sum := sha256.Sum256(message)
		ok = rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil
	case *ecdsa.PublicKey:
		ok = ecdsa.VerifyASN1(k, ecdsaSum(p.alg, message), signature)
	case minisign.PublicKey:
		ok = minisign.Verify(k, message, signature)
	}
	if !ok {
		return ErrSignature
	}
	return nil
}

func ecdsaSum(alg SignatureAlgorithm, message []byte) []byte {
	if alg == ECDSAP384 {
		sum := sha512.Sum384(message)
		return sum[:]
	}
	sum := sha256.Sum256(message)
	return sum[:]
}

// CheckSignatureShape is nil if signature may have been made under alg by some key, and else wraps [ErrShape]: what no
// key can have made is no signature of somebody unknown. Of an algorithm that is not known nothing is told.
func CheckSignatureShape(alg SignatureAlgorithm, signature []byte) error {
	bad := func(want string) error { return fmt.Errorf("%w of %s, which is %s", ErrShape, alg, want) }
	switch {
	case strings.EqualFold(string(alg), string(Ed25519)):
		if len(signature) != ed25519.SignatureSize {
			return bad("64 bytes")
		}
	case strings.EqualFold(string(alg), string(RSASHA256)):
		if len(signature) < minRSA/8 || len(signature) > maxRSA/8 {
			return bad("as long as a key of 2,048 to 8,192 bits")
		}
	case strings.EqualFold(string(alg), string(ECDSAP256)), strings.EqualFold(string(alg), string(ECDSAP384)):
		var pair struct{ R, S *big.Int }
		if rest, err := asn1.Unmarshal(signature, &pair); err != nil || len(rest) > 0 || pair.R.Sign() <= 0 ||
			pair.S.Sign() <= 0 || max(pair.R.BitLen(), pair.S.BitLen()) > 384 {
			return bad("a pair of integers in ASN.1")
		}
	case strings.EqualFold(string(alg), string(Minisign)):
		var text minisign.Signature
		if err := text.UnmarshalText(signature); err != nil {
			return bad("the text of a .minisig file")
		}
	}
	return nil
}
