package plugin

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"aead.dev/minisign"
)

// ErrPassword is returned for an encrypted private key if the password is missing or
// wrong.
var ErrPassword = errors.New("private key is encrypted, and the password is missing or wrong")

// PrivateKey makes signatures.
type PrivateKey struct {
	public PublicKey
	key    crypto.PrivateKey
}

// ParsePrivateKey reads a private key. The password opens an encrypted minisign
// key; encrypted PEM is not read.
func ParsePrivateKey(text []byte, password string) (PrivateKey, error) {
	if len(text) > MaxKey {
		return PrivateKey{}, fmt.Errorf("private key has more than %d bytes", MaxKey)
	}
	if !strings.Contains(string(text), "-----BEGIN") {
		return parseMinisign(text, password)
	}
	// openssl writes the parameters of a curve before its key.
	block, rest := pem.Decode(text)
	for block != nil && block.Type == "EC PARAMETERS" {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return PrivateKey{}, errors.New("private key is not PEM")
	}
	var key any
	var err error
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return PrivateKey{}, errors.New("encrypted PEM keys are not read; 'openssl pkey' decrypts them")
	case block.Type == "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case block.Type == "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case block.Type == "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		return PrivateKey{}, fmt.Errorf("PEM block is %+q, not a private key", block.Type)
	}
	if err != nil {
		return PrivateKey{}, fmt.Errorf("private key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return PrivateKey{}, fmt.Errorf("keys of kind %T do not sign", key)
	}
	public, err := newPublicKey(signer.Public())
	return PrivateKey{public, key}, err
}

func parseMinisign(text []byte, password string) (PrivateKey, error) {
	var key minisign.PrivateKey
	var err error
	if minisign.IsEncrypted(text) {
		if password == "" {
			return PrivateKey{}, ErrPassword
		}
		if key, err = minisign.DecryptKey(password, text); err != nil {
			return PrivateKey{}, ErrPassword
		}
	} else if err = key.UnmarshalText(text); err != nil {
		return PrivateKey{}, errors.New("private key is neither PEM nor minisign's")
	}
	public, err := newPublicKey(key.Public())
	return PrivateKey{public, key}, err
}

// Public is the key that verifies what k signs.
func (k PrivateKey) Public() PublicKey { return k.public }

// Sign signs message under the key's algorithm, in the form that [PublicKey.Verify]
// takes.
func (k PrivateKey) Sign(message []byte) ([]byte, error) {
	switch key := k.key.(type) {
	case ed25519.PrivateKey:
		return ed25519.Sign(key, message), nil
	case *rsa.PrivateKey:
		sum := sha256.Sum256(message)
		return rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	case *ecdsa.PrivateKey:
		return ecdsa.SignASN1(rand.Reader, key, ecdsaSum(k.public.alg, message))
	case minisign.PrivateKey:
		return minisign.SignWithComments(key, message, "hallmark", "signature from minisign secret key"), nil
	}
	return nil, errors.New("no private key")
}
