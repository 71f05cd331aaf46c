package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Skew is how far a proof's time may be from the registry's.
const Skew = 15 * time.Second

// Proof is what a login by dns or http sends.
type Proof struct {
	Domain    string `json:"domain" maxLength:"253" example:"example.com"`
	Timestamp string `json:"timestamp" maxLength:"64" doc:"The time now, RFC 3339" example:"2026-01-31T12:00:00Z"`
	Signature string `json:"signed_timestamp" maxLength:"512" doc:"Hexadecimal signature of the timestamp's text"`
}

// Algorithm is that of a key that signs proofs.
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

// ParseProofKey reads a private key in hexadecimal: the 32 bytes of an Ed25519 seed, or
// the 48 of a P-384 scalar. No error shows any of it.
func ParseProofKey(a Algorithm, text string) (*ProofKey, error) {
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("private key: not hexadecimal")
	}
	k := &ProofKey{algorithm: a}
	switch a {
	case Ed25519:
		if len(raw) != ed25519.SeedSize {
			return nil, fmt.Errorf("private key: has %d bytes; an ed25519 seed has %d", len(raw), ed25519.SeedSize)
		}
		k.ed25519 = ed25519.NewKeyFromSeed(raw)
	case ECDSAP384:
		if len(raw) != scalar {
			return nil, fmt.Errorf("private key: has %d bytes; one of P-384 has %d", len(raw), scalar)
		}
		if k.p384, err = ecdsa.ParseRawPrivateKey(elliptic.P384(), raw); err != nil {
			return nil, fmt.Errorf("private key: not one of P-384")
		}
	default:
		return nil, fmt.Errorf("algorithm %+q is neither %s nor %s", string(a), Ed25519, ECDSAP384)
	}
	return k, nil
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

// record is the form of one key in DNS or at the well-known address. There may be more
// text around it, as the official registry allows.
var record = regexp.MustCompile(`v=MCPv1;\s*k=([^;]+);\s*p=([A-Za-z0-9+/=]+)`)

// maxRecords is how many keys a domain may have.
const maxRecords = 32

// publicKey is the key of one record.
type publicKey struct {
	algorithm Algorithm
	raw       []byte
	p384      *ecdsa.PublicKey
}

// parseRecord reads the algorithm and the key of one record.
func parseRecord(algorithm, text string) (publicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return publicKey{}, refuse("the key of the record is not base64")
	}
	k := publicKey{algorithm: Algorithm(algorithm), raw: raw}
	switch k.algorithm {
	case Ed25519:
		if len(raw) != ed25519.PublicKeySize {
			return publicKey{}, refuse("the ed25519 key of the record has %d bytes, not %d", len(raw), ed25519.PublicKeySize)
		}
		return k, nil
	case ECDSAP384:
		if len(raw) != 1+scalar || raw[0] != 2 && raw[0] != 3 {
			return publicKey{}, refuse("the ecdsap384 key of the record is not the %d bytes of a compressed point", 1+scalar)
		}
		x, y := elliptic.UnmarshalCompressed(elliptic.P384(), raw)
		if x == nil {
			return publicKey{}, refuse("the ecdsap384 key of the record is no point of the curve")
		}
		point := make([]byte, 1+2*scalar)
		point[0] = 4
		x.FillBytes(point[1 : 1+scalar])
		y.FillBytes(point[1+scalar:])
		if k.p384, err = ecdsa.ParseUncompressedPublicKey(elliptic.P384(), point); err != nil {
			return publicKey{}, refuse("the ecdsap384 key of the record is no point of the curve")
		}
		return k, nil
	}
	return publicKey{}, refuse("the algorithm of the record is %+.40q, neither %s nor %s", algorithm, Ed25519, ECDSAP384)
}

// signed reports whether signature is k's of message.
func (k publicKey) signed(message string, signature []byte) bool {
	switch k.algorithm {
	case Ed25519:
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(k.raw, []byte(message), signature)
	case ECDSAP384:
		if len(signature) != 2*scalar {
			return false
		}
		sum := sha512.Sum384([]byte(message))
		r, s := new(big.Int).SetBytes(signature[:scalar]), new(big.Int).SetBytes(signature[scalar:])
		return ecdsa.Verify(k.p384, sum[:], r, s)
	}
	return false
}

// name shortens the key for messages: enough to tell a new key from an old one.
func (k publicKey) name() string {
	return fmt.Sprintf("%s:%.8s", k.algorithm, base64.StdEncoding.EncodeToString(k.raw))
}

// check is nil if p is well formed and of now; it returns p's domain in lower case and
// its signature.
func (p Proof) check(now time.Time) (domain string, signature []byte, err error) {
	domain = strings.ToLower(p.Domain)
	if err := checkDomain(domain); err != nil {
		return "", nil, err
	}
	at, err := time.Parse(time.RFC3339, p.Timestamp)
	if err != nil {
		return "", nil, refuse("the timestamp is not an RFC 3339 time")
	}
	if off := now.Sub(at); off > Skew || off < -Skew {
		return "", nil, refuse("the timestamp is %s off, and at most %s are allowed; is the clock right?", off.Abs().Round(time.Second), Skew)
	}
	if signature, err = hex.DecodeString(p.Signature); err != nil {
		return "", nil, refuse("the signature is not hexadecimal")
	}
	return domain, signature, nil
}

var domainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$`)
})

func checkDomain(domain string) error {
	if _, err := netip.ParseAddr(domain); err == nil || len(domain) > 253 || !domainName().MatchString(domain) {
		return refuse("the domain is not a name such as example.com")
	}
	if domain == "github.io" || strings.HasSuffix(domain, ".github.io") {
		return refuse("names below io.github are for those who log in with GitHub")
	}
	return nil
}

// verify finds among texts the key that signed p. The message names the keys that were
// tried, as a record that was left behind after a new key is the usual cause.
func (p Proof) verify(texts []string, signature []byte, where string) error {
	var keys []publicKey
	var malformed error
	for _, text := range texts {
		for _, m := range record.FindAllStringSubmatch(text, maxRecords) {
			if len(keys) == maxRecords {
				break
			}
			k, err := parseRecord(m[1], m[2])
			if err != nil {
				malformed = err
				continue
			}
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		if malformed != nil {
			return malformed
		}
		return refuse("there is no record v=MCPv1 %s", where)
	}
	if slices.ContainsFunc(keys, func(k publicKey) bool { return k.signed(p.Timestamp, signature) }) {
		return nil
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name())
	}
	return refuse("the signature is by none of the keys %s: %s; is the record an old one?", where, strings.Join(names, ", "))
}

// reversed is the namespace of a domain: com.example of example.com.
func reversed(domain string) string {
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
