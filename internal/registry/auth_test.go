package registry

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
)

func TestAllows(t *testing.T) {
	for _, c := range []struct {
		resource, name string
		want           bool
	}{
		{"com.example/*", "com.example/notes", true},
		{"com.example/*", "com.example", false},
		{"com.example/*", "com.examples/notes", false},
		{"com.example/*", "com.example.sub/notes", false},
		{"com.example.*", "com.example.sub/notes", true},
		{"com.example.*", "com.example/notes", false},
		{"com.example/notes", "com.example/notes", true},
		{"com.example/notes", "com.example/notes2", false},
		{"com.example/*", "Com.example/notes", false},
		{"*", "com.example/notes", true},
		{"", "com.example/notes", false},
	} {
		g := Grant{Permissions: []Permission{{ActionEdit, "*"}, {ActionPublish, c.resource}}}
		if got := g.Allows(ActionPublish, c.name); got != c.want {
			t.Errorf("%q allows %q: %v", c.resource, c.name, got)
		}
		g.Permissions = g.Permissions[1:]
		if g.Allows(ActionEdit, c.name) {
			t.Errorf("%q to publish allows to edit", c.resource)
		}
	}
}

func TestCheckResource(t *testing.T) {
	for resource, ok := range map[string]bool{
		"*": true, "com.example/*": true, "com.example.*": true, "com.example/notes": true, "com.example/no*": true,
		"@acme/*": true, "@acme/notes": true, "@acme/no*": true,
		"": false, "**": false, "com.example": false, "com.example*": false, "com.*.example/x": false, "a b/c": false,
		"a/b/c": false, "@acme": false, "@acme*": false, "@*": false, "@": false, "@@acme/x": false, "a@b/c": false,
		"é/x": false, "/*" + strings.Repeat("x", 300): false,
	} {
		if err := CheckResource(resource); (err == nil) != ok {
			t.Errorf("%q: %v", resource, err)
		}
	}
}

func TestKeyFile(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "token.key")
	if _, err := ReadKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	var mu sync.Mutex
	seeds, creators := map[string]bool{}, 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			seed, created, err := OpenKey(ctx, path)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seeds[string(seed)] = true
			if created {
				creators++
			}
		})
	}
	all.Wait()
	if len(seeds) != 1 || creators != 1 {
		t.Errorf("%d keys by %d creators", len(seeds), creators)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for text, ok := range map[string]bool{
		strings.Repeat("ab", 32): true, strings.Repeat("AB", 32) + "\r\n": true, strings.Repeat("\xff", 32): true,
		"": false, strings.Repeat("ab", 31): false, strings.Repeat("ab", 33): false, strings.Repeat("xy", 32): false,
	} {
		other := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		seed, created, err := OpenKey(ctx, other)
		if (err == nil) != ok || created || ok && len(seed) != 32 {
			t.Errorf("%q: %d bytes, %v", text, len(seed), err)
		}
		if !ok && text != "" && strings.Contains(err.Error(), text[:8]) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}

// The key of a user whom others may read along with is refused; who mounts a secret for
// another user has to let that one read it.
func TestPrivateKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, private := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o620: false,
		0o604: false, 0o601: false, 0o644: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, _, err := OpenKey(t.Context(), path)
		if runtime.GOOS == "windows" {
			private = true
		}
		if (err == nil) != private ||
			err != nil && (evidence.ClassOf(err) != evidence.Validation ||
				!strings.Contains(err.Error(), "chmod 600 "+path)) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}

// keyPairs are proof keys of both algorithms, beside the private keys as text.
func keyPairs(t *testing.T) map[Algorithm]string {
	t.Helper()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := p384.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return map[Algorithm]string{Ed25519: strings.Repeat("07", 32), ECDSAP384: hex.EncodeToString(raw)}
}

// A key is taken as openssl writes it, if it is one of the algorithm that was asked for.
func TestParseProofKeyOfPEM(t *testing.T) {
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	p256, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return "a text before\n" + string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	pkcs8 := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return block("PRIVATE KEY", der, err)
	}
	sec1, err := x509.MarshalECPrivateKey(p384)
	locked := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("x"),
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}}))
	seed := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	for name, c := range map[string]struct {
		a    Algorithm
		text string
		want string // the beginning of the record, or of the error
	}{
		"Ed25519":            {Ed25519, pkcs8(seed), "v=MCPv1; k=ed25519; p="},
		"P-384":              {ECDSAP384, pkcs8(p384), "v=MCPv1; k=ecdsap384; p="},
		"P-384, by openssl":  {ECDSAP384, block("EC PRIVATE KEY", sec1, err), "v=MCPv1; k=ecdsap384; p="},
		"P-384, its curve":   {ECDSAP384, block("EC PARAMETERS", []byte{6, 0}, nil) + block("EC PRIVATE KEY", sec1, err), "v=MCPv1; k=ecdsap384; p="},
		"another algorithm":  {Ed25519, pkcs8(p384), "private key: is one of another algorithm: say --algorithm ecdsap384"},
		"the other one":      {ECDSAP384, pkcs8(seed), "private key: is one of another algorithm: say --algorithm ed25519"},
		"another curve":      {ECDSAP384, pkcs8(p256), "private key: is neither one of Ed25519 nor of P-384"},
		"a public key":       {Ed25519, block("PUBLIC KEY", nil, nil), `private key: PEM block is "PUBLIC KEY", not a private key`},
		"a pair":             {Ed25519, block("PUBLIC KEY", nil, nil) + pkcs8(seed), "v=MCPv1; k=ed25519; p="},
		"Windows":            {Ed25519, strings.ReplaceAll(pkcs8(seed), "\n", "\r\n"), "v=MCPv1; k=ed25519; p="},
		"a key of ssh":       {Ed25519, block("OPENSSH PRIVATE KEY", nil, nil), `private key: PEM block is "OPENSSH PRIVATE KEY", not a private key as`},
		"an old password":    {ECDSAP384, locked, `private key: PEM block is "EC PRIVATE KEY", not a private key without a password`},
		"with a password":    {Ed25519, block("ENCRYPTED PRIVATE KEY", nil, nil), `private key: PEM block is "ENCRYPTED PRIVATE KEY", not a`},
		"no key":             {Ed25519, block("PRIVATE KEY", []byte("secret"), nil), "private key: its PEM cannot be parsed"},
		"P-384, hexadecimal": {Ed25519, strings.Repeat("07", 48), "private key: has 48 bytes; an ed25519 seed has 32: it is one of P-384"},
	} {
		k, err := ParseProofKey(c.a, c.text)
		got := ""
		if err != nil {
			got = err.Error()
		} else if _, err := k.Prove("example.com", time.Now()); err == nil {
			got = k.Record()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := ParseProofKey(Ed25519, "\ufeff"+pkcs8(seed)); err != nil {
		t.Errorf("behind a byte order mark: %v", err)
	}
	fromHex, err := ParseProofKey(Ed25519, hex.EncodeToString(seed.Seed()))
	if fromPEM, err2 := ParseProofKey(Ed25519, pkcs8(seed)); err != nil || err2 != nil || fromHex.Record() != fromPEM.Record() {
		t.Error("one key has two records", err, err2)
	}
}

func TestParseProofKey(t *testing.T) {
	pairs := keyPairs(t)
	for algorithm, text := range pairs {
		if _, err := ParseProofKey(algorithm, text+"\n"); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
		for _, other := range []string{"", text[:len(text)-2], text + "00", "zz" + text[2:]} {
			if _, err := ParseProofKey(algorithm, other); err == nil ||
				other != "" && strings.Contains(err.Error(), other[2:10]) {
				t.Errorf("%s %q: %v", algorithm, other, err)
			}
		}
	}
	if _, err := ParseProofKey("rsa", pairs[Ed25519]); err == nil {
		t.Error("a key of another algorithm")
	}
	if _, err := ParseProofKey(ECDSAP384, strings.Repeat("ff", 48)); err == nil {
		t.Error("a scalar beyond the order")
	}
}
