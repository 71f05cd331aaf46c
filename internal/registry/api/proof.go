package api

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// scalar is the length of the numbers of ECDSA over P-384, in bytes.
const scalar = 48

// record is the form of one key in DNS or at the well-known address. There may be more
// text around it, as the official registry allows.
var record = spelling.Form(`v=MCPv1;\s*k=([^;]+);\s*p=([A-Za-z0-9+/=]+)`)

// maxRecords is how many keys a domain may have.
const maxRecords = 32

// publicKey is the key of one record.
type publicKey struct {
	algorithm registry.Algorithm
	raw       []byte
	p384      *ecdsa.PublicKey
}

// parseRecord reads the algorithm and the key of one record.
func parseRecord(algorithm, text string) (publicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return publicKey{}, refuse("the key of the record is not base64")
	}
	k := publicKey{algorithm: registry.Algorithm(algorithm), raw: raw}
	switch k.algorithm {
	case registry.Ed25519:
		if len(raw) != ed25519.PublicKeySize {
			return publicKey{},
				refuse("the ed25519 key of the record has %d bytes, not %d", len(raw), ed25519.PublicKeySize)
		}
		return k, nil
	case registry.ECDSAP384:
		if len(raw) != 1+scalar || raw[0] != 2 && raw[0] != 3 {
			return publicKey{},
				refuse("the ecdsap384 key of the record is not the %d bytes of a compressed point", 1+scalar)
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
	return publicKey{},
		refuse("the algorithm of the record is %+.40q, neither %s nor %s", algorithm, registry.Ed25519,
			registry.ECDSAP384)
}

// verifies reports whether signature is k's of message.
func (k publicKey) verifies(message string, signature []byte) bool {
	switch k.algorithm {
	case registry.Ed25519:
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(k.raw, []byte(message), signature)
	case registry.ECDSAP384:
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

// checkProof is nil if p is well formed and of now; it returns p's domain in lower case and
// its signature.
func checkProof(p registry.Proof, now time.Time) (domain string, signature []byte, err error) {
	domain = strings.ToLower(p.Domain)
	if err := checkDomain(domain); err != nil {
		return "", nil, err
	}
	at, err := time.Parse(time.RFC3339, p.Timestamp)
	if err != nil {
		return "", nil, refuse("the timestamp is not an RFC 3339 time")
	}
	if off := now.Sub(at); off > registry.ProofSkew || off < -registry.ProofSkew {
		return "", nil,
			refuse("the timestamp is %s off, and at most %s are allowed; is the clock right?",
				off.Abs().Round(time.Second), registry.ProofSkew)
	}
	if signature, err = hex.DecodeString(p.Signature); err != nil {
		return "", nil, refuse("the signature is not hexadecimal")
	}
	return domain, signature, nil
}

var domainName = spelling.Form(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$`)

func checkDomain(domain string) error {
	if _, err := netip.ParseAddr(domain); err == nil || len(domain) > 253 || !domainName().MatchString(domain) {
		return refuse("the domain is not a name such as example.com")
	}
	if domain == "github.io" || strings.HasSuffix(domain, ".github.io") {
		return refuse("names below io.github are for those who log in with GitHub")
	}
	return nil
}

// verifyProof finds among texts the key that signed p. The message names the keys that were
// tried, as a record that was left behind after a new key is the usual cause.
func verifyProof(p registry.Proof, texts []string, signature []byte, where string) error {
	var keys []publicKey
	var malformed error
	for _, text := range texts {
		for _, m := range record().FindAllStringSubmatch(text, maxRecords) {
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
	if slices.ContainsFunc(keys, func(k publicKey) bool { return k.verifies(p.Timestamp, signature) }) {
		return nil
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.name())
	}
	return refuse("the signature is by none of the keys %s: %s; is the record an old one?", where,
		strings.Join(names, ", "))
}

// namespace returns the namespace of a domain: com.example of example.com.
func namespace(domain string) string {
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
