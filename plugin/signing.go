package plugin

import (
	"errors"
	"slices"
	"strings"
)

// SignatureAlgorithm names how a signature is made, as it stands beside it.
type SignatureAlgorithm string

// The algorithms.
const (
	Ed25519   SignatureAlgorithm = "Ed25519"
	RSASHA256 SignatureAlgorithm = "RSA-SHA256"
	ECDSAP256 SignatureAlgorithm = "ECDSA-P256-SHA256"
	ECDSAP384 SignatureAlgorithm = "ECDSA-P384-SHA384"
	Minisign  SignatureAlgorithm = "minisign"
)

// SignatureAlgorithms lists the algorithms.
func SignatureAlgorithms() []SignatureAlgorithm {
	return []SignatureAlgorithm{Ed25519, RSASHA256, ECDSAP256, ECDSAP384, Minisign}
}

// Known reports whether a, in any case of its letters, can be verified.
func (a SignatureAlgorithm) Known() bool {
	return slices.ContainsFunc(SignatureAlgorithms(), func(b SignatureAlgorithm) bool {
		return strings.EqualFold(string(a), string(b))
	})
}

// otherNames are what other programs call the algorithms.
var otherNames = map[string]SignatureAlgorithm{"eddsa": Ed25519, "rs256": RSASHA256, "es256": ECDSAP256,
	"es384": ECDSAP384}

// SignatureAlgorithmOf returns the algorithm that a name means: one of ours in any case of its letters, or the name
// that JSON Web Algorithms have for it. Another name is returned as it is, and is not Known.
func SignatureAlgorithmOf(name string) SignatureAlgorithm {
	if a, ok := otherNames[strings.ToLower(name)]; ok {
		return a
	}
	return SignatureAlgorithm(name)
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
