package fetch

import (
	"context"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

func settings(m map[string]string) userconfig.NPM {
	return userconfig.NPM{Setting: func(key string) string { return m[key] }}
}

func sri(body string) string {
	sum := sha512.Sum512([]byte(body))
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

func shasum(body string) string {
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

func TestNPM(t *testing.T) {
	config := testConfig(t)
	var tarball atomic.Value
	tarball.Store("the tarball")
	var base string
	base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.EscapedPath() {
		case "/npm/@acme%2Fnotes/1.4.0":
			if r.Header.Get("Accept") != "application/json" {
				t.Errorf("Accept %q", r.Header.Get("Accept"))
			}
			fmt.Fprintf(w, `{"name":"@acme/notes","version":"1.4.0","mcpName":"io.example/notes","bin":"./cli.js",
				"deprecated":"use 2",
				"Name":"other","dist":{"tarball":"%s/files/notes-1.4.0.tgz?x=secret","integrity":"%s","shasum":"%s"}}`,
				base, sri("the tarball"), shasum("the tarball"))
		case "/files/notes-1.4.0.tgz":
			io.WriteString(w, tarball.Load().(string))
		default:
			t.Errorf("path %s", r.URL.EscapedPath())
		}
	})
	config.NPM = settings(map[string]string{"@acme:registry": base + "/npm/"})
	c := newClient(t, config)
	ref := mustRef(t, "npm:@acme/notes@1.4.0")

	v, err := c.NPM(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if v.Name != "@acme/notes" || v.Version != "1.4.0" || v.MCPName != "io.example/notes" || v.Deprecated != "use 2" ||
		!maps.Equal(v.Bin, map[string]string{"notes": "cli.js"}) || v.Integrity != sri("the tarball") ||
		v.Shasum != shasum("the tarball") || v.From != base+"/npm/@acme%2Fnotes/1.4.0" || len(v.Raw) == 0 {
		t.Errorf("%+v", v)
	}

	first, err := c.Fetch(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if first.Observed.From != base+"/files/notes-1.4.0.tgz" || first.NPM == nil || first.NPM.MCPName != v.MCPName {
		t.Errorf("%+v", first)
	}
	if len(first.Claims) != 1 || len(first.Unverifiable) != 0 {
		t.Fatalf("claims %v, %v", first.Claims, first.Unverifiable)
	}
	claim := first.Claims[0]
	if claim.Subject != ref.String() || claim.Authority != evidence.Registry || claim.Scheme != evidence.File ||
		claim.Where != "the npm registry, dist.integrity" {
		t.Errorf("claim %+v", claim)
	}
	if e := evidence.Compare(claim, first.Observed); e.Outcome != evidence.Match || e.Weak {
		t.Errorf("evidence %+v", e)
	}

	// The same version with other bytes: both are reported as they are.
	tarball.Store("another tarball")
	second, err := c.Fetch(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Observed.SHA256().String() == first.Observed.SHA256().String() {
		t.Error("one digest for two tarballs")
	}
	if e := evidence.Compare(second.Claims[0], second.Observed); e.Outcome != evidence.Mismatch {
		t.Errorf("evidence %+v", e)
	}
	if first.Path() == second.Path() {
		t.Error("two downloads share a file")
	}
}

func TestNPMClaims(t *testing.T) {
	ref := mustRef(t, "npm:a@1.0.0")
	observe := func(body string) evidence.Observed {
		h := digest.NewHasher(digest.SHA256, digest.SHA512, digest.SHA1)
		io.WriteString(h, body)
		return evidence.Observed{Digests: h.Digests(), Size: h.Size()}
	}
	for _, tt := range []struct {
		name    string
		v       NPMVersion
		where   string // of the only claim, "" if there is none
		weak    bool
		outcome evidence.Outcome
		cause   evidence.Cause // of the only claim that cannot be read
	}{
		{"both", NPMVersion{Integrity: sri("x"), Shasum: shasum("x")}, "dist.integrity", false, evidence.Match, ""},
		{"integrity differs", NPMVersion{Integrity: sri("y"), Shasum: shasum("x")}, "dist.integrity", false,
			evidence.Mismatch, ""},
		{"several, one matches", NPMVersion{Integrity: sri("y") + " " + sri("x")}, "dist.integrity", false,
			evidence.Match, ""},
		{"shasum alone", NPMVersion{Shasum: shasum("x")}, "dist.shasum", true, evidence.Match, ""},
		{"shasum in capitals", NPMVersion{Shasum: strings.ToUpper(shasum("x"))}, "dist.shasum", true,
			evidence.Match, ""},
		{"shasum differs", NPMVersion{Shasum: shasum("y")}, "dist.shasum", false, evidence.Mismatch, ""},
		{"unknown algorithm", NPMVersion{Integrity: "sha3-AAAA"}, "", false, "", evidence.Unsupported},
		{"unknown algorithm and shasum", NPMVersion{Integrity: "sha3-AAAA", Shasum: shasum("x")}, "dist.shasum", true,
			evidence.Match, evidence.Unsupported},
		{"malformed", NPMVersion{Integrity: "sha512-AAAA"}, "", false, "", evidence.Malformed},
		{"malformed shasum", NPMVersion{Shasum: "12"}, "", false, "", evidence.Malformed},
		{"nothing", NPMVersion{}, "", false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			claims, bad := tt.v.claims(ref)
			if tt.where == "" && len(claims) != 0 || tt.where != "" &&
				(len(claims) != 1 || claims[0].Where != "the npm registry, "+tt.where) {
				t.Fatalf("claims %+v", claims)
			}
			if tt.where != "" {
				if e := evidence.Compare(claims[0], observe("x")); e.Outcome != tt.outcome || e.Weak != tt.weak {
					t.Errorf("%s, weak %v", e.Outcome, e.Weak)
				}
			}
			if tt.cause == "" && len(bad) != 0 {
				t.Errorf("cannot be read: %+v", bad)
			}
			if tt.cause != "" &&
				(len(bad) != 1 || bad[0].Outcome != evidence.Unverifiable || bad[0].Cause != tt.cause ||
					bad[0].Text == "") {
				t.Errorf("cannot be read: %+v", bad)
			}
		})
	}
}

// TestNPMComputesWhatIsClaimed: sha1 is computed where only dist.shasum is given.
func TestNPMComputesWhatIsClaimed(t *testing.T) {
	config := testConfig(t)
	var base string
	base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old/1.0.0" {
			fmt.Fprintf(w, `{"name":"old","version":"1.0.0","dist":{"tarball":"%s/t","shasum":"%s"}}`,
				base, shasum("x"))
			return
		}
		io.WriteString(w, "x")
	})
	config.NPM = settings(map[string]string{"registry": base})
	d, err := get(t, newClient(t, config), "npm:old@1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if e := evidence.Compare(d.Claims[0], d.Observed); e.Outcome != evidence.Match || !e.Weak {
		t.Errorf("evidence %+v", e)
	}
	if len(d.Observed.Digests) != 2 {
		t.Errorf("digests %v", d.Observed.Digests)
	}
}

func TestNPMRefusals(t *testing.T) {
	config := testConfig(t)
	config.Limits.DocumentSize = 1000
	config.Limits.Retries = -1
	documents := map[string]string{
		"missing":  "",
		"other":    `{"name":"another","version":"1.0.0","dist":{"tarball":"https://npm.example.com/t"}}`,
		"newer":    `{"name":"newer","version":"1.0.1","dist":{"tarball":"https://npm.example.com/t"}}`,
		"cased":    `{"Name":"cased","version":"1.0.0","dist":{"tarball":"https://npm.example.com/t"}}`,
		"notar":    `{"name":"notar","version":"1.0.0","dist":{"integrity":"sha512-x"}}`,
		"nodist":   `{"name":"nodist","version":"1.0.0"}`,
		"numbers":  `{"name":"numbers","version":"1.0.0","dist":{"tarball":7}}`,
		"html":     `<html>log in</html>`,
		"null":     `null`,
		"list":     `[]`,
		"large":    `{"name":"large","version":"1.0.0","readme":"` + strings.Repeat("x", 1000) + `"}`,
		"plain":    `{"name":"plain","version":"1.0.0","dist":{"tarball":"http://npm.example.com/t"}}`,
		"relative": `{"name":"relative","version":"1.0.0","dist":{"tarball":"/t"}}`,
		"file":     `{"name":"file","version":"1.0.0","dist":{"tarball":"file:///etc/passwd"}}`,
		"userinfo": `{"name":"userinfo","version":"1.0.0","dist":{"tarball":"https://u:secret@npm.example.com/t"}}`,
		"bad":      `{"name":"bad","version":"1.0.0","dist":{"tarball":"https://[::1"}}`,
		"long": `{"name":"long","version":"1.0.0","dist":{"tarball":"https://npm.example.com/` +
			strings.Repeat("a", 2048) + `"}}`,
		"escape": `{"name":"\u001b[31m\n","version":"1.0.0"}`,
	}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if documents[name] == "" {
			w.WriteHeader(404)
			return
		}
		io.WriteString(w, documents[name])
	})
	config.NPM = settings(map[string]string{"registry": base})
	c := newClient(t, config)
	for _, tt := range []struct {
		name  string
		cause evidence.Cause
		part  string
	}{
		{"missing", evidence.NotFound, "404"},
		{"other", evidence.NotFound, `"another"`},
		{"newer", evidence.NotFound, `"1.0.1"`},
		{"cased", evidence.NotFound, `""`},
		{"notar", evidence.NotFound, "no tarball"},
		{"nodist", evidence.NotFound, "no tarball"},
		{"numbers", evidence.NotFound, "no tarball"},
		{"html", evidence.Unreachable, "not a version's document"},
		{"null", evidence.Unreachable, "not a version's document"},
		{"list", evidence.Unreachable, "not a version's document"},
		{"large", evidence.TooLarge, "1,000"},
		{"plain", evidence.Unsupported, "plain http"},
		{"relative", evidence.Unsupported, "https"},
		{"file", evidence.Unsupported, `"file"`},
		{"userinfo", evidence.Unsupported, "user name or password"},
		{"bad", evidence.Unsupported, "not a URL"},
		{"escape", evidence.NotFound, `\x1b`},
	} {
		d, err := get(t, c, "npm:"+tt.name+"@1.0.0")
		if err == nil {
			d.Close()
		}
		e := wantError(t, err, tt.cause, tt.part, base+"/"+tt.name+"/1.0.0")
		if strings.Contains(err.Error(), "secret") || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q", err)
		}
		if tt.name == "missing" && e.Hint == "" {
			t.Error("no hint")
		}
	}
	config.Limits.DocumentSize = 0
	_, err := get(t, newClient(t, config), "npm:long@1.0.0")
	wantError(t, err, evidence.Unsupported, "longer than")

	for _, registry := range []string{"http://npm.example.com/", "npm.example.com", "https://u:secret@npm.example.com",
		"file:///x", "https://%zz", "${REGISTRY}"} {
		config.NPM = settings(map[string]string{"registry": registry})
		_, err := get(t, newClient(t, config), "npm:a@1.0.0")
		wantError(t, err, evidence.Unsupported, "registry")
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q", err)
		}
	}
}

func TestNPMURL(t *testing.T) {
	for _, tt := range []struct{ base, name, version, want string }{
		{"https://npm.example.com", "a", "1.0.0", "https://npm.example.com/a/1.0.0"},
		{"https://npm.example.com/", "@s/a", "1.0.0-rc.1+b", "https://npm.example.com/@s%2Fa/1.0.0-rc.1+b"},
		{"https://npm.example.com/x%2Fy/npm//", "@s/a", "1.0.0", "https://npm.example.com/x%2Fy/npm/@s%2Fa/1.0.0"},
		{"https://npm.example.com:8443/npm?q=1#f", "A b", "1.0.0", "https://npm.example.com:8443/npm/A%20b/1.0.0"},
	} {
		u, err := npmURL(tt.base, tt.name, tt.version)
		if err != nil || u.String() != tt.want {
			t.Errorf("%s %s: %v, %v", tt.base, tt.name, u, err)
		}
	}
}

// TestReplaceRegistryHost: a mirror that passes documents on is asked for the
// tarballs too.
func TestReplaceRegistryHost(t *testing.T) {
	public := model.RegistryURLNPM + "/a/-/a-1.0.0.tgz?x=1"
	for _, tt := range []struct{ registry, setting, tarball, want string }{
		{"", "", public, public},
		{"https://npm.example.com/", "", public, "https://npm.example.com/a/-/a-1.0.0.tgz"},
		{"https://npm.example.com/", "npmjs", public, "https://npm.example.com/a/-/a-1.0.0.tgz"},
		{"https://npm.example.com/", "never", public, public},
		{"https://npm.example.com/", "", "https://cdn.example.com/a.tgz", "https://cdn.example.com/a.tgz"},
		{"https://npm.example.com/", "always", "https://cdn.example.com/a.tgz", "https://npm.example.com/a.tgz"},
		{"https://npm.example.com/", "cdn.example.com", "https://cdn.example.com/a.tgz",
			"https://npm.example.com/a.tgz"},
	} {
		n := settings(map[string]string{"registry": tt.registry, "replace-registry-host": tt.setting})
		u, _, err := tarballURL(n, &NPMVersion{Name: "a", Tarball: tt.tarball})
		if err != nil || u.String() != tt.want {
			t.Errorf("%+v: %v, %v", tt, u, err)
		}
	}
}

func TestNPMBin(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want map[string]string
	}{
		{``, nil},
		{`""`, nil},
		{`null`, nil},
		{`7`, nil},
		{`{}`, nil},
		{`"./a.js"`, map[string]string{"notes": "a.js"}},
		{`{"x":"bin/x.js","y":"./y.js"}`, map[string]string{"x": "bin/x.js", "y": "y.js"}},
		{`{"x":7,"y":"y.js"}`, map[string]string{"y": "y.js"}},
		{`{"../../x":"../../../etc/passwd"}`, map[string]string{"x": "etc/passwd"}},
		{`{"a\\b":"c\\d.js","e:f":"/g"}`, map[string]string{"b": "c/d.js", "f": "g"}},
		{`{"..":"x","":"x","/":"x","z":""}`, nil},
		{`["bin/one.js","two"]`, map[string]string{"one.js": "bin/one.js", "two": "two"}},
		{`[]`, nil},
	} {
		if got := npmBin("@acme/notes", []byte(tt.raw)); !maps.Equal(got, tt.want) {
			t.Errorf("%s gives %v, not %v", tt.raw, got, tt.want)
		}
	}
}
