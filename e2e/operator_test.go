//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// reload sends a registry SIGHUP and waits until the log tells of it once more.
func reload(t *testing.T, p *world.Registry, told string) {
	t.Helper()
	before := strings.Count(p.Log(), told)
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(hang.Long); strings.Count(p.Log(), told) == before; {
		if time.Now().After(end) {
			t.Fatalf("the log does not tell %q:\n%s", told, p.Log())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// SIGHUP has the policy's file read again; one that makes no sense changes nothing.
func TestPolicyIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.toml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("allow_anonymous = true\n")
	registry := world.StartRegistry(t, "--data", t.TempDir(), "--policy", file)
	publish := func(version string) int {
		t.Helper()
		res, err := http.Post(registry.URL+"/v0/publish", "application/json",
			strings.NewReader(remoteServer("com.example/notes", version)))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := publish("1.0.0"); got != 200 {
		t.Fatalf("at first: %d", got)
	}
	write("allow_anonymous = true\nblocked = [\"com.example/*\"]\n")
	if got := publish("1.0.1"); got != 200 {
		t.Errorf("before the signal: %d", got)
	}
	reload(t, registry, "policy read again")
	if got := publish("1.0.2"); got != 403 {
		t.Errorf("blocked: %d", got)
	}
	write("allow_anonymous = maybe\n")
	reload(t, registry, "policy stays as it was")
	if got := publish("1.0.2"); got != 403 {
		t.Errorf("after a policy that makes no sense: %d", got)
	}
	write("")
	reload(t, registry, "policy read again")
	if got := publish("1.0.2"); got != 401 {
		t.Errorf("after an empty policy: %d", got)
	}
}

// A registry that does not know file_hashes refuses the member, as the official one
// does; there the hashes travel in the metadata that is the publisher's.
func TestPublishWithoutFileHashes(t *testing.T) {
	var sent []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v0.1/version":
			fmt.Fprint(w, `{"version":"1.8.7","git_commit":"x","build_time":"x"}`)
		case "/v0.1/publish":
			sent, _ = io.ReadAll(r.Body)
			fmt.Fprintf(w, `{"server":%s,"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active"}}}`,
				sent)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	hallmark, dir := world.Build(t, "hallmark"), t.TempDir()
	run := func(doc string, args ...string) (string, error) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "server.json"), []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(hallmark, append([]string{"publish", "--no-hash", "--registry", srv.URL}, args...)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+dir, "HALLMARK_HOME="+filepath.Join(dir, "home"), "HALLMARK_TOKEN=x")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	hashes := func(n int) string {
		var packages, entries []string
		for i := range n {
			id := fmt.Sprintf("package-%04d", i)
			packages = append(packages,
				fmt.Sprintf(`{"registryType":"npm","identifier":%q,"version":"1.0.0","transport":{"type":"stdio"}}`,
					id))
			entries = append(entries, fmt.Sprintf(`"npm:%s@1.0.0":"sha256:%064x"`, id, i))
		}
		return fmt.Sprintf(`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
"name":"com.example/notes","version":"1.0.0","description":"x","packages":[%s],"file_hashes":{%s}}`,
			strings.Join(packages, ","), strings.Join(entries, ","))
	}
	out, err := run(hashes(3))
	if err != nil || !strings.Contains(out, "knows no file_hashes") {
		t.Errorf("%v\n%s", err, out)
	}
	var doc struct {
		FileHashes json.RawMessage `json:"file_hashes"`
		Meta       map[string]struct {
			FileHashes map[string]string `json:"file_hashes"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(sent, &doc); err != nil {
		t.Fatal(err)
	}
	if got := doc.Meta["io.modelcontextprotocol.registry/publisher-provided"].FileHashes; doc.FileHashes != nil ||
		len(got) != 3 {
		t.Errorf("sent %s", sent)
	}

	// More than the metadata holds is not cut: nothing is sent.
	sent = nil
	if out, err := run(hashes(60)); err == nil || sent != nil || !strings.Contains(out, "at most 4096") {
		t.Errorf("%v, sent %.100s\n%s", err, sent, out)
	}
	// What has no hashes goes as it is, and nobody is told of any.
	if out, err := run(remoteServer("com.example/notes", "1.0.0")); err != nil ||
		strings.Contains(out, "file_hashes") || string(sent) != remoteServer("com.example/notes", "1.0.0") {
		t.Errorf("%v, sent %s\n%s", err, sent, out)
	}
}
