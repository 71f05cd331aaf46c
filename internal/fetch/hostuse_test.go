package fetch

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/e2e/listener"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// TestHostsOfACheckout: nothing connects to a host that only a checkout names before a person
// agreed to exactly that host and port, whichever file and key name it.
func TestHostsOfACheckout(t *testing.T) {
	npm := func(c *Client) error {
		_, err := c.NPM(t.Context(), mustRef(t, "npm:notes@1.0.0"))
		return err
	}
	npmFiles := func(c *Client) error {
		_, _, err := c.NPMFiles()
		return err
	}
	fetched := func(ref string) func(*Client) error {
		return func(c *Client) error {
			_, err := c.Fetch(t.Context(), mustRef(t, ref))
			return err
		}
	}
	resolved := func(c *Client) error {
		_, uv := c.UVFile()
		_, pip := c.PipVariables()
		if (uv == nil) != (pip == nil) {
			t.Errorf("uv %v, pip %v", uv, pip)
		}
		return uv
	}
	for name, tt := range map[string]struct {
		file, text string // HOST stands for the listener
		use        func(*Client) error
		says       string
		silent     bool // it is for a program, which is not started here
	}{
		"npm registry":      {".npmrc", "registry=https://HOST/", npm, ".npmrc, registry", false},
		"npm itself":        {".npmrc", "registry=https://HOST/", npmFiles, ".npmrc, registry", true},
		"npm, plain":        {".npmrc", "registry=http://HOST/", npmFiles, ".npmrc, registry", true},
		"npm, a scope":      {".npmrc", "@acme:registry=https://HOST/x", npmFiles, ".npmrc, @acme:registry", true},
		"npm, a variable":   {".npmrc", "registry=https://HOST/${NONE}/", npmFiles, ".npmrc, registry", true},
		"npm proxy":         {".npmrc", "https-proxy=http://HOST", npm, ".npmrc, https-proxy", false},
		"npm proxy, bare":   {".npmrc", "proxy=HOST", npm, ".npmrc, proxy", false},
		"npm itself, proxy": {".npmrc", "https-proxy=http://HOST", npmFiles, ".npmrc, https-proxy", true},
		"uv index": {"uv.toml", "[[index]]\nurl = \"https://HOST/simple/\"\n",
			fetched("pypi:notes==1.0.0/notes-1.0.0.tar.gz"), "uv.toml, index", false},
		"uv itself": {"uv.toml", "index-url = \"https://HOST/simple/\"\n", resolved, "uv.toml, index", true},
		"uv of a project": {"pyproject.toml", "[[tool.uv.index]]\nurl = \"https://HOST/simple/\"\ndefault = true\n",
			fetched("pypi:notes==1.0.0/notes-1.0.0.tar.gz"), "pyproject.toml, index", false},
		"cargo": {".cargo/config.toml",
			"[source.crates-io]\nreplace-with = \"x\"\n[source.x]\nregistry = \"sparse+https://HOST/\"\n",
			fetched("cargo:notes@1.0.0"), ".cargo/config.toml", false},
		"an image": {"x", "", fetched("oci:HOST/acme/notes:1.0.0"), "https://HOST", false},
		"a URL":    {"x", "", fetched("https://HOST/notes.mcpb"), "https://HOST/notes.mcpb", false},
		"a URL of a release": {"x", "", fetched("https://HOST/a/b/releases/download/v1/notes.mcpb"),
			"https://HOST/", false},
	} {
		t.Run(name, func(t *testing.T) {
			host, connections := listener.Start(t)
			use := tt.use
			if strings.Contains(tt.says, "HOST") && tt.file == "x" { // the ref itself names it
				switch name {
				case "an image":
					use = fetched("oci:" + host + "/acme/notes:1.0.0")
				case "a URL":
					use = fetched("https://" + host + "/notes.mcpb")
				default:
					use = fetched("https://" + host + "/a/b/releases/download/v1/notes.mcpb")
				}
			}
			at := func(agreed ...string) *Client {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "project", tt.file), strings.ReplaceAll(tt.text, "HOST", host))
				config, err := readUserConfig(environment(nil), filepath.Join(dir, "project"), filepath.Join(dir, "home"))
				if err != nil {
					t.Fatal(err)
				}
				config.Limits.Retries = -1
				if agreed != nil {
					config.Agreement.AskHost = func(u wire.HostUse) error {
						for _, a := range agreed {
							if a == u.Host {
								return nil
							}
						}
						return wire.Refusal(u)
					}
				}
				return New(config)
			}
			for _, agreed := range [][]string{nil, {"127.0.0.1"}, {"127.0.0.1:1", "registry.example.com"}} {
				err := use(at(agreed...))
				var e *evidence.Error
				if !errors.As(err, &e) || evidence.ClassOf(err) != evidence.Refused ||
					e.Hint != "if that may be asked: --allow-host "+host ||
					!strings.HasPrefix(e.Subject, strings.ReplaceAll(tt.says, "HOST", host)) {
					t.Errorf("%v: %v (%+v)", agreed, err, e)
				}
			}
			if n := connections.Load(); n > 0 {
				t.Errorf("%d connections before anybody agreed", n)
			}
			if err := use(at(host)); wire.NotAgreed(err) != nil {
				t.Errorf("agreed to: %v", err)
			}
			if n := connections.Load(); (n == 0) != tt.silent {
				t.Errorf("%d connections after somebody agreed", n)
			}
		})
	}
}

// TestHostsOfTheUser: a host that the user's own configuration or Hallmark names needs no
// consent, also if the checkout names it too.
func TestHostsOfTheUser(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "home", ".npmrc"),
		"@work:registry=https://npm.example.com/\nproxy=http://proxy.example.com:8080/\n")
	write(t, filepath.Join(dir, "home", ".netrc"), "machine git.example.com login x password y\n")
	write(t, filepath.Join(dir, "home", ".docker", "config.json"),
		`{"auths":{"https://oci.example.com:5000/v1/":{}},"credHelpers":{"helped.example.com":"x"}}`)
	write(t, filepath.Join(dir, "project", ".npmrc"),
		"registry=https://npm.example.com/\n@evil:registry=https://evil.example.com/\n"+
			"@env:registry=https://env.example.com/\n")
	write(t, filepath.Join(dir, "project", "uv.toml"),
		"[[index]]\nurl = \"https://pip.example.com/simple\"\n[[index]]\nurl = "+
			"\"https://evil.example.com:8443/simple\"\n")
	env := map[string]string{"PIP_EXTRA_INDEX_URL": "https://other.example.com/simple",
		"UV_INDEX": "https://pip.example.com/other", "npm_config_registry": "https://env.example.com/",
		"GH_HOST": "github.example.com"}
	config, err := readUserConfig(environment(env), filepath.Join(dir, "project"), filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	c := New(config)
	for _, host := range []string{"npm.example.com", "git.example.com", "oci.example.com:5000", "helped.example.com",
		"pip.example.com", "env.example.com", "github.example.com", "proxy.example.com:8080"} {
		if !c.Names(host) {
			t.Errorf("%s is asked about", host)
		}
	}
	for _, host := range []string{"evil.example.com", "evil.example.com:8443", "npm.example.com:8443",
		"oci.example.com", "example.com", "127.0.0.1", ""} {
		if c.Names(host) {
			t.Errorf("%s is not asked about", host)
		}
	}
	if got := c.CheckoutHosts(artifact.NPM); len(got) != 1 || got[0].Host != "evil.example.com" ||
		got[0].File != ".npmrc, @evil:registry" {
		t.Errorf("npm: %v", got)
	}
	if got := c.CheckoutHosts(artifact.PyPI); len(got) != 1 || got[0].Host != "evil.example.com:8443" {
		t.Errorf("PyPI: %v", got)
	}
}

// TestHostThatAnswers: redirects and URLs of a host that may be asked are followed, and so is a
// host that the caller names; no other is.
func TestHostThatAnswers(t *testing.T) {
	config := testConfig(t)
	config.AnyHost = false
	far := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "far") })
	near := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, far, http.StatusFound) })
	c := newClient(t, config)
	ref := mustRef(t, near+"/notes.mcpb")
	if _, err := c.Fetch(t.Context(), ref); wire.NotAgreed(err) == nil {
		t.Errorf("nobody named it: %v", err)
	}
	d, err := c.ForRefs(ref).Fetch(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	if _, err := c.Fetch(t.Context(), ref); wire.NotAgreed(err) == nil {
		t.Errorf("who named it was another: %v", err)
	}
}
