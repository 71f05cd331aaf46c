package api

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

var epoch = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func newIssuer(t *testing.T, fill byte) *Issuer {
	t.Helper()
	i, err := NewIssuer([]byte(strings.Repeat(string(fill), 32)))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// The text of a token is what clients of the official registry read.
func TestTokenForm(t *testing.T) {
	g := registry.Grant{Method: registry.MethodDNS, Subject: "example.com", Permissions: toPublish("com.example/*")}
	text, expires, err := newIssuer(t, 'k').Issue(g, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if !expires.Equal(epoch.Add(5 * time.Minute)) {
		t.Errorf("expires %v", expires)
	}
	parts := strings.Split(text, ".")
	var got [2]map[string]any
	for i := range got {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	now := float64(epoch.Unix())
	want := [2]map[string]any{
		{"alg": "EdDSA", "typ": "JWT"},
		{"iss": "mcp-registry", "iat": now, "nbf": now, "exp": now + 300, "auth_method": "dns",
			"auth_method_sub": "example.com",
			"permissions":     []any{map[string]any{"action": "publish", "resource": "com.example/*"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("token %v, want %v", got, want)
	}
}

func TestVerify(t *testing.T) {
	issuer := newIssuer(t, 'k')
	g := registry.Grant{Method: registry.MethodGitHubAT, Subject: "someone",
		Permissions: []registry.Permission{{Action: registry.ActionPublish, Resource: "io.github.someone/*"},
			{Action: registry.ActionEdit, Resource: "x"}}}
	text, _, err := issuer.Issue(g, epoch)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Duration{0, 4 * time.Minute, 5*time.Minute - time.Second, -29 * time.Second} {
		if got, err := newIssuer(t, 'k').Verify(text, epoch.Add(at)); err != nil || !reflect.DeepEqual(got, g) {
			t.Errorf("after %s: %+v, %v", at, got, err)
		}
	}
	for _, at := range []time.Duration{5 * time.Minute, time.Hour, -31 * time.Second} {
		if _, err := issuer.Verify(text, epoch.Add(at)); !errors.Is(err, registry.ErrToken) {
			t.Errorf("after %s: %v", at, err)
		}
	}
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	sign := func(alg jose.SignatureAlgorithm, key any, claims any) string {
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.Signed(s).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	head, rest, _ := strings.Cut(text, ".")
	body, signature, _ := strings.Cut(rest, ".")
	exp := epoch.Add(time.Minute).Unix()
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	for name, forged := range map[string]string{
		"empty":        "",
		"not a token":  "x",
		"long":         strings.Repeat("x", maxToken+1),
		"other key":    func() string { s, _, _ := newIssuer(t, 'l').Issue(g, epoch); return s }(),
		"no algorithm": none + "." + body + ".",
		"no signature": head + "." + body + ".",
		"other claims": head + "." + body[:len(body)-4] + "AAAA." + signature,
		"secret key": sign(jose.HS256, []byte(key.Public().(ed25519.PublicKey)),
			map[string]any{"iss": issuerName, "exp": exp}),
		"another issuer":  sign(jose.EdDSA, key, map[string]any{"iss": "other", "exp": exp}),
		"without expiry":  sign(jose.EdDSA, key, map[string]any{"iss": issuerName}),
		"nested as parts": text + "." + text,
	} {
		if got, err := issuer.Verify(forged, epoch); !errors.Is(err, registry.ErrToken) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// Of a registry whose key is another one now, and of none: the error leads to a login, as that of an expired one does.
	other, _, err := newIssuer(t, 'l').Issue(g, epoch)
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []string{"x", other} {
		if _, err := issuer.Verify(lost, epoch); err == nil || !strings.HasSuffix(err.Error(), ", log in again") {
			t.Errorf("%.20s: %v", lost, err)
		}
	}
	for _, n := range []int{0, 31, 33, 64} {
		if _, err := NewIssuer(make([]byte, n)); err == nil {
			t.Errorf("a key of %d bytes", n)
		}
	}
}

// keyPairs are proof keys of both algorithms, beside the private keys as text.
func keyPairs(t *testing.T) map[registry.Algorithm]string {
	t.Helper()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := p384.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return map[registry.Algorithm]string{registry.Ed25519: strings.Repeat("07", 32), registry.ECDSAP384: hex.EncodeToString(raw)}
}
