package plugin_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// privateKey is a key for examples; a real one comes from "openssl genpkey" or minisign.
func privateKey() plugin.PrivateKey {
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)))
	if err != nil {
		panic(err)
	}
	key, err := plugin.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), "")
	if err != nil {
		panic(err)
	}
	return key
}

// Trust a publisher's key, and verify a signature by it. A revoked key verifies nothing.
func ExampleTrustedKeys_Verify() {
	key := privateKey()
	message := []byte("sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
	signature, err := key.Sign(message)
	if err != nil {
		fmt.Println(err)
		return
	}

	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	var trusted plugin.TrustedKeys
	if err := trusted.Add(plugin.TrustedKey{ID: "acme-2026", Public: key.Public(), Owner: "Acme", Added: now}); err != nil {
		fmt.Println(err)
		return
	}
	by, err := trusted.Verify(plugin.Ed25519, "acme-2026", message, signature, now)
	fmt.Println(by.Owner, err)

	_, err = trusted.Verify(plugin.Ed25519, "acme-2026", []byte("another message"), signature, now)
	fmt.Println(err)

	if err := trusted.Revoke("acme-2026", "the laptop was stolen", now); err != nil {
		fmt.Println(err)
		return
	}
	_, err = trusted.Verify(plugin.Ed25519, "acme-2026", message, signature, now)
	fmt.Println(errors.Is(err, plugin.ErrRevoked), err)
	// Output:
	// Acme <nil>
	// key acme-2026 (Ed25519): signature does not fit the message
	// true key acme-2026: key is revoked
}

// Keep the trusted keys in a file.
func ExampleParseTrustedKeys() {
	added := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	var trusted plugin.TrustedKeys
	if err := trusted.Add(plugin.TrustedKey{ID: "acme-2026", Public: privateKey().Public(), Added: added}); err != nil {
		fmt.Println(err)
		return
	}
	file, err := trusted.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := plugin.ParseTrustedKeys(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range again.All() {
		fmt.Println(key.ID, key.Public.Algorithm(), key.Added.Format(time.DateOnly))
	}
	// Output:
	// acme-2026 Ed25519 2026-11-20
}
