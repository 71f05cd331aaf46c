package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// inside are addresses that nobody outside may have the registry connect to, each under
// a name that anybody can put into the DNS.
var inside = map[string]string{
	"loop.example.com":     "127.0.0.1",
	"loop2.example.com":    "127.1.2.3",
	"loop6.example.com":    "::1",
	"private.example.com":  "10.1.2.3",
	"private2.example.com": "192.168.1.1",
	"metadata.example.com": "169.254.169.254",
	"mapped.example.com":   "::ffff:127.0.0.1",
	"mapped2.example.com":  "::ffff:10.1.2.3",
	"ula.example.com":      "fd00::1",
	"any.example.com":      "0.0.0.0",
	"nat64.example.com":    "64:ff9b::a01:203",
}

// Whatever somebody has the registry fetch, by a document, by a redirect, by a login or
// by what another service answers, it connects to public addresses alone, unless the
// operator named the host.
func TestNoInsideAddress(t *testing.T) {
	w := world.New(t)
	for name, addr := range inside {
		w.DNS.Host(name, addr)
	}
	npm := "https://npm.example.com:" + w.Port
	w.Host("npm.example.com", func(out http.ResponseWriter, r *http.Request) {
		if to, ok := strings.CutPrefix(r.URL.Path, "/redirect/"); ok {
			http.Redirect(out, r, "https://"+to+":"+w.Port+"/x.tgz", http.StatusFound)
			return
		}
		way, host, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/1.0.0"), "-")
		tarball := "https://" + host + ":" + w.Port + "/x.tgz"
		switch way {
		case "moved":
			http.Redirect(out, r, tarball, http.StatusFound)
			return
		case "redirect":
			tarball = npm + "/redirect/" + host
		}
		fmt.Fprintf(out, `{"name":%q,"version":"1.0.0","mcpName":"com.example/notes","dist":{"tarball":%q}}`,
			way+"-"+host, tarball)
	})
	key, err := registry.ParseProofKey(registry.Ed25519, strings.Repeat("07", 32))
	if err != nil {
		t.Fatal(err)
	}
	w.Host("allowed.example.com", func(out http.ResponseWriter, r *http.Request) { fmt.Fprintln(out, key.Record()) })
	w.Host("moved.example.com", func(out http.ResponseWriter, r *http.Request) {
		http.Redirect(out, r, "https://loop.example.com:"+w.Port+"/.well-known/mcp-registry-auth", http.StatusFound)
	})
	// An issuer that says its keys are inside.
	issuer := "https://issuer.example.com:" + w.Port
	w.Host("issuer.example.com", func(out http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(out,
			`{"issuer":%q,"jwks_uri":"https://loop.example.com:%s/keys",`+
				`"id_token_signing_alg_values_supported":["RS256"]}`, issuer, w.Port)
	})
	args := []string{"--data", t.TempDir(), "--allow-anonymous", "--login", "http,github-at", "--rate-logins", "0",
		"--dns-server", w.DNS.Addr, "--ca-file", w.CA, "--proof-port", w.Port, "--npm-registry", npm,
		"--github-api", "https://loop.example.com:" + w.Port,
		"--oidc-issuer", issuer, "--oidc-client-id", "x", "--oidc-publish", "*"}
	for _, host := range []string{"npm.example.com", "allowed.example.com", "moved.example.com", "issuer.example.com"} {
		args = append(args, "--allow-host", host)
	}
	for name := range inside {
		args = append(args, "--bundle-host", name)
	}
	served := world.StartRegistry(t, args...)

	send := func(path string, body any) (int, string) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(served.URL+path, "application/json", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(answer)
	}
	prove := func(domain string) registry.Proof {
		t.Helper()
		p, err := key.Prove(domain, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	publish := func(pkg map[string]any, ref string) (int, string) {
		t.Helper()
		pkg["transport"] = map[string]any{"type": "stdio"}
		return send("/v0.1/publish", map[string]any{
			"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
			"name":    "com.example/notes", "version": "1.0.0", "description": "x", "packages": []any{pkg},
			"file_hashes": map[string]any{ref: "sha256:" + strings.Repeat("0", 64)},
		})
	}

	if status, answer := send("/v0.1/auth/http", prove("allowed.example.com")); status != 200 {
		t.Fatalf("what is allowed fails: %d %s", status, answer)
	}
	for name, addr := range inside {
		t.Run(addr, func(t *testing.T) {
			if a := netip.MustParseAddr(addr); a.Is6() && !a.Is4In6() {
				l, err := net.Listen("tcp6", "[::1]:0")
				if err != nil {
					t.Skip("this machine has no IPv6, so that nothing is refused for it")
				}
				l.Close()
			}
			status, answer := send("/v0.1/auth/http", prove(name))
			if status != 401 || !strings.Contains(answer, "cannot be read") {
				t.Errorf("proof: %d %s", status, answer)
			}
			refused := "connection to " + name + " refused: that is not a public address"
			hang.Until(t, "the log says that the proof was not tried", func() bool {
				return strings.Contains(served.Log(), refused)
			})
			bundle := "https://" + name + ":" + w.Port + "/mcp-notes.mcpb"
			status, answer = publish(
				map[string]any{"registryType": "mcpb", "identifier": bundle, "fileSha256": strings.Repeat("0", 64)},
				bundle)
			if status != 422 || !strings.Contains(answer, "is not a public address") {
				t.Errorf("bundle: %d %s", status, answer)
			}
			for _, way := range []string{"tarball", "redirect", "moved"} {
				pkg := way + "-" + name
				status, answer = publish(map[string]any{"registryType": "npm", "identifier": pkg, "version": "1.0.0"},
					"npm:"+pkg+"@1.0.0")
				if status != 422 || !strings.Contains(answer, "is not a public address") {
					t.Errorf("%s: %d %s", way, status, answer)
				}
			}
			if asked := w.Asked(name); len(asked) != 0 {
				t.Errorf("it was asked for %v", asked)
			}
		})
	}
	if status, answer := send("/v0.1/auth/http", prove("moved.example.com")); status != 401 ||
		!strings.Contains(answer, "answers 302") {
		t.Errorf("redirected proof: %d %s", status, answer)
	}
	if status, answer := send("/v0.1/auth/github-at", map[string]string{"github_token": "x"}); status != 502 ||
		strings.Contains(answer, "127.0.0.1") {
		t.Errorf("GitHub inside: %d %s", status, answer)
	}
	if status, answer := send("/v0.1/auth/oidc", map[string]string{"oidc_token": token(issuer)}); status != 401 ||
		strings.Contains(answer, "127.0.0.1") {
		t.Errorf("keys inside: %d %s", status, answer)
	}
	if asked := w.Asked("loop.example.com"); len(asked) != 0 {
		t.Errorf("it was asked for %v", asked)
	}
	if n := strings.Count(served.Log(), "is not a public address"); n < len(inside) {
		t.Errorf("the operator is told %d times", n)
	}
}

// token is an ID token of issuer, with a signature that nobody made.
func token(issuer string) string {
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	return part(map[string]any{"alg": "RS256", "kid": "1"}) + "." +
		part(map[string]any{"iss": issuer, "aud": "x", "sub": "x", "exp": time.Now().Add(time.Minute).Unix()}) + "." +
		base64.RawURLEncoding.EncodeToString(make([]byte, 256))
}
