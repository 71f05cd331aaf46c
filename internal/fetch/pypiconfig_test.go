package fetch

import (
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

// tree writes files below a new directory and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// userOf is the configuration of a user with these files, below home/ and project/,
// and variables, in which HOME stands for the one directory.
func userOf(t *testing.T, files, env map[string]string) (Config, error) {
	t.Helper()
	dir := tree(t, files)
	home := filepath.Join(dir, "home")
	return readUserConfig(func(key string) string {
		if v, ok := env[key]; ok {
			return strings.ReplaceAll(v, "HOME", home)
		}
		if key == "XDG_CONFIG_DIRS" {
			return filepath.Join(dir, "system")
		}
		return ""
	}, filepath.Join(dir, "project"), home)
}

func TestPyPIUserConfig(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the places of files are those of linux")
	}
	const pub = model.RegistryURLPyPI + "/simple"
	for name, tt := range map[string]struct {
		files, env map[string]string
		want       []string
	}{
		"nothing": {nil, nil, nil},
		"pip variable": {nil, map[string]string{"PIP_INDEX_URL": "https://pip.example.com/simple/"},
			[]string{"https://pip.example.com/simple/"}},
		"pip extra": {nil, map[string]string{"PIP_EXTRA_INDEX_URL": "https://a.example.com/simple  " +
			"https://b.example.com"},
			[]string{"https://a.example.com/simple", "https://b.example.com", pub}},
		"pip file": {map[string]string{"home/.config/pip/pip.conf": "[global]\nindex_url = https://pip.example.com/" +
			"simple\nextra-index-url =\n  https://a.example.com\n\thttps://b.example.com\n"}, nil,
			[]string{"https://a.example.com", "https://b.example.com", "https://pip.example.com/simple"}},
		"pip order": {map[string]string{
			"system/pip/pip.conf":       "[global]\nindex-url = https://system.example.com",
			"home/.pip/pip.conf":        "[global]\nindex-url = https://legacy.example.com",
			"home/.config/pip/pip.conf": "[global]\nindex-url = https://user.example.com",
		}, nil, []string{"https://user.example.com"}},
		"pip site": {map[string]string{"home/.config/pip/pip.conf": "[global]\nindex-url = https://user.example.com",
			"home/venv/pip.conf": "[global]\nindex-url = https://site.example.com"},
			map[string]string{"VIRTUAL_ENV": "HOME/venv"}, []string{"https://site.example.com"}},
		"pip section": {map[string]string{"home/.config/pip/pip.conf": "[install]\nindex-url: https://" +
			"install.example.com\n[global]\nindex-url = https://global.example.com\n[list]\nindex-url = " +
			"https://list.example.com"}, nil,
			[]string{"https://install.example.com"}},
		"pip variable beats file": {map[string]string{"home/.config/pip/pip.conf": "[install]\nindex-url = https://" +
			"file.example.com"},
			map[string]string{"PIP_INDEX_URL": "https://env.example.com"}, []string{"https://env.example.com"}},
		"pip named file": {map[string]string{"home/.config/pip/pip.conf": "[global]\nextra-index-url = " +
			"https://user.example.com", "home/named": "[global]\nindex-url = https://named.example.com"},
			map[string]string{"PIP_CONFIG_FILE": "HOME/named"}, []string{"https://named.example.com"}},
		"pip no files": {map[string]string{"home/.config/pip/pip.conf": "[global]\nindex-url = https://" +
			"user.example.com"},
			map[string]string{"PIP_CONFIG_FILE": os.DevNull}, nil},
		"uv variable": {nil,
			map[string]string{"UV_INDEX_URL": "https://old.example.com",
				"PIP_EXTRA_INDEX_URL": "https://pip.example.com"}, []string{"https://old.example.com"}},
		"uv default": {nil,
			map[string]string{"UV_DEFAULT_INDEX": "corp=https://new.example.com/simple?a=b",
				"UV_INDEX_URL": "https://old.example.com"},
			[]string{"https://new.example.com/simple"}},
		"uv index": {nil, map[string]string{"UV_INDEX": "one=https://one.example.com/x=y https://two.example.com",
			"UV_EXTRA_INDEX_URL": "https://three.example.com"},
			[]string{"https://one.example.com/x=y", "https://two.example.com", "https://three.example.com", pub}},
		"uv file": {map[string]string{"home/.config/uv/uv.toml": "[[index]]\nname = \"a\"\nurl = " +
			"\"https://a.example.com\"\n[[index]]\nurl = \"https://d.example.com\"\ndefault = true\n[[index]]\n" +
			"name=\"x\"\nurl = \"https://x.example.com\"\nexplicit = true\n"}, nil,
			[]string{"https://a.example.com", "https://d.example.com"}},
		"uv old file": {map[string]string{"home/.config/uv/uv.toml": "index-url = \"https://d.example.com\"\n" +
			"extra-index-url = [\"https://a.example.com\"]\n"}, nil,
			[]string{"https://a.example.com", "https://d.example.com"}},
		"uv project": {map[string]string{"home/.config/uv/uv.toml": "index-url = \"https://user.example.com\"",
			"project/pyproject.toml": "[project]\nname=\"x\"\n[tool.uv]\nindex-url = \"https://project.example.com\""},
			nil, []string{"https://project.example.com"}},
		"uv project's uv.toml": {map[string]string{"project/uv.toml": "index-url = \"https://own.example.com\"",
			"project/pyproject.toml": "[tool.uv]\nindex-url = \"https://project.example.com\""}, nil,
			[]string{"https://own.example.com"}},
		"uv named file": {map[string]string{"home/x.toml": "index-url = \"https://named.example.com\"",
			"home/.config/uv/uv.toml": "index-url = \"https://user.example.com\""},
			map[string]string{"UV_CONFIG_FILE": "HOME/x.toml"}, []string{"https://named.example.com"}},
		"uv no files": {map[string]string{"home/.config/uv/uv.toml": "index-url = \"https://user.example.com\""},
			map[string]string{"UV_NO_CONFIG": "1"}, nil},
		"password": {nil, map[string]string{"PIP_INDEX_URL": "https://u:secret@pip.example.com/simple"},
			[]string{"https://pip.example.com/simple"}},
	} {
		config, err := userOf(t, tt.files, tt.env)
		if err != nil || !slices.Equal(config.PyPI.Indexes, tt.want) {
			t.Errorf("%s: %v, %v", name, config.PyPI.Indexes, err)
		}
	}
	for name, tt := range map[string]struct {
		files, env map[string]string
		part       string
	}{
		"no URL":      {nil, map[string]string{"PIP_INDEX_URL": "pip.example.com"}, "not a URL"},
		"no host":     {nil, map[string]string{"UV_INDEX": "x=https:///simple"}, "not a URL"},
		"unparseable": {nil, map[string]string{"PIP_INDEX_URL": "https://u:secret@[::1"}, "not a URL"},
		"uv file":     {map[string]string{"home/.config/uv/uv.toml": "["}, nil, "uv.toml"},
		"certificate": {map[string]string{"home/x.pem": "no certificate"}, map[string]string{"PIP_CERT": "HOME/x.pem"},
			"holds no certificate"},
		"cargo file":    {map[string]string{"home/.cargo/config.toml": "["}, nil, "cargo configuration"},
		"a large netrc": {map[string]string{"home/.netrc": strings.Repeat("x", 1<<20+1)}, nil, "larger than"},
	} {
		config, err := userOf(t, tt.files, tt.env)
		if err == nil && config.PyPI.Authorities != nil { // which are read when they are needed
			_, err = config.PyPI.Authorities()
		}
		if err == nil || !strings.Contains(err.Error(), tt.part) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	config, err := userOf(t,
		map[string]string{"home/.config/pip/pip.conf": "[global]\ntrusted-host = pip.example.com"}, nil)
	if err != nil || len(config.warnings) != 1 || !strings.Contains(config.warnings[0], "trusted-host") {
		t.Errorf("%v, %v", config.warnings, err)
	}
}

func TestPyPIAuthorization(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the places of files are those of linux")
	}
	config, err := userOf(t, map[string]string{"home/.netrc": `
		machine net.example.com login n password p1
		machine both.example.com login n password p2
		machine port.example.com login n password p3
		machine files.example.com login n password p4
		default login d password never`},
		map[string]string{
			"UV_INDEX": "corp-1=https://corp.example.com/simple https://u:p%40w@url.example.com:8443/simple " +
				"https://tok@tok.example.com/simple https://x:own@both.example.com/ " +
				"https://port.example.com:3141/simple",
			"UV_INDEX_CORP_1_USERNAME":   "c",
			"UV_INDEX_CORP_1_PASSWORD":   "pw",
			"UV_DEFAULT_INDEX":           "https://none.example.com/simple",
			"UV_INDEX_UNUSED_1_PASSWORD": "x",
			"PIP_INDEX_URL":              "https://y:z@pip.example.com",
		})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"https://corp.example.com/simple/a/": "c:pw",
		"https://CORP.example.com:443/f":     "c:pw",
		"https://corp.example.com:444/f":     "",
		"https://sub.corp.example.com/f":     "",
		"https://url.example.com:8443/f":     "u:p@w",
		"https://url.example.com/f":          "",
		"https://tok.example.com/f":          "tok:",
		"https://both.example.com/f":         "x:own",
		"https://net.example.com/f":          "n:p1",
		"https://net.example.com:8443/f":     "",
		"https://port.example.com:3141/f":    "n:p3",
		"https://port.example.com/f":         "n:p3",
		"https://port.example.com:3142/f":    "",
		"https://files.example.com/f":        "n:p4",
		"https://none.example.com/simple/":   "",
		"https://pip.example.com/":           "",
		"https://anything.example.com/":      "",
	} {
		u, _ := url.Parse(target)
		got, err := config.PyPI.Authorization(u)
		clear, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(got, "Basic "))
		if err != nil || string(clear) != want {
			t.Errorf("%s: %q, %v", target, clear, err)
		}
	}
}

// TestPyPIToken: credentials for an index go to its host and nowhere else.
func TestPyPIToken(t *testing.T) {
	config := testConfig(t)
	other := newSite(t, map[string]string{"/a-1.0.zip": "x", "/away/a-3.0.zip": "x"})
	index := newSite(t, map[string]string{
		"/simple/a/":     `<a href="` + other.base + `/a-1.0.zip"><a href="/f/a-2.0.zip"><a href="/f/a-3.0.zip">`,
		"/f/a-2.0.zip":   "x",
		"/f/a-3.0.zip":   "-> " + other.base + "/away/a-3.0.zip",
		"/simple/moved/": "-> " + other.base + "/simple/moved/",
	})
	user, err := readUserConfig(func(key string) string {
		return map[string]string{"PIP_INDEX_URL": "https://u:p@" + index.host() + "/simple",
			"PIP_CONFIG_FILE": os.DevNull}[key]
	}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	config.PyPI = user.PyPI
	c := newClient(t, config)
	const auth = " <- Basic dTpw"
	for ref, want := range map[string][2][]string{
		"pypi:a==1.0":     {{"/simple/a/" + auth}, {"/a-1.0.zip"}},
		"pypi:a==2.0":     {{"/simple/a/" + auth, "/f/a-2.0.zip" + auth}, nil},
		"pypi:a==3.0":     {{"/simple/a/" + auth, "/f/a-3.0.zip" + auth}, {"/away/a-3.0.zip"}},
		"pypi:moved==1.0": {{"/simple/moved/" + auth}, {"/simple/moved/"}},
	} {
		d, err := get(t, c, ref)
		if err == nil {
			d.Close()
		}
		if a, b := index.requests(), other.requests(); !slices.Equal(a, want[0]) || !slices.Equal(b, want[1]) {
			t.Errorf("%s: %v, %v (%v)", ref, a, b, err)
		}
	}
}

// TestPyPICertificates: pip's authority counts for PyPI alone.
func TestPyPICertificates(t *testing.T) {
	config := testConfig(t)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, release("a", "1")) })
	roots := config.RootCAs
	config.PyPI.Authorities = func() (*x509.CertPool, error) { return roots, nil }
	config.PyPI.Base, config.RootCAs = base, nil
	config.Limits.Retries = -1
	c := newClient(t, config)
	_, err := c.Description(t.Context(), mustRef(t, "pypi:a==1"))
	if err != nil {
		t.Error(err)
	}
	if _, err = get(t, c, base+"/f"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v", err)
	}
}
