//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// A registry reads a private package for the namespaces that its operator mapped to the
// host, and for nobody else: another publisher does not make it send the credential, and
// the answer tells nothing of the package, neither its digest nor whether a guess is right.
func TestCredentialsOfANamespace(t *testing.T) {
	const tarball = "private bytes"
	sum := sha256.Sum256([]byte(tarball))
	private := hex.EncodeToString(sum[:])
	var shown atomic.Int32 // requests with the credential
	var base string
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		shown.Add(1)
		if r.URL.Path == "/notes.tgz" {
			io.WriteString(w, tarball)
			return
		}
		fmt.Fprintf(w,
			`{"name":"notes","version":"1.0.0","mcpName":"com.example/notes","dist":{"tarball":"%s/notes.tgz"}}`, base)
	}))
	defer site.Close()
	base = site.URL
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authority := file("authority.pem",
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})))
	credentials := file("credentials.toml",
		fmt.Sprintf("[[credential]]\nhost = %q\nnamespaces = [\"com.example\"]\ntoken_env = \"PRIVATE_TOKEN\"\n",
			strings.TrimPrefix(base, "https://")))
	t.Setenv("PRIVATE_TOKEN", "s3cret")
	registry := world.StartRegistry(t, "--data", filepath.Join(dir, "data"), "--allow-anonymous",
		"--npm-registry", base, "--ca-file", authority, "--allow-host", "127.0.0.1", "--credentials", credentials)
	publish := func(name, digest string) (int, string) {
		t.Helper()
		res, err := http.Post(registry.URL+"/v0/publish", "application/json", strings.NewReader(fmt.Sprintf(
			`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":%q,"version":"1.0.0","description":"x",
"packages":[{"registryType":"npm","identifier":"notes","version":"1.0.0","transport":{"type":"stdio"}}],"file_hashes":{"npm:notes@1.0.0":"sha256:%s"}}`, name, digest)))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	wrong := strings.Repeat("0", 64)
	for _, name := range []string{"com.other/notes", "com.example.sub/notes", "com/notes"} {
		status, guessed := publish(name, private)
		again, missed := publish(name, wrong)
		if status < 400 || again != status || strings.Contains(missed, private) ||
			strings.Contains(guessed, `"actual"`) || strings.Contains(missed, `"actual"`) ||
			strings.ReplaceAll(guessed, private, wrong) != missed {
			t.Errorf("%s: %d %s\n%d %s", name, status, guessed, again, missed)
		}
	}
	if n := shown.Load(); n != 0 {
		t.Errorf("the credential was sent %d times for others", n)
	}
	// The owner is told what differs, and may publish.
	if status, body := publish("com.example/notes", wrong); status != 422 ||
		!strings.Contains(body, `"actual":"sha256:`+private) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := publish("com.example/notes", private); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if shown.Load() == 0 {
		t.Error("the credential was never sent")
	}

	// The operator takes the namespace's credential away, and gives it to another one.
	before := shown.Load()
	file("credentials.toml", "[[credential]]\nhost = nonsense\ntoken = \"s3cret\"\n")
	reload(t, registry, "credentials stay as they were")
	if status, body := publish("com.example/other", wrong); status != 422 || shown.Load() == before {
		t.Errorf("after a file that makes no sense: %d %s", status, body)
	}
	file("credentials.toml",
		fmt.Sprintf("[[credential]]\nhost = %q\nnamespaces = [\"com.other\"]\ntoken = \"s3cret\"\n",
			strings.TrimPrefix(base, "https://")))
	reload(t, registry, "credentials read again")
	before = shown.Load()
	if status, body := publish("com.example/other", private); status < 400 || shown.Load() != before {
		t.Errorf("with the credential of another namespace: %d %s", status, body)
	}
	if status, body := publish("com.other/notes", wrong); status != 422 ||
		!strings.Contains(body, `"actual":"sha256:`+private) {
		t.Errorf("the namespace that has it now: %d %s", status, body)
	}
	if strings.Contains(registry.Log(), "s3cret") {
		t.Error("the log shows the credential")
	}
}
