package operate

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/policy"
)

func TestBundleHost(t *testing.T) {
	for text, want := range map[string]string{
		model.RegistryURLGitHub + "/o/r/releases/download/v1/a.mcpb": document.HostOf(model.RegistryURLGitHub),
		"github:o/r/v1/a.mcpb":                  document.HostOf(model.RegistryURLGitHub),
		"https://files.example.com:8443/a.mcpb": "files.example.com",
	} {
		ref, err := artifact.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := bundleHost(ref); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A publisher does not choose what the registry requests: a bundle elsewhere than at the
// allowed hosts is refused without a look at it.
func TestBundleElsewhere(t *testing.T) {
	asked := 0
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		io.WriteString(w, "secret")
	}))
	defer site.Close()
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	client := fetch.New(
		fetch.Config{Dir: t.TempDir(), RootCAs: roots, AnyHost: true, Limits: fetch.Limits{Retries: -1}})
	defer client.CloseIdleConnections()
	url := site.URL + "/notes.mcpb"
	doc, err := document.Parse("server.json",
		fmt.Appendf(nil, `{"$schema":%q,"name":"io.github.o/notes","description":"d","version":"1.0.0",
		"packages":[{"registryType":"mcpb","identifier":%q,"transport":{"type":"stdio"}}],"file_hashes":{%[2]q:%q}}`,
			model.CurrentSchemaURL, url, digest.FromBytes([]byte("secret"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hosts []string
		asked int
		file  evidence.Outcome
		owner evidence.Outcome
	}{
		{nil, 0, evidence.Unverifiable, evidence.Absent},
		{[]string{"127.0.0.2"}, 0, evidence.Unverifiable, evidence.Absent},
		{[]string{"127.0.0.1"}, 1, evidence.Match, evidence.Match},
	} {
		asked = 0
		report, err := checkClaims(t.Context(), client, doc, c.hosts)
		if err != nil {
			t.Fatal(err)
		}
		if asked != c.asked {
			t.Errorf("%q: %d requests", c.hosts, asked)
		}
		if report[0].Outcome != c.file || report[len(report)-1].Outcome != c.owner {
			t.Errorf("%q: %+v", c.hosts, report)
		}
		if verdict := policy.Judge(policy.Accept, policy.Settings{}, report); verdict.Allowed() !=
			(c.file == evidence.Match) {
			t.Errorf("%q: allowed %t", c.hosts, verdict.Allowed())
		}
	}
}

// The hint is about what is wrong with the address.
func TestListenHint(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for addr, want := range map[string]string{
		"x":                   "such as 127.0.0.1:8080",
		"127.0.0.1":           "such as 127.0.0.1:8080",
		"127.0.0.1:99999":     "such as 127.0.0.1:8080",
		"127.0.0.1:port":      "such as 127.0.0.1:8080",
		taken.Addr().String(): "is another program listening there",
	} {
		l, err := net.Listen("tcp", addr)
		if err == nil {
			l.Close()
			t.Fatalf("%s can be listened on", addr)
		}
		if got := listenHint(err, "--addr"); !strings.Contains(got, want) || !strings.Contains(got, "--addr") {
			t.Errorf("%s: %s (%v)", addr, got, err)
		}
	}
}

// A key that cannot be used is refused with one hint, which is about keys.
func TestKeyHints(t *testing.T) {
	dir := t.TempDir()
	seed, open, none := filepath.Join(dir, "seed"), filepath.Join(dir, "open"), filepath.Join(dir, "none")
	for path, mode := range map[string]os.FileMode{seed: 0o600, open: 0o644} {
		if err := os.WriteFile(path, []byte(strings.Repeat("ab", 32)), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		o    ServeOptions
		want string
	}{
		"no log key":        {ServeOptions{LogKeyFile: none}, "openssl rand -hex 32"},
		"a seed, no origin": {ServeOptions{LogKeyFile: seed}, "with --log-origin"},
		"an open log key":   {ServeOptions{LogKeyFile: open, LogOrigin: "o.example"}, "chmod 600"},
		"no token key":      {ServeOptions{TokenKeyFile: none}, "openssl rand -hex 32"},
		"an open token key": {ServeOptions{TokenKeyFile: open}, "chmod 600"},
	} {
		if runtime.GOOS == "windows" && c.want == "chmod 600" {
			continue
		}
		c.o.Data, c.o.Addr, c.o.Logger = filepath.Join(dir, name), "127.0.0.1:0", slog.New(slog.DiscardHandler)
		err := Serve(t.Context(), c.o)
		var text bytes.Buffer
		for e := new(evidence.Error); errors.As(err, &e); err = e.Err {
			text.WriteString(e.Hint)
		}
		if !strings.Contains(text.String(), c.want) || strings.Contains(text.String(), "bucket") ||
			c.want == "chmod 600" && strings.Contains(text.String(), "openssl") {
			t.Errorf("%s: hint %q", name, &text)
		}
	}
}

// A bundle may come from the two hosts of the official registry, from those of the operator, and with "own" from the domain
// that the publisher has proven to hold. The refusal says which these are.
func TestBundleHosts(t *testing.T) {
	for _, c := range []struct {
		name, url string
		hosts     []string
		want      bool
	}{
		{"com.example/a", "https://github.com/o/r/releases/download/v1/a.mcpb", nil, true},
		{"com.example/a", "https://example.com/a.mcpb", nil, false},
		{"com.example/a", "https://example.com/a.mcpb", []string{"own"}, true},
		{"com.example/a", "https://files.example.com/a.mcpb", []string{"own"}, true},
		{"com.example/a", "https://badexample.com/a.mcpb", []string{"own"}, false},
		{"com.example/a", "https://example.com.evil.example/a.mcpb", []string{"own"}, false},
		{"com.example.sub/a", "https://example.com/a.mcpb", []string{"own"}, false},
		{"io.github.Acme/a", "https://acme.github.io/a.mcpb", []string{"own"}, true},
		{"com.example/a", "https://own/a.mcpb", []string{"own"}, false},
		{"com.example/a", "https://files.example.org/a.mcpb", []string{"files.example.org"}, true},
	} {
		ref, err := artifact.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := allowedBundle(ref, c.name, c.hosts); got != c.want {
			t.Errorf("%s of %s with %q: %t", c.url, c.name, c.hosts, got)
		}
		owner, err := checkOwnership(t.Context(), nil, c.name, ref, c.hosts)
		if err != nil || (owner.Outcome == evidence.Match) != c.want || !c.want && !strings.Contains(owner.Reason, "github.com, gitlab.com") {
			t.Errorf("%s of %s: %+v, %v", c.url, c.name, owner, err)
		}
	}
	if said := sayBundleHosts("com.example/a", []string{"own", "files.example.org"}); !strings.HasSuffix(said,
		"gitlab.com, example.com and names below it, files.example.org") {
		t.Error(said)
	}
}
