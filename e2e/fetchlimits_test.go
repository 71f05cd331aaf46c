//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// What one publish makes a registry fetch has a limit together, and one whose host is slow
// does not keep others waiting.
func TestFetchLimits(t *testing.T) {
	tarball := strings.Repeat("0123456789", 70_000) // 700 kB
	sum := sha256.Sum256([]byte(tarball))
	var base string
	release, hanging := make(chan struct{}), make(chan struct{}, 16)
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			if strings.HasPrefix(name, "slow") {
				hanging <- struct{}{}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
			io.WriteString(w, tarball)
			return
		}
		fmt.Fprintf(w, `{"name":%q,"version":"1.0.0","mcpName":"com.example/notes","dist":{"tarball":"%s/%s/a.tgz"}}`,
			name, base, name)
	}))
	defer site.Close()
	base = site.URL
	dir := t.TempDir()
	authority := filepath.Join(dir, "authority.pem")
	world.Write(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})))
	registry := world.StartRegistry(t, "--data", filepath.Join(dir, "data"), "--allow-anonymous",
		"--npm-registry", base, "--ca-file", authority, "--allow-host", "127.0.0.1", "--max-fetch-bytes", "2",
		"--max-checks", "2")
	type answer struct {
		Status  int
		Details map[string]struct{ Status, Reason string }
	}
	publish := func(version string, names ...string) (a answer) {
		var packages, hashes []string
		for _, n := range names {
			packages = append(packages,
				fmt.Sprintf(`{"registryType":"npm","identifier":%q,"version":"1.0.0","transport":{"type":"stdio"}}`, n))
			hashes = append(hashes, fmt.Sprintf(`"npm:%s@1.0.0":"sha256:%s"`, n, hex.EncodeToString(sum[:])))
		}
		res, err := http.Post(registry.URL+"/v0/publish", "application/json", strings.NewReader(fmt.Sprintf(
			`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",`+
				`"name":"com.example/notes","version":%q,"description":"x","packages":[%s],"file_hashes":{%s}}`,
			version, strings.Join(packages, ","), strings.Join(hashes, ","))))
		if err != nil {
			t.Error(err)
			return a
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		a.Status = res.StatusCode
		return a
	}

	// The limit is 2 MiB: two files of 700 kB fit, and three do not.
	if a := publish("1.0.0", "a", "b"); a.Status != 200 {
		t.Errorf("within the limit: %+v", a)
	}
	a := publish("1.0.1", "a", "b", "c")
	if a.Status != 422 || len(a.Details) == 0 {
		t.Errorf("beyond the limit: %+v", a)
	}
	for id, d := range a.Details {
		if d.Status != "too_large" || !strings.Contains(d.Reason, "2,097,152 bytes for all files together") {
			t.Errorf("%s: %+v", id, d)
		}
	}

	// Four files hang; another publish passes them by.
	slow := make(chan answer, 1)
	go func() { slow <- publish("1.0.2", "slow1", "slow2", "slow3", "slow4") }()
	for range 4 {
		hang.Ends(t, "all of the slow files are asked for at once", func() { <-hanging })
	}
	if a := publish("1.0.3", "a", "b"); a.Status != 200 {
		t.Errorf("beside a slow one: %+v", a)
	}
	select {
	case a := <-slow:
		t.Fatalf("the slow one was over before: %+v", a)
	default:
	}
	close(release)
	if a := <-slow; a.Status != 422 { // 2.8 MB
		t.Errorf("the slow one: %+v", a)
	}
}
