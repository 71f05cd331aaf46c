package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

// toPublish are permissions to publish under names.
func toPublish(names ...string) []registry.Permission {
	var all []registry.Permission
	for _, name := range names {
		all = append(all, registry.Permission{Action: registry.ActionPublish, Resource: name})
	}
	return all
}

func proofKey(t *testing.T, algorithm registry.Algorithm, text string) *registry.ProofKey {
	t.Helper()
	k, err := registry.ParseProofKey(algorithm, text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func prove(t *testing.T, k *registry.ProofKey, domain string) registry.Proof {
	t.Helper()
	p, err := k.Prove(domain, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantRefused demands an ErrRefused whose text has every part.
func wantRefused(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, ErrRefused) {
		t.Errorf("%s: %v, want a refusal", what, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %q does not have %q", what, err, part)
		}
	}
}

func TestLoginDNS(t *testing.T) {
	dns := registrytest.StartDNS(t)
	out := &Outside{LookupTXT: dns.Resolver().LookupTXT}
	ctx := context.Background()
	for algorithm, text := range keyPairs(t) {
		k := proofKey(t, algorithm, text)
		dns.TXT("example.com", "v=spf1 -all", strings.Repeat("long ", 100), k.Record())
		g, err := out.LoginDNS(ctx, prove(t, k, "Example.com"), epoch)
		want := registry.Grant{Method: registry.MethodDNS, Subject: "example.com",
			Permissions: toPublish("com.example/*", "com.example.*")}
		if err != nil || !reflect.DeepEqual(g, want) {
			t.Errorf("%s: %+v, %v", algorithm, g, err)
		}
		// The right proof for the wrong domain, time or key.
		dns.TXT("other.example.com", "nothing")
		for _, domain := range []string{"other.example.com", "nowhere.example.com"} {
			_, err = out.LoginDNS(ctx, prove(t, k, domain), epoch)
			wantRefused(t, domain, err, "no record")
		}
		for _, off := range []time.Duration{15 * time.Second, -15 * time.Second} {
			if _, err := out.LoginDNS(ctx, prove(t, k, "example.com"), epoch.Add(off)); err != nil {
				t.Errorf("%s off: %v", off, err)
			}
			_, err := out.LoginDNS(ctx, prove(t, k, "example.com"), epoch.Add(off+off/15))
			wantRefused(t, "too late or early", err, "16s off")
		}
		stranger := proofKey(t, registry.Ed25519, strings.Repeat("08", 32))
		_, err = out.LoginDNS(ctx, prove(t, stranger, "example.com"), epoch)
		wantRefused(t, "another key", err, "none of the keys", string(algorithm)+":")

		dns.TXT("example.com", stranger.Record(), k.Record()) // an old key beside the new
		if _, err = out.LoginDNS(ctx, prove(t, k, "example.com"), epoch); err != nil {
			t.Errorf("the second of two keys: %v", err)
		}
		dns.TXT("example.com", "nothing")
		dns.TXT("_mcp-auth.example.com", k.Record())
		_, err = out.LoginDNS(ctx, prove(t, k, "example.com"), epoch)
		wantRefused(t, "misplaced", err, "_mcp-auth.example.com")
		dns.TXT("_mcp-auth.example.com")

		p := prove(t, k, "example.com")
		dns.TXT("example.com", k.Record())
		for name, change := range map[string]func(*registry.Proof){
			"signature cut":      func(p *registry.Proof) { p.Signature = p.Signature[2:] },
			"signature longer":   func(p *registry.Proof) { p.Signature += "00" },
			"signature changed":  func(p *registry.Proof) { p.Signature = flip(p.Signature) },
			"signature empty":    func(p *registry.Proof) { p.Signature = "" },
			"signature is text":  func(p *registry.Proof) { p.Signature = "x" },
			"timestamp changed":  func(p *registry.Proof) { p.Timestamp = "2026-01-31T12:00:01Z" },
			"timestamp respelt":  func(p *registry.Proof) { p.Timestamp = "2026-01-31T12:00:00+00:00" },
			"timestamp is words": func(p *registry.Proof) { p.Timestamp = "now" },
		} {
			changed := p
			change(&changed)
			_, err := out.LoginDNS(ctx, changed, epoch)
			wantRefused(t, name, err)
		}
		for _, domain := range []string{"", "localhost", "127.0.0.1", "::1", "[::1]", "example.com:8080",
			"example.com/x", "user@example.com",
			"-a.example.com", "a..example.com", "example.com.", strings.Repeat("a", 64) + ".com",
			strings.Repeat("a.", 127) + "com",
			"github.io", "someone.github.io", "Someone.GitHub.IO", "exa mple.com", "exämple.com", "1.2.3.4"} {
			before := dns.CountAsked(domain)
			_, err := out.LoginDNS(ctx, prove(t, k, domain), epoch)
			wantRefused(t, domain, err)
			if dns.CountAsked(domain) != before {
				t.Errorf("%q was looked up", domain)
			}
		}
	}
	down := &Outside{LookupTXT: func(context.Context, string) ([]string, error) {
		return nil, &net.DNSError{Err: "server 10.1.2.3 misbehaving"}
	}}
	_, err := down.LoginDNS(ctx, prove(t, proofKey(t, registry.Ed25519, strings.Repeat("07", 32)), "example.com"), epoch)
	wantRefused(t, "no DNS", err, "cannot be read now")
	if strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("the message tells of the inside: %v", err)
	}
}

func flip(signature string) string {
	if signature[0] == '0' {
		return "1" + signature[1:]
	}
	return "0" + signature[1:]
}

// point is a first byte and 48 others.
func point(first, fill byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte{first}, bytes.Repeat([]byte{fill}, 48)...))
}

func TestMalformedRecords(t *testing.T) {
	for text, part := range map[string]string{
		"v=MCPv1; k=rsa; p=AAAA":                                 "neither",
		"v=MCPv1; k=ed25519; p=A":                                "base64",
		"v=MCPv1; k=ed25519; p=AAAA":                             "3 bytes",
		"v=MCPv1; k=ecdsap384; p=AAAA":                           "compressed",
		"v=MCPv1; k=ecdsap384; p=" + point(4, 0):                 "compressed",
		"v=MCPv1; k=ecdsap384; p=" + point(2, 0xff):              "no point",
		"v=MCPv2; k=ed25519; p=" + strings.Repeat("A", 43) + "=": "no record",
		"k=ed25519; p=AAAA":                                      "no record",
		"":                                                       "no record",
	} {
		err := verifyProof(registry.Proof{Domain: "example.com"}, []string{text}, nil, "here")
		wantRefused(t, text, err, part)
	}
}

// web is a server for https://example.com/.well-known/mcp-registry-auth.
func web(t *testing.T, handle http.HandlerFunc) *Outside {
	t.Helper()
	srv := httptest.NewTLSServer(handle)
	t.Cleanup(srv.Close)
	transport := srv.Client().Transport.(*http.Transport).Clone()
	addr := srv.Listener.Addr().String()
	transport.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		if to != "example.com:443" {
			return nil, fmt.Errorf("dialled %s", to)
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return &Outside{HTTP: &http.Client{Transport: transport}}
}

func TestLoginHTTP(t *testing.T) {
	ctx := context.Background()
	k := proofKey(t, registry.Ed25519, strings.Repeat("07", 32))
	var asked []string
	answer := func(status int, body string) *Outside {
		return web(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+r.Host+r.URL.Path)
			if status/100 == 3 {
				w.Header().Set("Location", body)
			}
			w.WriteHeader(status)
			w.Write([]byte(body))
		})
	}
	g, err := answer(200, k.Record()+"\n").LoginHTTP(ctx, prove(t, k, "example.com"), epoch)
	want := registry.Grant{Method: registry.MethodHTTP, Subject: "example.com", Permissions: toPublish("com.example/*")}
	if err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("%+v, %v", g, err)
	}
	if want := []string{"GET example.com/.well-known/mcp-registry-auth"}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %v", asked)
	}
	for name, c := range map[string]struct {
		status int
		body   string
		part   string
	}{
		"missing":     {404, k.Record(), "answers 404"},
		"moved":       {302, "https://example.com/elsewhere", "answers 302"},
		"empty":       {200, "", "no record"},
		"too long":    {200, k.Record() + strings.Repeat(" ", maxWellKnown), "cannot be read"},
		"another key": {200, proofKey(t, registry.Ed25519, strings.Repeat("08", 32)).Record(), "none of the keys"},
	} {
		asked = nil
		_, err := answer(c.status, c.body).LoginHTTP(ctx, prove(t, k, "example.com"), epoch)
		wantRefused(t, name, err, c.part)
		if len(asked) != 1 {
			t.Errorf("%s: asked %v", name, asked)
		}
	}
	body := k.Record() + strings.Repeat(" ", maxWellKnown-len(k.Record()))
	if _, err := answer(200, body).LoginHTTP(ctx, prove(t, k, "example.com"), epoch); err != nil {
		t.Errorf("exactly the limit: %v", err)
	}
	closed := answer(200, "")
	closed.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("10.1.2.3 refused")
	}
	_, err = closed.LoginHTTP(ctx, prove(t, k, "example.com"), epoch)
	wantRefused(t, "closed", err, "cannot be read")
	if strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("the message tells of the inside: %v", err)
	}
}

// gitHub is an API with one user.
type gitHub struct {
	*http.ServeMux
	memberships func(w http.ResponseWriter, page string)
	authorized  []string
}

func startGitHub(t *testing.T) (*gitHub, *Outside) {
	t.Helper()
	g := &gitHub{ServeMux: http.NewServeMux()}
	g.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		g.authorized = append(g.authorized, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"login":"Some-One","id":7}`)
	})
	g.HandleFunc("GET /user/memberships/orgs", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != "active" || r.URL.Query().Get("per_page") != "100" {
			http.Error(w, "bad query", 400)
			return
		}
		g.memberships(w, r.URL.Query().Get("page"))
	})
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	return g, &Outside{HTTP: srv.Client(), GitHubAPI: srv.URL}
}

func TestLoginGitHub(t *testing.T) {
	ctx := context.Background()
	g, out := startGitHub(t)
	g.memberships = func(w http.ResponseWriter, page string) {
		var all []map[string]any
		add := func(state, role, login string) {
			all = append(all,
				map[string]any{"state": state, "role": role, "organization": map[string]any{"login": login}})
		}
		if page == "1" {
			add("active", "admin", "owned")
			for range 99 {
				add("active", "member", "joined")
			}
		} else {
			add("pending", "admin", "invited")
			add("active", "admin", "odd/name*")
			add("active", "admin", "owned-too")
		}
		json.NewEncoder(w).Encode(all)
	}
	got, err := out.LoginGitHub(ctx, "good")
	want := registry.Grant{Method: registry.MethodGitHubAT, Subject: "Some-One",
		Permissions: toPublish("io.github.Some-One/*", "io.github.owned/*", "io.github.owned-too/*")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = out.LoginGitHub(ctx, "bad")
	wantRefused(t, "bad token", err, "does not take")

	for name, c := range map[string]struct {
		status int
		header string
		kind   string
	}{
		"no scope":     {403, "", "personal"},
		"limit":        {403, "Retry-After", "fault"},
		"no more":      {403, "X-RateLimit-Remaining", "fault"},
		"single":       {403, "X-GitHub-SSO", "refused"},
		"broken":       {500, "", "fault"},
		"not JSON":     {200, "", "fault"},
		"redirected":   {302, "Location", "fault"},
		"never ending": {299, "", "fault"},
	} {
		g.memberships = func(w http.ResponseWriter, page string) {
			if c.status == 299 {
				w.Write([]byte("[" + strings.Repeat("{},", 99) + "{}]"))
				return
			}
			if c.header != "" {
				w.Header().Set(c.header, "0")
			}
			w.WriteHeader(c.status)
			w.Write([]byte("secret of the inside"))
		}
		got, err := out.LoginGitHub(ctx, "good")
		switch c.kind {
		case "personal":
			if err != nil || len(got.Permissions) != 1 {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		case "refused":
			wantRefused(t, name, err)
		case "fault":
			if err == nil || errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	}
}

// idp is an OpenID Connect issuer.
type idp struct {
	URL string
	key *rsa.PrivateKey
	t   *testing.T
}

func startIDP(t *testing.T) *idp {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &idp{key: key, t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(
			map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys",
				"id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(
			jose.JSONWebKeySet{
				Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p.URL = srv.URL
	return p
}

// token signs claims, in which those given replace the usual ones.
func (p *idp) token(key any, claims map[string]any) string {
	p.t.Helper()
	all := map[string]any{"iss": p.URL, "aud": "hallmark", "sub": "subject", "exp": time.Now().Add(time.Minute).Unix(),
		"iat": time.Now().Unix()}
	for k, v := range claims {
		all[k] = v
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key},
		new(jose.SignerOptions).WithHeader("kid", "1"))
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(all).Serialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func TestLoginOIDC(t *testing.T) {
	ctx := context.Background()
	issuer := startIDP(t)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{Issuer: issuer.URL, Audience: "hallmark", HTTP: http.DefaultClient,
		Claims:      map[string][]string{"groups": {"publishers", "owners"}, "email_verified": {"true"}},
		Permissions: toPublish("com.example/*")}
	good := map[string]any{"groups": []string{"staff", "owners"}, "email_verified": true}
	with := func(key string, value any) map[string]any {
		m := map[string]any{key: value}
		for k, v := range good {
			if k != key {
				m[k] = v
			}
		}
		return m
	}
	g, err := p.Login(ctx, issuer.token(issuer.key, good))
	if err != nil ||
		!reflect.DeepEqual(g,
			registry.Grant{Method: registry.MethodOIDC, Subject: "subject", Permissions: toPublish("com.example/*")}) {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := p.Login(ctx, issuer.token(issuer.key, with("groups", "publishers"))); err != nil {
		t.Errorf("a claim that is no list: %v", err)
	}
	if _, err := p.Login(ctx, issuer.token(issuer.key, with("aud", []string{"x", "hallmark"}))); err != nil {
		t.Errorf("one audience of several: %v", err)
	}
	for name, token := range map[string]string{
		"not a token":      "x",
		"forged":           issuer.token(stranger, good),
		"another issuer":   issuer.token(issuer.key, with("iss", "https://example.com")),
		"another audience": issuer.token(issuer.key, with("aud", "other")),
		"expired":          issuer.token(issuer.key, with("exp", time.Now().Add(-time.Hour).Unix())),
		"no group":         issuer.token(issuer.key, with("groups", []string{"staff"})),
		"group missing":    issuer.token(issuer.key, map[string]any{"email_verified": true}),
		"not verified":     issuer.token(issuer.key, with("email_verified", false)),
		"long":             strings.Repeat("x", maxToken+1),
	} {
		_, err := p.Login(ctx, token)
		wantRefused(t, name, err)
	}
	away := &Provider{Issuer: issuer.URL + "/nowhere", Audience: "hallmark", HTTP: http.DefaultClient}
	if _, err := away.Login(ctx, issuer.token(issuer.key, good)); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("no issuer: %v", err)
	}
}

// An issuer that is silent keeps each login no longer than it waits, and is asked once for
// all of them; when it answers again, logins work.
func TestLoginSilentIssuer(t *testing.T) {
	issuer := startIDP(t)
	var asked atomic.Int32
	answers := make(chan struct{})
	p := &Provider{Issuer: issuer.URL, Audience: "hallmark", Permissions: toPublish("com.example/*"),
		HTTP: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/openid-configuration") {
				asked.Add(1)
				select {
				case <-answers:
				case <-req.Context().Done():
					return nil, req.Context().Err()
				}
			}
			return http.DefaultTransport.RoundTrip(req)
		})}}
	token := issuer.token(issuer.key, nil)
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			if _, err := p.Login(ctx, token); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrRefused) {
				t.Errorf("%v", err)
			}
		})
	}
	hang.Ends(t, "logins that the issuer does not answer", wait.Wait)
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	close(answers)
	for range 2 {
		if _, err := p.Login(context.Background(), token); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// An issuer that could not be read is asked again by the next login.
func TestLoginIssuerComesBack(t *testing.T) {
	issuer := startIDP(t)
	var up atomic.Bool
	p := &Provider{Issuer: issuer.URL, Audience: "hallmark",
		HTTP: &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			if !up.Load() {
				return nil, errors.New("away")
			}
			return http.DefaultTransport.RoundTrip(req)
		})}}
	if _, err := p.Login(context.Background(), issuer.token(issuer.key, nil)); err == nil ||
		errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	up.Store(true)
	if _, err := p.Login(context.Background(), issuer.token(issuer.key, nil)); err != nil {
		t.Errorf("%v", err)
	}
}

func TestLoginGitHubActions(t *testing.T) {
	ctx := context.Background()
	issuer := startIDP(t)
	out := &Outside{HTTP: http.DefaultClient, GitHubOIDC: issuer.URL,
		GitHubOIDCAudience: "https://registry.example.com"}
	p := out.GitHubActions()
	token := func(aud, owner string) string {
		return issuer.token(issuer.key,
			map[string]any{"aud": aud, "repository_owner": owner, "sub": "repo:octo/app:ref:refs/heads/main"})
	}
	g, err := out.LoginGitHubActions(ctx, p, token("https://registry.example.com", "octo"))
	want := registry.Grant{Method: registry.MethodGitHubOIDC, Subject: "repo:octo/app:ref:refs/heads/main",
		Permissions: toPublish("io.github.octo/*")}
	if err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("%+v, %v", g, err)
	}
	for _, c := range [][2]string{{"https://other.example.com", "octo"}, {"https://registry.example.com", ""},
		{"https://registry.example.com", "a/*"}} {
		_, err := out.LoginGitHubActions(ctx, p, token(c[0], c[1]))
		wantRefused(t, fmt.Sprint(c), err)
	}
	// Without an audience a token for anybody would do.
	out.GitHubOIDCAudience = ""
	_, err = out.LoginGitHubActions(ctx, out.GitHubActions(), token("", "octo"))
	wantRefused(t, "no audience", err)
}

// transport answers requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
