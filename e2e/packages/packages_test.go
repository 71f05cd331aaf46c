package packages

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/images"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/operate"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// TestPackages needs the network. It takes real packages the whole way: the author's
// hash-gen fills in file_hashes, the registry fetches the files itself and stores what
// it found, and every digest is what this test computes with crypto/sha256 over bytes
// that it got by plain net/http from where the ecosystem's own metadata says.
//
// Packages of MCP servers that name their server are published as they are. The others
// pass a relay that hands on what the public registries say, byte for byte, and adds the
// one thing that they lack: a description that names a server.
func TestPackages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("uses the network")
	}
	bin, w := world.Build(t, "hallmark"), world.New(t)
	relay := newRelay(t, w)
	plain, private := startImages(t, w, false), startImages(t, w, true)
	roots := systemRoots(t, w.CA)

	config := fetch.ServerConfig()
	config.RootCAs = roots
	public := serveRegistry(t, config)
	config.PyPI.Base, config.Cargo.Index = relay, relay+"/crates"
	config.Credentials = []fetch.HostCredential{
		{Host: private.Host, Username: images.User, Password: images.Password, Namespaces: []string{"com.example"}}}
	named := serveRegistry(t, config, "localhost")

	author := newAuthor(t, bin, w, private)
	for _, id := range []string{
		"@modelcontextprotocol/server-memory@2026.8.31",
		"@modelcontextprotocol/server-sequential-thinking@2026.8.31",
		"@modelcontextprotocol/server-filesystem@2026.8.31",
		"@playwright/mcp@0.0.83",
		"@upstash/context7-mcp@4.1.1",
		"tavily-mcp@0.2.22",
	} {
		t.Run("npm/"+id, func(t *testing.T) {
			name, files := npmFiles(t, id)
			at := strings.LastIndexByte(id, '@')
			author.publish(t, public, name, []map[string]any{pkg("npm", id[:at], id[at+1:])}, files)
		})
	}
	// Of these the newest release, as some mirrors have a description of no other.
	for _, project := range []string{"mcp-server-time", "mcp-server-fetch", "mcp-server-git", "codebase-memory-mcp",
		"arxiv-mcp-server"} {
		t.Run("pypi/"+project, func(t *testing.T) {
			name, version, files := pypiFiles(t, project)
			if len(files) < 2 {
				t.Errorf("%d files: this release does not show what several are", len(files))
			}
			author.publish(t, public, name, []map[string]any{pkg("pypi", project, version)}, files)
		})
	}
	t.Run("several kinds", func(t *testing.T) {
		// One server of many packages: wheels for platforms, a release of one file, crates
		// and an image's index.
		files := simpleFiles(t, "markupsafe", "1.1.0")
		if len(files) < 20 {
			t.Errorf("%d files of markupsafe", len(files))
		}
		packages := []map[string]any{pkg("pypi", "markupsafe", "1.1.0"), pkg("pypi", "docopt", "0.6.2")}
		only := simpleFiles(t, "docopt", "0.6.2")
		only[0].ref = "pypi:docopt==0.6.2" // as source 000 writes it, where a release has one file
		files = append(files, only...)
		for _, id := range []string{"itoa@1.0.0", "cfg-if@1.0.0", "scopeguard@1.2.0"} {
			name, version, _ := strings.Cut(id, "@")
			packages = append(packages, pkg("cargo", name, version))
			files = append(files, crateFile(t, name, version))
		}
		image := pushIndex(t, plain, "acme/notes", "1.0.0", owner)
		packages = append(packages,
			map[string]any{"registryType": "oci", "identifier": plain.Host + "/acme/notes:1.0.0", "transport": stdio})
		files = append(files, image)
		author.publish(t, named, owner, packages, files)
	})
	t.Run("private image", func(t *testing.T) {
		pushImage(t, private, "acme/secret", "1.0.0", owner)
		packages := []map[string]any{
			{"registryType": "oci", "identifier": private.Host + "/acme/secret:1.0.0", "transport": stdio}}
		author.publish(t, named, "com.example/secret", packages, nil, refusedAs("ownership")) // it names another server
		image := pushImage(t, private, "acme/secret", "1.0.1", "com.example/secret")
		packages[0]["identifier"] = private.Host + "/acme/secret:1.0.1"
		author.publish(t, named, "com.example/secret", packages, []file{image})
		// Who is not mapped to the host learns nothing of what is there.
		author.publish(t, named, "org.example/secret", packages, nil, refusedAs("401"))
		// Nor can the registry check it that has no credentials at all.
		author.publish(t, public, "com.example/secret", packages, nil, refusedAs("not a public address"))
	})
	t.Run("short form", func(t *testing.T) {
		// A release of one file may be named without it; one of several may not.
		docopt := simpleFiles(t, "docopt", "0.6.2")
		doc := described("com.example/short", []map[string]any{pkg("pypi", "docopt", "0.6.2")})
		doc["file_hashes"] = map[string]string{"pypi:docopt==0.6.2": docopt[0].digest}
		out, code := author.run(t, doc, "verify")
		if code != 0 || !strings.Contains(out, "match") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		doc = described("com.example/short", []map[string]any{pkg("pypi", "markupsafe", "1.1.0")})
		doc["file_hashes"] = map[string]string{"pypi:markupsafe==1.1.0": docopt[0].digest}
		out, code = author.run(t, doc, "verify")
		if code != 1 || !strings.Contains(out, "pypi:markupsafe==1.1.0: sha256 cannot be verified: ambiguous") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}

// owner is the server that packages of the relay and images belong to.
const owner = "com.example/packages"

var stdio = map[string]any{"type": "stdio"}

func pkg(kind, identifier, version string) map[string]any {
	return map[string]any{"registryType": kind, "identifier": identifier, "version": version, "transport": stdio}
}

func described(name string, packages []map[string]any) map[string]any {
	return map[string]any{"$schema": model.CurrentSchemaURL, "name": name, "version": "1.0.0", "description": "a test",
		"packages": packages}
}

// file is what this test itself found a file to be.
type file struct {
	ref    string
	digest string // sha256:…
	size   int64
	url    string
}

// fetched downloads a file and hashes it.
func fetched(t *testing.T, client *http.Client, req *http.Request, ref string) file {
	t.Helper()
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", ref, answer.StatusCode, err)
	}
	return file{ref, "sha256:" + hex.EncodeToString(hash.Sum(nil)), n, req.URL.String()}
}

var direct = &http.Client{Timeout: hang.Long}

func request(t *testing.T, address string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "hallmark tests")
	return req
}

// metadata fetches a document of a public registry.
func metadata(t *testing.T, address string) []byte {
	t.Helper()
	req := request(t, address)
	req.Header.Set("Accept", "application/json, text/html;q=0.5")
	answer, err := direct.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, answer.StatusCode, err)
	}
	return body
}

// npmFiles is a version's tarball, and the server that it names.
func npmFiles(t *testing.T, id string) (server string, files []file) {
	t.Helper()
	at := strings.LastIndexByte(id, '@')
	var v struct {
		MCPName string
		Dist    struct{ Tarball string }
	}
	world.Decode(t, metadata(t, model.RegistryURLNPM+"/"+url.PathEscape(id[:at])+"/"+id[at+1:]), &v)
	return v.MCPName, []file{fetched(t, direct, request(t, v.Dist.Tarball), "npm:"+id)}
}

var mcpName = regexp.MustCompile(`mcp-name: *([a-zA-Z0-9.\-]+/[a-zA-Z0-9._\-]+)`)

// pypiFiles are the files of a project's newest release, and the server that it names.
func pypiFiles(t *testing.T, project string) (server, version string, files []file) {
	t.Helper()
	var v struct {
		Info struct{ Version, Description string }
	}
	world.Decode(t, metadata(t, model.RegistryURLPyPI+"/pypi/"+project+"/json"), &v)
	m := mcpName.FindStringSubmatch(v.Info.Description)
	if m == nil {
		t.Fatalf("%s names no server", project)
	}
	return m[1], v.Info.Version, simpleFiles(t, project, v.Info.Version)
}

var link = regexp.MustCompile(`<a[^>]* href="([^"#]+)[^"]*"`)

// simpleFiles are the files of a release by the project's page.
func simpleFiles(t *testing.T, project, version string) (files []file) {
	t.Helper()
	page := model.RegistryURLPyPI + "/simple/" + project + "/"
	req := request(t, page)
	req.Header.Set("Accept", "text/html")
	for _, m := range link.FindAllStringSubmatch(string(metadata(t, page)), -1) {
		at, err := req.URL.Parse(html.UnescapeString(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(at.Path)
		if rest, ok := strings.CutPrefix(strings.ToLower(name),
			strings.ReplaceAll(project, "-", "_")+"-"+version); ok && (rest[0] == '-' || rest == ".tar.gz") {
			files = append(files, fetched(t, direct, request(t, at.String()), "pypi:"+project+"=="+version+"/"+name))
		}
	}
	if len(files) == 0 {
		t.Fatalf("the page of %s has no files of %s", project, version)
	}
	return files
}

// crates is the index of crates.
func crates() string {
	scheme, host, _ := strings.Cut(model.RegistryURLCrates, "://")
	return scheme + "://index." + host
}

func crateFile(t *testing.T, name, version string) file {
	t.Helper()
	var v struct{ DL string }
	world.Decode(t, metadata(t, crates()+"/config.json"), &v)
	at := v.DL + "/" + name + "/" + version + "/download"
	if strings.Contains(v.DL, "{crate}") {
		at = strings.NewReplacer("{crate}", name, "{version}", version).Replace(v.DL)
	}
	return fetched(t, direct, request(t, at), "cargo:"+name+"@"+version)
}

// newRelay hands on what the public registries say of packages, and answers for itself
// which server they belong to. It returns its URL.
func newRelay(t *testing.T, w *world.World) string {
	base := "https://localhost:" + w.Port
	w.Host("localhost", func(out http.ResponseWriter, r *http.Request) {
		pass := func(address string, change func([]byte) []byte) {
			req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, address, nil)
			if err != nil {
				http.Error(out, err.Error(), http.StatusInternalServerError)
				return
			}
			req.Header.Set("Accept", "text/html, application/json;q=0.5")
			answer, err := direct.Do(req)
			if err != nil {
				http.Error(out, err.Error(), http.StatusBadGateway)
				return
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				http.Error(out, err.Error(), http.StatusBadGateway)
				return
			}
			out.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
			out.WriteHeader(answer.StatusCode)
			out.Write(change(body))
		}
		same := func(b []byte) []byte { return b }
		switch p := r.URL.Path; {
		case strings.HasPrefix(p, "/simple/"):
			pass(model.RegistryURLPyPI+p, same)
		case p == "/pypi/markupsafe/1.1.0/json" || p == "/pypi/docopt/0.6.2/json":
			http.NotFound(out, r) // then the simple page tells the files
		case p == "/pypi/markupsafe/json":
			fmt.Fprintf(out, `{"info":{"name":"MarkupSafe","version":"1.1.0","description":"mcp-name: %s"}}`, owner)
		case p == "/pypi/docopt/json":
			fmt.Fprintf(out, `{"info":{"name":"docopt","version":"0.6.2","description":"mcp-name: %s"}}`, owner)
		case p == "/crates/config.json":
			pass(crates()+"/config.json", func(b []byte) []byte {
				var c map[string]any
				if json.Unmarshal(b, &c) != nil {
					return b
				}
				c["api"] = base
				b, _ = json.Marshal(c)
				return b
			})
		case strings.HasPrefix(p, "/crates/"):
			pass(crates()+strings.TrimPrefix(p, "/crates"), same)
		case strings.HasPrefix(p, "/api/v1/crates/"):
			fmt.Fprintf(out, `{"url":%q}`, base+"/readme.html")
		case p == "/readme.html":
			fmt.Fprintf(out, "<p>mcp-name: %s</p>", owner)
		default:
			http.NotFound(out, r)
		}
	})
	return base
}

// systemRoots are the system's authorities and those of a file.
func systemRoots(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	pool, err := x509.SystemCertPool()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("no authority: %v", err)
	}
	return pool
}

// serveRegistry runs a registry in this process until the test ends, and returns its URL.
func serveRegistry(t *testing.T, config fetch.Config, allow ...string) string {
	t.Helper()
	return serveWith(t, operate.ServeOptions{Fetch: config, AllowHosts: allow})
}

// serveWith does the same with options that say more.
func serveWith(t *testing.T, o operate.ServeOptions) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	listening, done := make(chan net.Addr, 1), make(chan error, 1)
	o.Addr, o.Data, o.Fetch.Dir = "127.0.0.1:0", t.TempDir(), t.TempDir()
	o.AllowAnonymous, o.Validation, o.Version = true, registry.Enforce, "test"
	o.Login = operate.LoginMethods{Offered: []registry.LoginMethod{registry.MethodNone}}
	o.Logger, o.Listening = slog.New(slog.DiscardHandler), func(a net.Addr) { listening <- a }
	go func() { done <- operate.Serve(ctx, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-listening:
		return "http://" + a.String()
	case err := <-done:
		done <- nil
		t.Fatal(err)
	case <-time.After(hang.Long):
		t.Fatal("the registry does not listen")
	}
	return ""
}

// author is somebody who publishes with the program, and has the configuration of
// whoever runs the test.
type author struct {
	bin string
	env []string
}

func (a *author) run(t *testing.T, doc map[string]any, args ...string) (output string, code int) {
	t.Helper()
	dir := t.TempDir()
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), a.bin, args...)
	c.Dir, c.Env = dir, a.env
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	clear(doc)
	if text, err = os.ReadFile(filepath.Join(dir, "server.json")); err != nil {
		t.Fatal(err)
	}
	world.Decode(t, text, &doc)
	return string(out), c.ProcessState.ExitCode()
}

// refusedAs is the text that a refusal must have.
type refusedAs string

// publish takes packages through hash-gen, publish and the registry's record. Without
// refusals everything must be as files says.
func (a *author) publish(t *testing.T, registry, name string, packages []map[string]any, files []file,
	refused ...refusedAs) {
	t.Helper()
	doc := described(name, packages)
	if out, code := a.run(t, doc, "hash-gen", "--write"); code != 0 {
		t.Fatalf("hash-gen: exit code %d\n%s", code, out)
	}
	hashes, _ := doc["file_hashes"].(map[string]any)
	out, code := a.run(t, doc, "publish", "--no-hash", "--registry", registry)
	if len(refused) > 0 {
		if code == 0 || !strings.Contains(out, string(refused[0])) {
			t.Errorf("exit code %d, want a refusal for %q\n%s", code, refused[0], out)
		}
		return
	}
	if code != 0 {
		t.Fatalf("publish: exit code %d\n%s", code, out)
	}
	status, body := world.Get(t, registry+"/v0/servers/"+url.PathEscape(name)+"/versions/1.0.0")
	var record struct {
		Server struct {
			FileHashes map[string]string `json:"file_hashes"`
		}
		Meta map[string]struct {
			VerifiedAt string
			Evidence   []struct {
				Subject, Scheme, Authority, Outcome, Actual, From string
				Size                                              int64
			}
		} `json:"_meta"`
	}
	if world.Decode(t, body, &record); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	found := record.Meta["hallmark/integrity"]
	if len(hashes) != len(files) || len(record.Server.FileHashes) != len(files) || found.VerifiedAt == "" {
		t.Errorf("%d hashes of hash-gen, %d in the record, verified at %q; want %d", len(hashes),
			len(record.Server.FileHashes), found.VerifiedAt, len(files))
	}
	for _, f := range files {
		if hashes[f.ref] != f.digest || record.Server.FileHashes[f.ref] != f.digest {
			t.Errorf("%s is %s; hash-gen says %v, the record %s", f.ref, f.digest, hashes[f.ref],
				record.Server.FileHashes[f.ref])
		}
		var publisher, own int
		for _, e := range found.Evidence {
			switch {
			case e.Subject != f.ref || e.Scheme == "ownership":
			case e.Outcome == "match" && e.Authority == "publisher" && e.Actual == f.digest && e.Size == f.size &&
				e.From != "":
				publisher++
			case e.Outcome == "match" && e.Authority == "registry":
				own++
			case e.Outcome == "absent" && e.Authority == "registry" && strings.HasPrefix(f.ref, "oci:"):
				own++ // an image registry claims nothing of its own
			default:
				t.Errorf("evidence %+v", e)
			}
		}
		if publisher != 1 || own == 0 {
			t.Errorf("%s: %d matches of the publisher's claim, %d of its own registry's", f.ref, publisher, own)
		}
	}
}

// newAuthor lets the program trust the world's authority besides the system's, and gives
// it docker's configuration with the credentials of an image registry.
func newAuthor(t *testing.T, bin string, w *world.World, private *imageRegistry) *author {
	t.Helper()
	dir := t.TempDir()
	bundle, err := os.ReadFile(w.CA)
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{os.Getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"} {
		if text, err := os.ReadFile(system); err == nil {
			bundle = append(append(text, '\n'), bundle...)
			break
		}
	}
	ca := filepath.Join(dir, "ca.pem")
	docker := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, private.Host, imageAuth)
	for name, text := range map[string]string{ca: string(bundle), filepath.Join(dir, "config.json"): docker} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &author{bin,
		append(os.Environ(), "SSL_CERT_FILE="+ca, "PIP_CERT=", "DOCKER_CONFIG="+dir,
			"HALLMARK_HOME="+filepath.Join(dir, "home"),
			"HALLMARK_REGISTRY=", "HALLMARK_TOKEN=")}
}
