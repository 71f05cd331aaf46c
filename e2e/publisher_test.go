package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// officialVersion is the official client that is known to work. The module is the one
// whose types the program uses.
const officialPublisher = "github.com/modelcontextprotocol/registry/cmd/publisher@v1.8.7"

// official builds the real client of the official registry, unmodified, into bin/ of
// the checkout, where the next run finds it.
func official(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../bin")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "publisher")
	_, version, _ := strings.Cut(officialPublisher, "@")
	if out, err := exec.Command("go", "version", "-m", bin).Output(); err == nil &&
		strings.Contains(string(out), version) {
		return bin
	}
	c := exec.Command("go", "install", officialPublisher)
	c.Dir = t.TempDir() // outside of this module, whose requirements are others
	c.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Skipf("the official client cannot be built here: %v\n%s", err, out)
	}
	return bin
}

// Whoever uses the official registry points the same client at ours: the official one
// logs in by none, dns and http, validates, publishes and changes a status, and what it
// sent reads back as it was. Our own mcp-publisher does the same.
func TestPublisher(t *testing.T) {
	t.Parallel()
	hallmark := world.Build(t, "hallmark")
	for name, bin := range map[string]string{"official": official(t), "ours": world.Build(t, "mcp-publisher")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPublisher(t, hallmark, bin, name == "official")
		})
	}
}

func testPublisher(t *testing.T, hallmark, bin string, isOfficial bool) {
	w := world.New(t)
	const (
		edHex   = "0707070707070707070707070707070707070707070707070707070707070707"
		p384Hex = "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f30"
	)
	ed, err := registry.ParseProofKey(registry.Ed25519, edHex)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := registry.ParseProofKey(registry.ECDSAP384, p384Hex)
	if err != nil {
		t.Fatal(err)
	}
	w.DNS.TXT("named.example.com", "v=spf1 -all", ed.Record())
	w.DNS.TXT("curve.example.com", p384.Record())
	w.Host("web.example.com", func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/mcp-registry-auth" {
			fmt.Fprintln(out, ed.Record())
			return
		}
		http.NotFound(out, r)
	})
	npm := "https://npm.example.com:" + w.Port
	w.Host("npm.example.com", func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/@example/notes/1.0.0" {
			http.NotFound(out, r)
			return
		}
		fmt.Fprintf(out,
			`{"name":"@example/notes","version":"1.0.0","mcpName":"com.example.named/notes",`+
				`"dist":{"tarball":"%s/notes.tgz"}}`, npm)
	})
	registry := world.StartRegistry(t, "--data", t.TempDir(), "--login", "none,dns,http", "--dns-server", w.DNS.Addr,
		"--ca-file", w.CA,
		"--allow-host", "web.example.com", "--allow-host", "npm.example.com", "--proof-port", w.Port, "--npm-registry",
		npm)

	home, dir := t.TempDir(), t.TempDir()
	run := func(ok bool, args ...string) string {
		t.Helper()
		c := exec.Command(bin, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "HALLMARK_HOME=", "HALLMARK_REGISTRY=",
			"HALLMARK_TOKEN=")
		c.Stdin = nil
		out, err := c.CombinedOutput()
		if (err == nil) != ok {
			t.Fatalf("%s %s: %v\n%s", filepath.Base(bin), strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	write := func(doc map[string]any) {
		t.Helper()
		doc["$schema"] = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
		doc["description"] = "Reads <notes> & more — é"
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "server.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remote := func(name, version string) map[string]any {
		return map[string]any{"name": name, "version": version, "remotes": []any{
			map[string]any{"type": "streamable-http", "url": "https://" + strings.ReplaceAll(name, "/", ".") + "/mcp"}}}
	}
	// same demands that the record is the document that was written.
	same := func(doc map[string]any) {
		t.Helper()
		status, body := world.Get(t,
			registry.URL+"/v0.1/servers/"+url.PathEscape(doc["name"].(string))+"/versions/"+doc["version"].(string))
		var env struct {
			Server map[string]any
			Meta   map[string]json.RawMessage `json:"_meta"`
		}
		if err := json.Unmarshal(body, &env); status != 200 || err != nil {
			t.Fatalf("%d %s", status, body)
		}
		text, _ := json.Marshal(doc)
		var want map[string]any
		json.Unmarshal(text, &want)
		if !reflect.DeepEqual(env.Server, want) {
			t.Errorf("read back\n%v\nwant\n%v", env.Server, want)
		}
		if !bytes.Contains(env.Meta["io.modelcontextprotocol.registry/official"], []byte(`"status":"active"`)) {
			t.Errorf("record %s", body)
		}
	}

	// init: a document to begin with, which is not overwritten.
	run(true, "init")
	if text, err := os.ReadFile(filepath.Join(dir, "server.json")); err != nil ||
		!bytes.Contains(text, []byte(`"packages"`)) {
		t.Errorf("init wrote %s (%v)", text, err)
	}
	run(false, "init")

	// none
	run(true, "login", "none", "--registry", registry.URL)
	doc := remote("io.modelcontextprotocol.anonymous/notes", "1.0.0")
	write(doc)
	run(true, "validate")
	run(true, "publish")
	same(doc)
	write(remote("com.example.named/other", "1.0.0"))
	if out := run(false, "publish"); !strings.Contains(out, "io.modelcontextprotocol.anonymous/*") {
		t.Errorf("refused without saying what is permitted:\n%s", out)
	}

	// dns, with either kind of key
	out := run(true, "login", "dns", "--registry", registry.URL, "--domain", "named.example.com", "--private-key",
		edHex)
	if !strings.Contains(out, ed.Record()) {
		t.Errorf("login does not say what to publish in DNS:\n%s", out)
	}
	doc = map[string]any{"name": "com.example.named/notes", "version": "1.0.0", "packages": []any{map[string]any{
		"registryType": "npm", "identifier": "@example/notes", "version": "1.0.0",
		"transport": map[string]any{"type": "stdio"}}}}
	if isOfficial {
		write(doc)
		run(true, "validate")
		run(true, "publish")
		same(doc)
	}
	doc = remote("com.example.named.sub/notes", "1.0.0")
	write(doc)
	run(true, "publish")
	same(doc)
	run(true, "login", "dns", "--registry", registry.URL, "--domain", "curve.example.com", "--algorithm", "ecdsap384",
		"--private-key", p384Hex)
	doc = remote("com.example.curve/notes", "1.0.0")
	write(doc)
	run(true, "publish")
	same(doc)
	run(false, "login", "dns", "--registry", registry.URL, "--domain", "curve.example.com", "--private-key", edHex)

	// http
	run(true, "login", "http", "--registry", registry.URL, "--domain", "web.example.com", "--private-key", edHex)
	if got := w.Asked("web.example.com"); len(got) != 1 || got[0] != "/.well-known/mcp-registry-auth" {
		t.Errorf("the domain was asked for %v", got)
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		doc = remote("com.example.web/notes", version)
		write(doc)
		run(true, "publish")
		same(doc)
	}
	write(remote("com.example.web.sub/notes", "1.0.0"))
	run(false, "publish") // http gives no names below

	// status
	const name = "com.example.web/notes"
	at := registry.URL + "/v0.1/servers/" + url.PathEscape(name) + "/versions"
	run(true, "status", "--status", "deprecated", "--message", "use 1.1.0", name, "1.0.0")
	if _, body := world.Get(t, at+"/1.0.0"); !bytes.Contains(body, []byte(`"statusMessage":"use 1.1.0"`)) {
		t.Errorf("after status: %s", body)
	}
	run(false, "status", "--status", "deprecated", "--message", "use 1.1.0", name, "1.0.0") // no change
	run(false, "status", "--status", "deleted", "--all-versions", name)                     // nobody confirms
	run(true, "status", "--status", "deleted", "--all-versions", "--yes", name)
	if status, _ := world.Get(t, at); status != 404 {
		t.Errorf("all versions are deleted: %d", status)
	}
	if _, body := world.Get(t, at+"?include_deleted=true"); bytes.Count(body, []byte(`"status":"deleted"`)) != 2 {
		t.Errorf("deleted versions: %s", body)
	}
	run(true, "status", "--status", "active", name, "1.1.0")
	if status, body := world.Get(t, at+"/latest"); status != 200 || !bytes.Contains(body, []byte(`"version":"1.1.0"`)) {
		t.Errorf("latest: %d %s", status, body)
	}

	run(true, "logout")
	run(false, "publish")
}
