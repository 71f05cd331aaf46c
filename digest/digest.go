// Package digest holds a validated digest value and the streaming code that
// computes it.
//
// # Format
//
// A digest prints as
//
//	ALGORITHM ":" LOWER-CASE-HEX
//
// and "sha256:" with 64 hex digits is the only form that Hallmark writes. Three
// algorithms are read:
//
//	sha256  32 bytes  the form of every claim that Hallmark makes
//	sha512  64 bytes  npm's subresource-integrity strings ("sha512-<base64>")
//	sha1    20 bytes  old npm releases and old checksum blocks; weak
//
// [Parse] accepts upper-case hex, [ParseHex] a bare hash field, [ParseSRI] a
// subresource-integrity string. An algorithm outside the table is an
// [UnknownAlgorithmError], which callers report as "unverifiable": it is never
// a match and never a mismatch. The vectors are in spec/digest.json.
//
// Two digests are compared by package evidence only, in constant time; the type
// cannot be compared with ==.
package digest

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// Algorithm names a hash function as it stands before the colon.
type Algorithm string

// The algorithms that can be computed.
const (
	SHA256 Algorithm = "sha256"
	SHA512 Algorithm = "sha512"
	SHA1   Algorithm = "sha1"
)

// ErrMalformed is wrapped by every parse error that is not an unknown algorithm.
var ErrMalformed = errors.New("malformed digest")

// UnknownAlgorithmError says that a digest is well formed but names a hash
// function that this build cannot compute.
type UnknownAlgorithmError struct {
	Algorithm string // as written, at most 32 bytes of [a-z0-9+._-]
}

// Error names the algorithm.
func (e *UnknownAlgorithmError) Error() string {
	return fmt.Sprintf("unknown digest algorithm %q", e.Algorithm)
}

// Size is the number of bytes of a digest under a, or 0 if a is unknown.
func (a Algorithm) Size() int {
	switch a {
	case SHA256:
		return sha256.Size
	case SHA512:
		return sha512.Size
	case SHA1:
		return sha1.Size
	}
	return 0
}

func (a Algorithm) newHash() hash.Hash {
	switch a {
	case SHA256:
		return sha256.New()
	case SHA512:
		return sha512.New()
	case SHA1:
		return sha1.New()
	}
	panic("digest: unknown algorithm " + string(a))
}

// Digest is an algorithm and the bytes that it gave. The zero value is no
// digest: it equals nothing, not even another zero value.
type Digest struct {
	_   [0]func() // not comparable: use evidence.Compare
	alg Algorithm
	sum [sha512.Size]byte
}

// New makes a digest of sum, which must have the length of alg.
func New(alg Algorithm, sum []byte) (Digest, error) {
	var d Digest
	if alg.Size() == 0 {
		return d, &UnknownAlgorithmError{string(alg)}
	}
	if len(sum) != alg.Size() {
		return d, fmt.Errorf("%w: %s has %d bytes, not %d", ErrMalformed, alg, alg.Size(), len(sum))
	}
	d.alg = alg
	copy(d.sum[:], sum)
	return d, nil
}

// Parse reads "algorithm:hex". Hex of either case is accepted. An error is an
// [UnknownAlgorithmError], or wraps [ErrMalformed].
func Parse(s string) (Digest, error) {
	name, value, ok := strings.Cut(s, ":")
	if !ok {
		return Digest{}, fmt.Errorf("%w: %s has no algorithm; want sha256:<64 hex digits>", ErrMalformed, quote(s))
	}
	if !algorithmName(name) {
		return Digest{}, fmt.Errorf("%w: %s does not begin with an algorithm's name", ErrMalformed, quote(s))
	}
	return ParseHex(Algorithm(name), value)
}

// ParseHex reads a field that holds hex alone, where something else says the
// algorithm. Hex of either case is accepted, a prefix is not.
func ParseHex(alg Algorithm, s string) (Digest, error) {
	if alg.Size() == 0 {
		return Digest{}, &UnknownAlgorithmError{string(alg)}
	}
	if len(s) != 2*alg.Size() {
		return Digest{}, fmt.Errorf("%w: %s is written with %d hex digits, not %d bytes of text",
			ErrMalformed, alg, 2*alg.Size(), len(s))
	}
	d := Digest{alg: alg}
	if _, err := hex.AppendDecode(d.sum[:0], []byte(s)); err != nil {
		return Digest{}, fmt.Errorf("%w: %s is not hex", ErrMalformed, quote(s))
	}
	return d, nil
}

// ParseSRI reads a subresource-integrity string: one or more
// "algorithm-base64[?options]" separated by white space. All digests under the
// strongest known algorithm are returned, in order of appearance: bytes satisfy
// the string if they match any one of them. If every algorithm is unknown the
// error is an [UnknownAlgorithmError].
func ParseSRI(s string) ([]Digest, error) {
	var (
		best    []Digest
		unknown *UnknownAlgorithmError
	)
	for _, field := range strings.Fields(s) {
		name, value, ok := strings.Cut(field, "-")
		if !ok || !algorithmName(name) {
			return nil, fmt.Errorf("%w: %s is not algorithm-base64", ErrMalformed, quote(field))
		}
		value, _, _ = strings.Cut(value, "?")
		alg := Algorithm(name)
		if alg.Size() == 0 {
			unknown = &UnknownAlgorithmError{name}
			continue
		}
		sum, err := base64.StdEncoding.Strict().DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("%w: %s is not base64", ErrMalformed, quote(field))
		}
		d, err := New(alg, sum)
		if err != nil {
			return nil, err
		}
		switch {
		case len(best) == 0 || alg.Size() > best[0].alg.Size():
			best = []Digest{d}
		case alg == best[0].alg:
			best = append(best, d)
		}
	}
	if len(best) > 0 {
		return best, nil
	}
	if unknown != nil {
		return nil, unknown
	}
	return nil, fmt.Errorf("%w: empty integrity string", ErrMalformed)
}

// algorithmName reports whether s could be the name of an algorithm.
func algorithmName(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || i > 0 && strings.IndexByte("+._-", c) >= 0) {
			return false
		}
	}
	return true
}

// quote bounds and escapes text from outside before it enters a message.
func quote(s string) string {
	const most = 96
	if len(s) > most {
		return fmt.Sprintf("%+q…", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}

// Algorithm is the algorithm of d, empty for the zero value.
func (d Digest) Algorithm() Algorithm { return d.alg }

// IsZero reports whether d is the zero value, that is no digest.
func (d Digest) IsZero() bool { return d.alg == "" }

// Weak reports whether collisions of d's algorithm are practical. Weak digests
// are verified and reported but alone never admit anything.
func (d Digest) Weak() bool { return d.alg == SHA1 }

// Bytes is a copy of the digest's bytes.
func (d Digest) Bytes() []byte { return append([]byte(nil), d.sum[:d.alg.Size()]...) }

// Hex is the digest's bytes in lower-case hex, without the algorithm.
func (d Digest) Hex() string { return hex.EncodeToString(d.sum[:d.alg.Size()]) }

// String prints "algorithm:hex", or "" for the zero value.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return string(d.appendTo(make([]byte, 0, maxText)))
}

// maxText is how many bytes the longest digest is printed with.
const maxText = len(SHA512) + len(":") + 2*sha512.Size

func (d Digest) appendTo(b []byte) []byte {
	return hex.AppendEncode(append(append(b, d.alg...), ':'), d.sum[:d.alg.Size()])
}

// SRI prints the digest as one subresource-integrity field.
func (d Digest) SRI() string {
	return string(d.alg) + "-" + base64.StdEncoding.EncodeToString(d.sum[:d.alg.Size()])
}

// MarshalText gives the text of String, so that a Digest is a JSON string.
func (d Digest) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return []byte{}, nil
	}
	return d.appendTo(make([]byte, 0, maxText)), nil
}

// UnmarshalText reads what [Parse] does; empty text gives the zero value.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	*d, err = Parse(string(text))
	return err
}

// Equal reports in constant time whether a and b are the same digest. Nothing
// equals the zero value. Only package evidence calls it, so that every
// comparison leaves evidence; a test of the repository checks that.
func Equal(a, b Digest) bool {
	return a.alg == b.alg && !a.IsZero() && subtle.ConstantTimeCompare(a.sum[:], b.sum[:]) == 1
}
