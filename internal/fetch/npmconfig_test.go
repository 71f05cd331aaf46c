package fetch

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUserConfig(t *testing.T) {
	dir := t.TempDir()
	project, home, other := filepath.Join(dir, "project"), filepath.Join(dir, "home"), filepath.Join(dir, "other")
	write(t, filepath.Join(project, ".npmrc"), "a=project\n@p:registry=https://p.example.com\nuserconfig=/nowhere\n")
	write(t, filepath.Join(home, ".npmrc"), "a=user\nb=user\nprefix="+other+"\n@p:registry=https://u.example.com\n")
	write(t, filepath.Join(other, "etc", "npmrc"), "a=global\nb=global\nc=global\nreplace-registry-host=never\n")
	alternative := write(t, filepath.Join(other, "alternative"), "b=alternative\n")

	for _, tt := range []struct {
		name string
		env  map[string]string
		want map[string]string
	}{
		{"files", nil, map[string]string{"a": "user", "b": "user", "c": "global", "d": "",
			"@p:registry": "https://p.example.com"}},
		{"environment", map[string]string{"npm_config_a": "env", "NPM_CONFIG_B": "env", "npm_config_c": ""},
			map[string]string{"a": "env", "b": "env", "c": "global"}},
		{"environment's spelling", map[string]string{
			"npm_config_replace_registry_host":            "always",
			"npm_config_@p:registry":                      "https://e.example.com",
			"npm_config_//npm.example.com/:_authToken":    "T",
			"NPM_CONFIG_//two.example.com/a_b:_authToken": "${X}",
			"NPM_CONFIG_registry":                         "https://r.example.com",
			"X":                                           "expanded",
		}, map[string]string{
			"replace-registry-host":            "always",
			"@p:registry":                      "https://e.example.com",
			"//npm.example.com/:_authToken":    "T",
			"//two.example.com/a_b:_authToken": "expanded",
			"registry":                         "https://r.example.com",
		}},
		{"userconfig", map[string]string{"npm_config_userconfig": alternative},
			map[string]string{"a": "", "b": "alternative"}},
		{"globalconfig", map[string]string{"NPM_CONFIG_GLOBALCONFIG": alternative},
			map[string]string{"b": "user", "c": ""}},
		{"relative", map[string]string{"npm_config_globalconfig": "~/../other/alternative",
			"npm_config_userconfig": "../nothing"}, map[string]string{"a": "", "b": "alternative", "c": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config, err := readUserConfig(environment(tt.env), project, home)
			if err != nil {
				t.Fatal(err)
			}
			for key, want := range tt.want {
				if got := config.NPM.Setting(key); got != want {
					t.Errorf("%s is %q, not %q", key, got, want)
				}
			}
			if config.AllowAddr != nil || config.NPM.Authorities != nil || config.RootCAs != nil {
				t.Error("more is configured than was said")
			}
		})
	}

	config, err := readUserConfig(environment(nil), "", "")
	if err != nil || config.NPM.Setting("a") != "" {
		t.Errorf("without files: %q, %v", config.NPM.Setting("a"), err)
	}
	if got, err := config.NPM.Registry("@p/a"); err != nil || !strings.HasPrefix(got, "https://") {
		t.Errorf("registry %q, %v", got, err)
	}
	write(t, filepath.Join(home, ".npmrc"), strings.Repeat("#", 1<<20+1))
	if _, err = readUserConfig(environment(nil), "", home); err == nil ||
		!strings.Contains(err.Error(), ".npmrc is larger") {
		t.Errorf("error %v", err)
	}
	if _, err = readUserConfig(environment(map[string]string{"npm_config_userconfig": home}), "", ""); err == nil {
		t.Error("a directory was read as .npmrc")
	}
}

func TestGlobalPrefixOfNode(t *testing.T) {
	dir := t.TempDir()
	node := write(t, filepath.Join(dir, "lib", "node20", "bin", "node"), "")
	write(t, filepath.Join(dir, "lib", "node20", "etc", "npmrc"), "a=global")
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(node, filepath.Join(dir, "bin", "node")); err != nil {
		t.Skip(err) // Windows without the right to make links
	}
	path := strings.Join([]string{"relative", filepath.Join(dir, "none"), filepath.Join(dir, "bin")},
		string(filepath.ListSeparator))
	config, err := readUserConfig(environment(map[string]string{"PATH": path}), "", "")
	if err != nil || config.NPM.Setting("a") != "global" {
		t.Errorf("%q, %v", config.NPM.Setting("a"), err)
	}

	// A node of the checkout does not make the checkout's file the user's.
	project := filepath.Join(dir, "project")
	write(t, filepath.Join(project, "tools", "bin", "node"), "")
	write(t, filepath.Join(project, "tools", "etc", "npmrc"), "a=${SECRET}")
	path = filepath.Join(project, "tools", "bin") + string(filepath.ListSeparator) + path
	config, err = readUserConfig(environment(map[string]string{"PATH": path, "SECRET": "theirs"}), project, "")
	if err != nil || config.NPM.Setting("a") != "global" {
		t.Errorf("%q, %v", config.NPM.Setting("a"), err)
	}
}

func TestAuthorities(t *testing.T) {
	dir := t.TempDir()
	cert, _ := authority()
	ca := write(t, filepath.Join(dir, "ca.pem"),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[1]})))
	write(t, filepath.Join(dir, ".npmrc"), "cafile=ca.pem\nregistry=https://npm.example.com/\n")
	config, err := readUserConfig(environment(nil), dir, "")
	if err != nil || config.NPM.Authorities == nil || config.RootCAs != nil {
		t.Fatalf("%+v, %v", config.NPM, err)
	}
	read := 0
	named := config.NPM.Authorities
	config.NPM.Authorities = func() (*x509.CertPool, error) {
		read++
		return named()
	}
	c := New(config)
	if read != 0 {
		t.Error("authorities are read before they are needed")
	}
	npm, err := c.withTool(artifact.NPM)
	if err != nil {
		t.Fatal(err)
	}
	pypi, err := c.withTool(artifact.PyPI)
	if err != nil {
		t.Fatal(err)
	}
	if npm.network == c.network || pypi.network == npm.network {
		t.Error("npm's authorities count for npm alone")
	}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotFound) })
	config.Dir, config.AnyHost, config.Limits.Retries = t.TempDir(), true, -1
	config.NPM.Setting = func(key string) string { return map[string]string{"registry": base}[key] }
	c = newClient(t, config)
	_, err = get(t, c, "npm:a@1.0.0")
	wantError(t, err, evidence.NotFound)
	_, err = get(t, c, base+"/f")
	wantError(t, err, evidence.Unreachable, "certificate")
	if read != 1 {
		t.Errorf("authorities are read %d times", read)
	}
	given := func(config Config) (*x509.CertPool, error) {
		if config.NPM.Authorities == nil {
			return nil, errors.New("names no authorities")
		}
		return config.NPM.Authorities()
	}
	config, err = readUserConfig(environment(map[string]string{"NODE_EXTRA_CA_CERTS": ca}), "", "")
	if pool, unread := given(config); err != nil || pool == nil || unread != nil {
		t.Errorf("%v, %v, %v", pool, err, unread)
	}
	config, err = readUserConfig(environment(map[string]string{"npm_config_cafile": "/nowhere/ca.pem"}), "", "")
	if pool, unread := given(config); err != nil || pool != nil || unread != nil {
		t.Errorf("a file that is not there: %v, %v, %v", pool, err, unread)
	}
	empty := write(t, filepath.Join(dir, "empty.pem"), "nothing")
	config, err = readUserConfig(environment(map[string]string{"npm_config_cafile": empty}), "", "")
	if err != nil {
		t.Fatal(err)
	}
	c = newClient(t, config)
	for range 2 { // and not only the first time
		_, err := get(t, c, "npm:a@1.0.0")
		if f, ok := errors.AsType[*wire.Error](err); !ok || f.Cause != evidence.Unsupported ||
			!strings.Contains(err.Error(), empty+" holds no certificate") {
			t.Errorf("a cafile without a certificate was taken: %v", err)
		}
	}
}

func TestUserProxy(t *testing.T) {
	npm, _ := url.Parse("https://npm.example.com/a")
	direct, _ := url.Parse("https://direct.example.com/a")
	via := func(proxy func(*url.URL) (*url.URL, error), u *url.URL) string {
		if proxy == nil {
			return "none"
		}
		p, err := proxy(u)
		if err != nil {
			t.Error(err)
		}
		if p == nil {
			return ""
		}
		return p.Host
	}
	config, err := readUserConfig(environment(map[string]string{
		"HTTPS_PROXY": "http://proxy.example.com:3128", "NO_PROXY": "direct.example.com",
	}), "", "")
	if err != nil || via(config.Proxy, npm) != "proxy.example.com:3128" || via(config.Proxy, direct) != "" ||
		config.NPM.Proxy != nil {
		t.Errorf("%v: %q %q", err, via(config.Proxy, npm), via(config.Proxy, direct))
	}
	config, err = readUserConfig(environment(map[string]string{
		"https_proxy":            "http://proxy.example.com:3128",
		"npm_config_https_proxy": "http://npmproxy.example.com:1", "npm_config_noproxy": "direct.example.com",
	}), "", "")
	if err != nil || via(config.Proxy, direct) != "proxy.example.com:3128" ||
		via(config.NPM.Proxy, npm) != "npmproxy.example.com:1" || via(config.NPM.Proxy, direct) != "" {
		t.Errorf("%v: %q %q %q", err, via(config.Proxy, direct), via(config.NPM.Proxy, npm),
			via(config.NPM.Proxy, direct))
	}
	if server := ServerConfig(); server.Proxy != nil || server.NPM.Setting != nil || server.AllowAddr == nil {
		t.Errorf("%+v", server)
	}
}

func TestWarnings(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("certificates are not verified") })
	for _, tt := range []struct {
		env  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"npm_config_strict_ssl": "true"}, ""},
		{map[string]string{"npm_config_strict_ssl": "false"}, "verified all the same"},
		{map[string]string{"NODE_TLS_REJECT_UNAUTHORIZED": "0"}, "verified all the same"},
		{map[string]string{"npm_config__authToken": "secret"}, "no host"},
		{map[string]string{"npm_config__auth": "secret"}, "no host"},
	} {
		config, err := readUserConfig(environment(tt.env), "", "")
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(config.warnings, "\n")
		if (tt.want == "") != (all == "") || !strings.Contains(all, tt.want) || strings.Contains(all, "secret") {
			t.Errorf("%v: %q", tt.env, all)
		}
		config.Dir, config.AnyHost, config.Limits.Retries = t.TempDir(), true, -1
		config.NPM.Setting = func(key string) string { return map[string]string{"registry": base}[key] }
		_, err = get(t, newClient(t, config), "npm:a@1.0.0")
		wantError(t, err, evidence.Unreachable, "certificate")
	}
}
