package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

// A proof gives a token, and the token publishes under the domain's names only.
func TestLoginAndPublish(t *testing.T) {
	dns := registrytest.StartDNS(t)
	key, err := registry.ParseProofKey(registry.Ed25519, strings.Repeat("07", 32))
	if err != nil {
		t.Fatal(err)
	}
	dns.TXT("o.github.example.com", key.Record())
	now := time.Now().Truncate(time.Second)
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, func(c *api.Config) {
		c.AllowAnonymous = false
		c.Now = func() time.Time { return now }
		c.Logins = []registry.LoginMethod{registry.MethodDNS}
		c.Outside.LookupTXT = dns.Resolver().LookupTXT
		loginWithNone(t, c)
		c.Outside.LookupTXT = dns.Resolver().LookupTXT
	})
	ctx := context.Background()
	proof, err := key.Prove("o.github.example.com", now)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Login(ctx, registry.MethodDNS, proof)
	if err != nil {
		t.Fatal(err)
	}
	if s.ExpiresAt != now.Add(registry.Lifetime).Unix() {
		t.Errorf("expires at %d", s.ExpiresAt)
	}
	for name, status := range map[string]int{
		"com.example.github.o/notes": 200, "com.example.github.o.sub/notes": 200,
		"com.example.github/notes": 403, "com.example.github.other/notes": 403, "io.github.o/notes": 403,
	} {
		_, err := f.Publish(ctx, registrytest.Document(name, "1.0.0"), s.Token)
		if status == 200 && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if status != 200 {
			registrytest.WantProblem(t, err, status, "com.example.github.o/*, com.example.github.o.*")
		}
	}
	now = now.Add(registry.Lifetime)
	_, err = f.Publish(ctx, registrytest.Document("com.example.github.o/notes", "2.0.0"), s.Token)
	registrytest.WantProblem(t, err, 401, "expired")

	_, err = f.Login(ctx, registry.MethodDNS, proof) // the same proof, later
	registrytest.WantProblem(t, err, 401, "dns login", "5m0s off")

	none, err := f.Login(ctx, registry.MethodNone, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Publish(ctx, registrytest.Document("io.modelcontextprotocol.anonymous/notes", "1.0.0"),
		none.Token); err != nil {
		t.Error(err)
	}
	_, err = f.Publish(ctx, registrytest.Document("io.modelcontextprotocol/notes", "1.0.0"), none.Token)
	registrytest.WantProblem(t, err, 403)
	// A page that somebody visits cannot log in where nothing is to be proved.
	if res, text := registrytest.Send(t, "POST", f.URL+"/v0/auth/none", "", "Origin",
		"https://page.example.com"); res.StatusCode != 403 {
		t.Errorf("from a page: %d %s", res.StatusCode, text)
	}
	if f.Counters.Logins.Load() != 2 || f.Counters.LoginsRefused.Load() != 2 {
		t.Errorf("%d logins, %d refused", f.Counters.Logins.Load(), f.Counters.LoginsRefused.Load())
	}
	if log := f.Log(); strings.Contains(log, s.Token) || strings.Contains(log, none.Token[len(none.Token)-40:]) ||
		!strings.Contains(log, "subject=o.github.example.com") {
		t.Errorf("the log has a token, or not who logged in:\n%s", log)
	}
}

func TestLoginsThatAreNotOffered(t *testing.T) {
	proof := `{"domain":"example.com","timestamp":"2026-01-31T12:00:00Z","signed_timestamp":"00"}`
	bodies := map[registry.LoginMethod]string{registry.MethodDNS: proof, registry.MethodHTTP: proof, registry.MethodGitHubAT: `{"github_token":"x"}`,
		registry.MethodGitHubOIDC: `{"oidc_token":"x"}`, registry.MethodOIDC: `{"oidc_token":"x"}`, registry.MethodNone: ""}
	f := servertest.Serve(t, nil, nil)
	// All methods, without what two of them need.
	all := servertest.Serve(t, nil, func(c *api.Config) {
		c.Logins = []registry.LoginMethod{registry.MethodGitHubOIDC, registry.MethodOIDC}
		loginWithNone(t, c)
	})
	for m, body := range bodies {
		for name, at := range map[string]*servertest.Fixture{"none": f, "unconfigured": all} {
			if name == "unconfigured" && m == registry.MethodNone {
				continue
			}
			res, text := registrytest.Send(t, "POST", at.URL+"/v0.1/auth/"+string(m), body, "Content-Type",
				"application/json")
			if res.StatusCode != 404 || !strings.Contains(text, "no login by "+string(m)) {
				t.Errorf("%s, %s: %d %s", m, name, res.StatusCode, text)
			}
		}
	}
	for body, status := range map[string]int{`{}`: 422, `{"domain":1}`: 422, `[`: 400, "": 400,
		`{"domain":"` + strings.Repeat("x", api.MaxLoginBody) + `"}`: 413} {
		if res, text := registrytest.Send(t, "POST", all.URL+"/v0/auth/dns", body, "Content-Type",
			"application/json"); res.StatusCode != status {
			t.Errorf("%.40s: %d %s", body, res.StatusCode, text)
		}
	}
}

// What another service says stays in the log.
func TestLoginFaults(t *testing.T) {
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "secret of the inside", 500)
	}))
	t.Cleanup(github.Close)
	f := servertest.Serve(t, nil, func(c *api.Config) {
		c.Logins = []registry.LoginMethod{registry.MethodGitHubAT}
		loginWithNone(t, c)
		c.Outside.GitHubAPI = github.URL
		c.Limits.Logins = api.Rate{PerSecond: 0.001, Burst: 1}
	})
	_, err := f.Login(context.Background(), registry.MethodGitHubAT, map[string]string{"github_token": "gho_secret"})
	p := registrytest.WantProblem(t, err, 502, "github-at")
	if text, _ := json.Marshal(p); strings.Contains(string(text), "secret") {
		t.Errorf("the answer has %s", text)
	}
	if log := f.Log(); strings.Contains(log, "gho_secret") {
		t.Error("the log has the token")
	}
}
