package plugin

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// edKey is an Ed25519 key that differs for each n.
func edKey(t *testing.T, n int) PublicKey {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	seed[0], seed[1] = byte(n), byte(n>>8)
	key, err := newPublicKey(ed25519.NewKeyFromSeed(seed).Public())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// An id has 1 to 200 characters, and a machine trusts at most MaxKeys.
func TestKeysLimits(t *testing.T) {
	for id, good := range map[string]bool{"a": true, "": false, strings.Repeat("a", 200): true,
		strings.Repeat("a", 201): false, "a/b": false, "a\n": false, "A-z_0.9": true} {
		if err := new(TrustedKeys).Add(TrustedKey{ID: id, Public: edKey(t, 0)}); (err == nil) != good {
			t.Errorf("%q: %v", id, err)
		}
	}
	var s TrustedKeys
	for n := range MaxKeys {
		if err := s.Add(TrustedKey{ID: fmt.Sprint("k", n), Public: edKey(t, n)}); err != nil {
			t.Fatal(n, err)
		}
	}
	if err := s.Add(TrustedKey{ID: "more", Public: edKey(t, MaxKeys)}); err == nil || len(s.All()) != MaxKeys {
		t.Errorf("%d keys, %v", len(s.All()), err)
	}
	// What is returned is the caller's own.
	s.All()[0].ID = "changed"
	if s.All()[0].ID != "k0" {
		t.Error("the list that All returned is that of the keys")
	}
}

// The size of an RSA key is bounded on both sides, and so is the text of a key.
func TestKeySizes(t *testing.T) {
	for bits, good := range map[int]bool{2047: false, 2048: true, 4096: true, 8192: true, 8193: false} {
		n := new(big.Int).SetBit(big.NewInt(1), bits-1, 1)
		if _, err := newPublicKey(&rsa.PublicKey{N: n, E: 65537}); (err == nil) != good {
			t.Errorf("%d bits: %v", bits, err)
		}
		der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n, E: 65537})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParsePublicKey(
			string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))); (err == nil) != good {
			t.Errorf("PEM of %d bits: %v", bits, err)
		}
	}
	text := edKey(t, 1).String()
	for _, c := range []struct{ name, text, want string }{
		{"with white space around it", "\n " + text + " \n", ""},
		{"up to the limit", text + strings.Repeat("\n", MaxKey-len(text)), ""},
		{"beyond the limit", text + strings.Repeat("\n", MaxKey-len(text)+1), "more than"},
		{"twice", text + text, "more follows"},
		{"with a word after it", text + "x", "more follows"},
		{"that is private", strings.ReplaceAll(text, "PUBLIC", "PRIVATE"), "this is a private key"},
		{"that is private, of openssh", strings.ReplaceAll(text, "PUBLIC KEY", "OPENSSH PRIVATE KEY"),
			"this is a private key"},
		{"that is a certificate", strings.ReplaceAll(text, "PUBLIC KEY", "CERTIFICATE"), "not \"PUBLIC KEY\""},
		{"of PKCS #1", strings.ReplaceAll(text, "PUBLIC KEY", "RSA PUBLIC KEY"), "not \"PUBLIC KEY\""},
		{"that is cut short", text[:40], "not PEM"},
	} {
		if _, err := ParsePublicKey(c.text); (err == nil) != (c.want == "") ||
			err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("a key %s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Encrypted PEM is named as such in both of its forms.
func TestEncryptedPEM(t *testing.T) {
	old := pem.EncodeToMemory(
		&pem.Block{Type: "RSA PRIVATE KEY",
			Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("x")})
	for _, text := range [][]byte{old, block("ENCRYPTED PRIVATE KEY", []byte("x"))} {
		if _, err := ParsePrivateKey(text, "password"); err == nil || !strings.Contains(err.Error(), "openssl pkey") {
			t.Errorf("%v", err)
		}
	}
	if _, err := ParsePrivateKey(append(block("EC PARAMETERS", nil), block("EC PARAMETERS", nil)...), ""); err == nil {
		t.Error("parameters are a key")
	}
	rs := must(rsa.GenerateKey(rand.Reader, 2048))
	rs.N = new(big.Int).Rsh(rs.N, 1)
	if _, err := newPublicKey(rs.Public()); err == nil {
		t.Error("a key of 2047 bits is taken")
	}
}

// Of two keys that fit, the usable one is found; where none is, the reason is told.
func TestVerifyUnusable(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := must(newPublicKey(private.Public()))
	for _, c := range []struct {
		key  TrustedKey
		want error
	}{{TrustedKey{NotAfter: now.Add(-1)}, ErrValidity}, {TrustedKey{NotBefore: now.Add(1)}, ErrValidity},
		{TrustedKey{Revoked: now}, ErrRevoked}, {TrustedKey{NotBefore: now, NotAfter: now}, nil}} {
		c.key.ID, c.key.Public = "k", key
		var s TrustedKeys
		for _, k := range []TrustedKey{{ID: "first", Public: edKey(t, 1)}, c.key, {ID: "last", Public: edKey(t, 2)}} {
			if err := s.Add(k); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"", "k"} {
			k, err := s.Verify("ED25519", id, []byte("m"), ed25519.Sign(private, []byte("m")), now)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || err == nil && k.ID != "k" ||
				err != nil && k.ID != "" {
				t.Errorf("%+v, id %q: %q, %v", c.key, id, k.ID, err)
			}
		}
	}
}
