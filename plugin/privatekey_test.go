package plugin

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// encrypted was made by minisign -G. It takes a gigabyte and seconds to decrypt.
const encrypted = "untrusted comment: minisign encrypted secret key\n" +
	"RWRTY0Iy2trCz4VKcNOhvjPQa2vdlj3J8V/pHpODFJjXudbQi60AAAACAAAAAAAAAEAAAAAAByGJF7kkzh1+4GyPR7iikoK/Nw0Fx2Dy3bv52xcBawrrmGZeL/NjDnikelPNJxWap2w5Ymm0VkeBXNLUgmDpfjdmLpxzU1v8/zVVeyXYPmFxlrwvlOxcTYXtgF+JX8qXVQiJs/RUVm4=\n"

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// What a private key signs, its public key verifies, over that message alone.
func TestSign(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	_, ed, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	rs := must(rsa.GenerateKey(rand.Reader, 2048))
	p256 := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	_, mini, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	parameters := block("EC PARAMETERS", []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7})
	for _, c := range []struct {
		name     string
		text     []byte
		password string
		alg      SignatureAlgorithm
		want     string // part of the error
	}{
		{"Ed25519", block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(ed))), "", Ed25519, ""},
		{"RSA", block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(rs))), "", RSASHA256, ""},
		{"RSA, PKCS #1", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rs)), "", RSASHA256, ""},
		{"P-256", block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(p256))), "", ECDSAP256, ""},
		{"P-256, SEC 1 after its parameters",
			append(parameters, block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(p256)))...), "", ECDSAP256, ""},
		{"P-384", block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(p384))), "", ECDSAP384, ""},
		{"minisign", must(mini.MarshalText()), "", Minisign, ""},
		{"minisign, encrypted by minisign", []byte(encrypted), "password", Minisign, ""},
		{"minisign, no password", []byte(encrypted), "", "", ErrPassword.Error()},
		{"minisign, cut short", []byte(encrypted[:100]), "password", "", "neither PEM"},
		{"P-521", block("PRIVATE KEY",
			must(x509.MarshalPKCS8PrivateKey(must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))))), "", "",
			"neither on P-256"},
		{"encrypted PEM", block("ENCRYPTED PRIVATE KEY", []byte("x")), "", "", "openssl pkey"},
		{"a public key", block("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(ed.Public()))), "", "",
			"not a private key"},
		{"no PEM", []byte("hello"), "", "", "neither PEM"},
		{"parameters alone", parameters, "", "", "not PEM"},
		{"too long", make([]byte, MaxKey+1), "", "", "more than"},
	} {
		key, err := ParsePrivateKey(c.text, c.password)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want an error that holds %q", c.name, err, c.want)
			}
			continue
		}
		if err != nil || key.Public().Algorithm() != c.alg {
			t.Errorf("%s: %s, %v", c.name, key.Public().Algorithm(), err)
			continue
		}
		signature, err := key.Sign([]byte("message"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := key.Public().Verify(c.alg, []byte("message"), signature); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := key.Public().Verify(c.alg, []byte("massage"), signature); !errors.Is(err, ErrSignature) {
			t.Errorf("%s, another message: %v", c.name, err)
		}
		if _, err := ParsePublicKey(string(c.text)); err == nil {
			t.Errorf("%s is taken for a public key", c.name)
		}
	}
	if _, err := (PrivateKey{}).Sign(nil); err == nil {
		t.Error("no key signs")
	}
}

// program runs openssl or minisign, in dir.
func program(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// TestOtherPrograms signs with keys that openssl and minisign made, and has them verify;
// what they sign is in the vectors.
func TestOtherPrograms(t *testing.T) {
	for name, generate := range map[string][]string{
		"Ed25519": {"-algorithm", "ed25519"},
		"RSA":     {"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"},
		"P-256":   {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"},
		"P-384":   {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program(t, dir, "openssl", append(append([]string{"genpkey"}, generate...), "-out", "key")...)
			key := signFile(t, dir, "key")
			if err := os.WriteFile(filepath.Join(dir, "pub"), []byte(key.Public().String()), 0o600); err != nil {
				t.Fatal(err)
			}
			switch key.Public().Algorithm() {
			case Ed25519:
				program(t, dir, "openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "pub", "-rawin", "-in", "message",
					"-sigfile", "signature")
			case ECDSAP384:
				program(t, dir, "openssl", "dgst", "-sha384", "-verify", "pub", "-signature", "signature", "message")
			default:
				program(t, dir, "openssl", "dgst", "-sha256", "-verify", "pub", "-signature", "signature", "message")
			}
		})
	}
	t.Run("minisign", func(t *testing.T) {
		dir := t.TempDir()
		program(t, dir, "minisign", "-G", "-W", "-p", "pub", "-s", "key")
		key := signFile(t, dir, "key")
		if text := must(os.ReadFile(filepath.Join(dir, "pub"))); must(ParsePublicKey(string(text))).String() !=
			key.Public().String() {
			t.Error("the public key is another")
		}
		program(t, dir, "minisign", "-V", "-p", "pub", "-m", "message", "-x", "signature")
	})
}

func signFile(t *testing.T, dir, name string) PrivateKey {
	t.Helper()
	key, err := ParsePrivateKey(must(os.ReadFile(filepath.Join(dir, name))), "")
	if err != nil {
		t.Fatal(err)
	}
	signature := must(key.Sign([]byte("message")))
	for name, data := range map[string][]byte{"message": []byte("message"), "signature": signature} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}
