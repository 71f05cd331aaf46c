// Package sign makes and verifies signatures of short messages, and knows which keys
// this machine trusts.
//
// # Algorithms
//
//	Ed25519            over the message
//	RSA-SHA256         PKCS #1 v1.5, a key of 2,048 to 8,192 bits
//	ECDSA-P256-SHA256  ASN.1, a key on P-256
//	ECDSA-P384-SHA384  ASN.1, a key on P-384
//	minisign           the text of a .minisig file, its trusted comment included
//
// A key has one algorithm, which follows from the key itself. A signature that states
// another one is refused before any arithmetic: what is stated comes from whoever wrote
// the signature, and must not choose how it is checked.
//
// # Keys
//
// A public key is PEM "PUBLIC KEY" (PKIX), or what minisign prints: its two-line file or
// the base64 line alone. A private key is PEM "PRIVATE KEY" (PKCS #8), "RSA PRIVATE KEY"
// or "EC PRIVATE KEY", or minisign's file, which may be encrypted by a password.
//
// # Trusted keys
//
// A keys file is JSON of at most [MaxKeysFile] bytes:
//
//	{"version": 1,
//	 "keys": [{"id": "acme-2026", "public_key": "-----BEGIN PUBLIC KEY-----\n…",
//	           "owner": "…", "added": TIME, "not_before": TIME, "not_after": TIME,
//	           "revoked": TIME, "reason": "…"}]}
//
// All but id, public_key and added may be missing; a TIME is RFC 3339. An id is 1 to 200 of
// [A-Za-z0-9._-]; no id and no key is there twice. A revoked key verifies nothing, whenever
// the signature says that it was made: that time is the signer's own word. For the
// same reason not_before and not_after are compared with the present.
package sign

import (
	"errors"
	"slices"
	"strings"
)

// Algorithm names how a signature is made, as it stands beside it.
type Algorithm string

// The algorithms.
const (
	Ed25519   Algorithm = "Ed25519"
	RSASHA256 Algorithm = "RSA-SHA256"
	ECDSAP256 Algorithm = "ECDSA-P256-SHA256"
	ECDSAP384 Algorithm = "ECDSA-P384-SHA384"
	Minisign  Algorithm = "minisign"
)

// Algorithms lists the algorithms.
func Algorithms() []Algorithm { return []Algorithm{Ed25519, RSASHA256, ECDSAP256, ECDSAP384, Minisign} }

// Known reports whether a, in any case of its letters, can be verified.
func (a Algorithm) Known() bool {
	return slices.ContainsFunc(Algorithms(), func(b Algorithm) bool { return strings.EqualFold(string(a), string(b)) })
}

// otherNames are what other programs call the algorithms.
var otherNames = map[string]Algorithm{"eddsa": Ed25519, "rs256": RSASHA256, "es256": ECDSAP256, "es384": ECDSAP384}

// AlgorithmOf returns the algorithm that a name means: one of ours in any case of its letters, or the name that
// JSON Web Algorithms have for it. Another name is returned as it is, and is not Known.
func AlgorithmOf(name string) Algorithm {
	if a, ok := otherNames[strings.ToLower(name)]; ok {
		return a
	}
	return Algorithm(name)
}

// Why a signature is no good. Each is wrapped by an error that names the key.
var (
	ErrAlgorithm = errors.New("algorithm is not that of the key")
	ErrSignature = errors.New("signature does not fit the message")
	ErrUnknown   = errors.New("no trusted key")
	ErrRevoked   = errors.New("key is revoked")
	ErrValidity  = errors.New("key is not valid at this time")
	ErrShape     = errors.New("is no signature")
)
