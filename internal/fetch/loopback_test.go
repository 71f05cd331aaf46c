package fetch

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// plainRegistry is a registry of npm and a package index that speaks plain http, on the host of the
// URLs that it gives. It notes what it is asked with which credential.
type plainRegistry struct {
	base  string // "http://127.0.0.1:PORT"
	port  string
	to    string // where it redirects files; "" serves them
	asked []string
}

func newPlainRegistry(t *testing.T) *plainRegistry {
	t.Helper()
	p := &plainRegistry{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.base = server.URL
	p.port = p.base[strings.LastIndexByte(p.base, ':')+1:]
	return p
}

func (p *plainRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked = append(p.asked, r.URL.Path+" "+r.Header.Get("Authorization"))
	at := "http://" + r.Host
	switch r.URL.Path {
	case "/a/1.0.0", "/@s/a/1.0.0":
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/1.0.0")
		fmt.Fprintf(w, `{"name":%q,"version":"1.0.0","dist":{"tarball":"%s/file","integrity":%q}}`, name, at, sri("x"))
	case "/simple/notes/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<a href="/notes-1.0.0.tar.gz#sha256=%s">notes-1.0.0.tar.gz</a>`, sha("x"))
	case "/file", "/notes-1.0.0.tar.gz":
		if p.to != "" {
			http.Redirect(w, r, p.to, http.StatusFound)
			return
		}
		io.WriteString(w, "x")
	default:
		http.NotFound(w, r)
	}
}

// TestRegistryOnLoopback: a registry or index that the configuration names on this machine is asked
// over plain http, with its credentials, and what it redirects to there.
func TestRegistryOnLoopback(t *testing.T) {
	const pypiRef = "pypi:notes==1.0.0/notes-1.0.0.tar.gz"
	for name, c := range map[string]struct {
		env  func(base, host string) map[string]string
		host string
		ref  string
		auth string
	}{
		"npm": {func(base, _ string) map[string]string { return map[string]string{"npm_config_registry": base} },
			"127.0.0.1", "npm:a@1.0.0", ""},
		"npm by name": {func(base, host string) map[string]string {
			return map[string]string{"npm_config_registry": base, "npm_config_//" + host + "/:_authToken": "T"}
		}, "localhost", "npm:a@1.0.0", "Bearer T"},
		"npm, a scope": {func(base, _ string) map[string]string {
			return map[string]string{"npm_config_@s:registry": base}
		}, "127.0.0.1", "npm:@s/a@1.0.0", ""},
		"uv": {func(base, host string) map[string]string {
			return map[string]string{"UV_DEFAULT_INDEX": "http://u:p@" + host + "/simple"}
		}, "localhost", pypiRef, "Basic dTpw"},
		"pip": {func(base, _ string) map[string]string {
			return map[string]string{"PIP_INDEX_URL": base + "/simple"}
		}, "127.0.0.1", pypiRef, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlainRegistry(t)
			other := newPlainRegistry(t)
			host := c.host + ":" + p.port
			env := c.env("http://"+host, host)
			env["HTTP_PROXY"], env["http_proxy"] = "http://proxy.example.com:1", "http://proxy.example.com:1"
			config, err := readUserConfig(environment(env), "", t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			config.Dir, config.Limits.Retries = t.TempDir(), -1
			client := newClient(t, config)
			d, err := get(t, client, c.ref)
			wantBody(t, d, err, "x")
			for _, asked := range p.asked {
				if !strings.HasSuffix(asked, " "+c.auth) {
					t.Errorf("asked %q, want credentials %q", asked, c.auth)
				}
			}
			p.to = "http://localhost:" + other.port + "/file"
			d, err = get(t, client, c.ref)
			wantBody(t, d, err, "x")
			if len(other.asked) != 1 || other.asked[0] != "/file " {
				t.Errorf("the other host was asked %v", other.asked)
			}
			p.to = "http://registry.example.com/file"
			_, err = get(t, client, c.ref)
			wantError(t, err, evidence.Unsupported, "plain http is refused")
		})
	}
}

// TestPlainHTTPElsewhere: nothing but a registry of the configuration, on this machine, is asked over
// plain http.
func TestPlainHTTPElsewhere(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	p := newPlainRegistry(t)
	s := newSite(t, map[string]string{
		"/a/1.0.0": fmt.Sprintf(`{"name":"a","version":"1.0.0","dist":{"tarball":%q}}`, p.base+"/file"),
		"/b/1.0.0": `{"name":"b","version":"1.0.0","dist":{"tarball":"BASE/b"}}`, "/b": "-> " + p.base + "/file",
		"/c/1.0.0": "-> " + p.base + "/a/1.0.0"})
	config.NPM = settings(map[string]string{"registry": s.base})
	for _, name := range []string{"a", "b", "c"} {
		_, err := get(t, newClient(t, config), "npm:"+name+"@1.0.0")
		wantError(t, err, evidence.Unsupported, "plain http is refused")
	}
	// A registry on this machine that leads to another one, which leads back.
	p.to = s.base + "/b"
	config.NPM = settings(map[string]string{"registry": p.base})
	_, err := get(t, newClient(t, config), "npm:a@1.0.0")
	wantError(t, err, evidence.Unsupported, "plain http is refused")
	for _, base := range []string{"http://registry.example.com", "http://10.0.0.1:4873", "http://0.0.0.0:4873",
		"http://[::]:4873", "http://[fe80::1%25lo]:4873", "http://localhost.example.com", "http://127.1:4873",
		"http://notlocalhost:4873", "http://2130706433:4873", "http://192.168.0.1", "http://u:p@localhost:4873"} {
		config.NPM = settings(map[string]string{"registry": base})
		_, err := get(t, newClient(t, config), "npm:a@1.0.0")
		wantError(t, err, evidence.Unsupported, "plain http is refused")
	}
}

// TestCheckoutOnLoopback: a checkout's file that names this machine needs consent as any other host.
func TestCheckoutOnLoopback(t *testing.T) {
	p := newPlainRegistry(t)
	project := t.TempDir()
	write(t, filepath.Join(project, ".npmrc"), "registry="+p.base+"/\n")
	config, err := readUserConfig(environment(nil), project, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = get(t, newClient(t, config), "npm:a@1.0.0")
	if evidence.ClassOf(err) != evidence.Refused || len(p.asked) != 0 {
		t.Errorf("%v; asked %v", err, p.asked)
	}
}
