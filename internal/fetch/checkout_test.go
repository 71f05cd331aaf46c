package fetch

import (
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// checkout is the configuration in a checkout with these files, of a user with that .npmrc.
func checkout(t *testing.T, files map[string]string, user string, env map[string]string, agreed ...string) *Client {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, "project", name), text)
	}
	write(t, filepath.Join(dir, "home", ".npmrc"), user)
	config, err := readUserConfig(environment(env), filepath.Join(dir, "project"), filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	config.Agreement.Ask = func(u wire.VariableUse) error {
		if slices.Contains(agreed, u.String()) {
			return nil
		}
		return u.Refusal()
	}
	config.Agreement.AskHost = func(wire.HostUse) error { return nil } // hostuse_test.go is about hosts
	return New(config)
}

func refusedFor(t *testing.T, err error, use string) {
	t.Helper()
	var e *evidence.Error
	if !errors.As(err, &e) || e.Kind != evidence.Refused || !strings.Contains(e.Hint, "--allow-env "+use) {
		t.Errorf("%v, want a refusal for %s", err, use)
	}
}

func TestVariablesOfACheckout(t *testing.T) {
	env := map[string]string{"TOKEN": "s3cret", "AWS_SECRET_ACCESS_KEY": "s3cret", "A-B": "s3cret"}
	const host = "npm.example.com"
	u := &url.URL{Scheme: "https", Host: host, Path: "/a"}
	for _, tt := range []struct{ rc, use string }{
		{"//npm.example.com/:_authToken=${TOKEN}", "TOKEN=" + host},
		{"//npm.example.com/:_authToken=x${TOKEN}", "TOKEN=" + host},
		{"//npm.example.com/:_authToken=${TOKEN?}", "TOKEN=" + host},
		{"//npm.example.com/:_authToken=${NONE-}${TOKEN:-x}", "TOKEN=" + host},
		{"//npm.example.com/:_authToken=${A-B}", "A-B=" + host},
		{"//npm.example.com/:_authToken=\"${TOKEN}\"", "TOKEN=" + host},
		{"//npm.example.com/:_auth=${AWS_SECRET_ACCESS_KEY}", "AWS_SECRET_ACCESS_KEY=" + host},
		{"//npm.example.com/:username=${TOKEN}\n//npm.example.com/:_password=eA==", "TOKEN=" + host},
		{"//npm.example.com/:_authToken=${NONE}", ""},
		{"//${TOKEN}/:_authToken=x", ""},
		{"//npm.example.com/:_authToken=literal", ""},
	} {
		c := checkout(t, map[string]string{".npmrc": "registry=https://npm.example.com/\n" + tt.rc}, "", env)
		header, err := c.config.NPM.Authorization(u)
		_, rc, filesErr := c.NPMFiles()
		if strings.Contains(header+rc, "s3cret") {
			t.Errorf("%s: %q %q", tt.rc, header, rc)
		}
		if tt.use == "" {
			if err != nil || filesErr != nil {
				t.Errorf("%s: %v, %v", tt.rc, err, filesErr)
			}
			continue
		}
		refusedFor(t, err, tt.use)
		refusedFor(t, filesErr, tt.use)
		c = checkout(t, map[string]string{".npmrc": "registry=https://npm.example.com/\n" + tt.rc}, "", env, tt.use)
		if header, err := c.config.NPM.Authorization(u); err != nil || header == "" {
			t.Errorf("%s: agreed to, and %q, %v", tt.rc, header, err)
		}
		if _, _, err := c.NPMFiles(); err != nil {
			t.Errorf("%s: agreed to, and %v", tt.rc, err)
		}
	}

	// What is for a host that nobody is going to ask does not stop anybody, and goes nowhere.
	c := checkout(t, map[string]string{".npmrc": "//other.example.com/:_authToken=${TOKEN}"}, "", env)
	if user, rc, err := c.NPMFiles(); err != nil || strings.Contains(user+rc, "s3cret") {
		t.Errorf("%v %s", err, rc)
	}
	// A registry's address: its path may hold a variable, its host none.
	c = checkout(t, map[string]string{".npmrc": "registry=https://npm.example.com/${TOKEN}/"}, "", env)
	_, err := c.config.NPM.Registry("a")
	refusedFor(t, err, "TOKEN="+host)
	for _, value := range []string{"https://${TOKEN}.example.com/", "https://${TOKEN}@npm.example.com/", "${TOKEN}",
		"https://a${TOKEN}/", "${TOKEN}://x/", "https://npm.example.com:${TOKEN}/",
		"https://npm.example.com?${TOKEN}"} {
		c = checkout(t, map[string]string{".npmrc": "registry=" + value}, "", env, "TOKEN=npm.example.com")
		if base, err := c.config.NPM.Registry("a"); err != nil || strings.Contains(base, "s3cret") ||
			len(c.IgnoredSettings(artifact.NPM)) != 1 {
			t.Errorf("%s: %s, %v", value, base, err)
		}
	}
	// npm would ask another registry than one that is none.
	for _, value := range []string{"npm.example.com", "ht!tp://[::bad/", "//npm.example.com/",
		"file:///npm", "https:///npm"} {
		for _, c := range []*Client{
			checkout(t, map[string]string{".npmrc": "registry=" + value}, "", nil),
			checkout(t, map[string]string{".npmrc": "@a:registry=" + value}, "", nil),
			checkout(t, nil, "registry="+value, nil),
		} {
			if _, _, err := c.NPMFiles(); err == nil ||
				!strings.Contains(err.Error(), "registry of .npmrc is no URL of a registry") {
				t.Errorf("%s: %v", value, err)
			}
		}
	}
	if _, _, err := checkout(t, map[string]string{".npmrc": "registry="}, "", nil).NPMFiles(); err != nil {
		t.Error(err)
	}
	// The user's own file is read as before.
	c = checkout(t, nil, "//npm.example.com/:_authToken=${TOKEN}", env)
	if header, err := c.config.NPM.Authorization(u); err != nil || header != "Bearer s3cret" {
		t.Errorf("%q, %v", header, err)
	}
	// A checkout that chooses who is trusted on the way gets none of the user's secrets.
	for _, key := range []string{"cafile=ca.pem", "proxy=http://p.example.com/",
		"https-proxy=http://p.example.com/", "ca=x"} {
		c = checkout(t, map[string]string{".npmrc": key}, "//npm.example.com/:_authToken=mine", nil)
		header, err := c.config.NPM.Authorization(u)
		user, rc, filesErr := c.NPMFiles()
		if err != nil || filesErr != nil || header != "" || strings.Contains(user+rc, "mine") ||
			len(c.IgnoredSettings(artifact.NPM)) == 0 {
			t.Errorf("%s: %q, %v, %v, %s", key, header, err, filesErr, user)
		}
	}
	// An index's name chooses variables too.
	c = checkout(t, map[string]string{"uv.toml": "[[index]]\nname = \"internal\"\nurl = " +
		"\"https://pypi.example.com/simple\"\n"}, "",
		map[string]string{"UV_INDEX_INTERNAL_USERNAME": "u",
			"UV_INDEX_INTERNAL_PASSWORD": "s3cret"}, "UV_INDEX_INTERNAL_USERNAME=pypi.example.com")
	_, err = c.UVFile()
	refusedFor(t, err, "UV_INDEX_INTERNAL_PASSWORD=pypi.example.com")
	_, err = c.PipVariables()
	refusedFor(t, err, "UV_INDEX_INTERNAL_PASSWORD=pypi.example.com")
}
