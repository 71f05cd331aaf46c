package fetch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	ociname "github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

const (
	ociLabel = "io.modelcontextprotocol.server.name"
	ociImage = "application/vnd.oci.image.manifest.v1+json"
	ociIndex = "application/vnd.oci.image.index.v1+json"
)

// imageServer is a real image registry, with what is pushed to it.
type imageServer struct {
	handler http.Handler
	mu      sync.Mutex
	log     []string // path and Authorization
}

func newImages() *imageServer {
	return &imageServer{handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
}

func (r *imageServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.log = append(r.log, req.URL.Path+" <- "+req.Header.Get("Authorization"))
	r.mu.Unlock()
	r.handler.ServeHTTP(w, req)
}

func (r *imageServer) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log = nil
	return log
}

func (r *imageServer) put(t *testing.T, path, kind, body string) {
	t.Helper()
	method := http.MethodPut
	if strings.Contains(path, "/blobs/") {
		path, method = strings.Split(path, "/blobs/")[0]+"/blobs/uploads/?digest=sha256:"+sha(body), http.MethodPost
	}
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	if w.Code != http.StatusCreated {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
}

// image pushes an image whose configuration has the label, and returns its manifest.
func (r *imageServer) image(t *testing.T, tag, name string) string {
	config := fmt.Sprintf(`{"os":"linux","architecture":"amd64","config":{"Labels":{"%s":"%s"}}}`, ociLabel, name)
	r.put(t, "/v2/acme/notes/blobs/x", "", config)
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"%s",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%d},"layers":[]}`,
		ociImage, sha(config), len(config))
	r.put(t, "/v2/acme/notes/manifests/"+tag, ociImage, manifest)
	return manifest
}

func descriptor(manifest, platform string) string {
	return fmt.Sprintf(`{"mediaType":"%s","digest":"sha256:%s","size":%d,"platform":{%s}}`, ociImage, sha(manifest),
		len(manifest), platform)
}

func (r *imageServer) index(t *testing.T, tag string, descriptors ...string) string {
	index := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"%s","manifests":[%s]}`, ociIndex,
		strings.Join(descriptors, ","))
	r.put(t, "/v2/acme/notes/manifests/"+tag, ociIndex, index)
	return index
}

func TestOCI(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	r := newImages()
	host := strings.TrimPrefix(serve(t, r.ServeHTTP), "https://")
	one := r.image(t, "1.0.0", "io.example/notes")
	arm := r.image(t, "arm", "io.example/arm")
	attestation := r.image(t, "attestation", "io.example/attestation")
	const unknown, amd, arm64 = `"os":"unknown","architecture":"unknown"`, `"os":"linux","architecture":"amd64"`,
		`"os":"linux","architecture":"arm64"`
	index := r.index(t, "multi", descriptor(attestation, unknown), descriptor(arm, arm64), descriptor(one, amd))
	r.index(t, "noamd", descriptor(attestation, unknown), descriptor(arm, arm64))
	r.index(t, "noimage", descriptor(attestation, unknown))
	lost := r.image(t, "gone", "io.example/lost")
	r.index(t, "lost", descriptor(lost, amd))
	for _, m := range []string{"gone", "sha256:" + sha(lost)} {
		r.handler.ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequest(http.MethodDelete, "/v2/acme/notes/manifests/"+m, nil))
	}
	r.index(t, "size", strings.Replace(descriptor(one, amd), fmt.Sprint(len(one)), fmt.Sprint(len(one)+1), 1))
	r.put(t, "/v2/acme/notes/manifests/odd", ociImage, `{"schemaVersion":2}`)
	c := newClient(t, config)
	image := "oci:" + host + "/acme/notes"

	for ref, want := range map[string]struct{ body, outcomes string }{
		":1.0.0":                        {one, "[match]"},
		":multi":                        {index, "[match]"},
		"@sha256:" + sha(one):           {one, "[match match]"},
		":multi@sha256:" + sha(one):     {one, "[match match]"},
		":notatag@sha256:" + sha(index): {index, "[match match]"},
	} {
		d, err := get(t, c, image+ref)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(d.Observed.From, "https://"+host+"/v2/acme/notes/manifests/") {
			t.Errorf("from %s", d.Observed.From)
		}
		if got := fmt.Sprint(outcomes(t, d, nil)); got != want.outcomes {
			t.Errorf("%s: %s", ref, got)
		}
		d, err = get(t, c, image+ref)
		wantBody(t, d, err, want.body)
	}
	_, err := get(t, c, image+":2.0.0")
	wantError(t, err, evidence.NotFound, "404", "/manifests/2.0.0")
	_, err = get(t, c, image+"@sha256:"+sha("lost"))
	wantError(t, err, evidence.NotFound, "404")

	// The tag moves between two fetches.
	d1, err := get(t, c, image+":1.0.0")
	outcomes(t, d1, err)
	moved := r.image(t, "1.0.0", "io.example/moved")
	d2, err := get(t, c, image+":1.0.0")
	wantBody(t, d2, err, moved)
	if d1.Observed.SHA256().String() == d2.Observed.SHA256().String() {
		t.Error("one digest for two manifests")
	}

	label := func(ref, name string) (string, error) {
		return c.OCILabel(context.Background(), mustRef(t, image+ref), name)
	}
	for ref, want := range map[string]string{
		"@sha256:" + sha(one): "io.example/notes",
		":1.0.0":              "io.example/moved",
		":multi":              "io.example/notes",
		":noamd":              "io.example/arm",
	} {
		if got, err := label(ref, ociLabel); err != nil || got != want {
			t.Errorf("%s: %q, %v", ref, got, err)
		}
	}
	if got, err := label(":1.0.0", "other"); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	for ref, want := range map[string]struct {
		cause evidence.Cause
		part  string
	}{
		":noimage": {evidence.Unsupported, "no image"},
		":lost":    {evidence.NotFound, "404"},
		":size":    {evidence.Unreachable, "something else"},
		":odd":     {evidence.Unsupported, "not that of an image"},
		":none":    {evidence.NotFound, "404"},
	} {
		_, err := label(ref, ociLabel)
		wantError(t, err, want.cause, want.part)
	}
}

// TestOCIHostile: other bytes than were asked for are an error.
func TestOCIHostile(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = 1
	r := newImages()
	one := r.image(t, "1", "io.example/notes")
	var mode string
	host := strings.TrimPrefix(serve(t, func(w http.ResponseWriter, req *http.Request) {
		if !strings.Contains(req.URL.Path, "/manifests/") && !strings.Contains(req.URL.Path, "/blobs/") {
			switch mode {
			case "noregistry":
				w.WriteHeader(404)
				return
			case "busy":
				w.WriteHeader(503)
				return
			case "negotiate":
				w.Header().Set("WWW-Authenticate", "Negotiate")
				w.WriteHeader(401)
				return
			case "flood":
				for range 200 {
					io.WriteString(w, strings.Repeat("x", 64<<10))
				}
				return
			case "plain":
				http.Redirect(w, req, "http://oci.example.com/v2/", http.StatusFound)
				return
			case "realm":
				w.Header().Set("WWW-Authenticate", `Bearer realm="http://169.254.169.254/x",service="s"`)
				w.WriteHeader(401)
				return
			case "norealm":
				w.Header().Set("WWW-Authenticate", `Bearer service="s"`)
				w.WriteHeader(401)
				return
			}
			r.ServeHTTP(w, req)
			return
		}
		switch mode {
		case "replaced":
			io.WriteString(w, `{"schemaVersion":2}`)
		case "header":
			w.Header().Set("Docker-Content-Digest", "sha256:"+sha("other"))
			io.WriteString(w, one)
		case "weird":
			w.Header().Set("Docker-Content-Digest", "blake3:00")
			io.WriteString(w, one)
		case "sha512":
			w.Header().Set("Docker-Content-Digest", "sha512:"+strings.Repeat("0", 128))
			io.WriteString(w, one)
		case "silent":
			io.WriteString(w, one)
		case "gzip":
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, one)
		case "large":
			io.WriteString(w, strings.Repeat("x", maxManifest+1))
		default:
			r.ServeHTTP(w, req)
		}
	}), "https://")
	c := newClient(t, config)
	tag, pinned := "oci:"+host+"/acme/notes:1", "oci:"+host+"/acme/notes@sha256:"+sha(one)
	for _, tt := range []struct{ mode, ref, outcomes string }{
		{"replaced", tag, "[]"},
		{"replaced", pinned, "[mismatch]"},
		{"header", tag, "[mismatch]"},
		{"header", pinned, "[match mismatch]"},
		{"weird", tag, "[unverifiable]"},
		{"sha512", tag, "[mismatch]"},
		{"silent", tag, "[]"},
		{"silent", pinned, "[match]"},
		{"flood", pinned, "[match match]"},
	} {
		mode = tt.mode
		d, err := get(t, c, tt.ref)
		if got := fmt.Sprint(outcomes(t, d, err)); got != tt.outcomes {
			t.Errorf("%s %s: %s", tt.mode, tt.ref, got)
		}
	}
	mode = "replaced"
	_, err := c.OCILabel(context.Background(), mustRef(t, pinned), ociLabel)
	wantError(t, err, evidence.Unreachable, "something else")
	for _, tt := range []struct {
		mode  string
		cause evidence.Cause
		part  string
	}{
		{"gzip", evidence.Unsupported, `"gzip"`},
		{"large", evidence.TooLarge, "limit of 4,194,304"},
		{"noregistry", evidence.Unreachable, "not an image registry"},
		{"busy", evidence.Unreachable, "503"},
		{"negotiate", evidence.Unsupported, `"negotiate"`},
		{"plain", evidence.Unsupported, "plain http"},
		{"realm", evidence.Unreachable, "realm"},
		{"norealm", evidence.Unreachable, "realm"},
	} {
		mode = tt.mode
		_, err := get(t, c, tag)
		wantError(t, err, tt.cause, tt.part)
	}

	mode = ""
	server := ServerConfig()
	server.Dir, server.RootCAs, server.Limits = config.Dir, config.RootCAs, config.Limits
	_, err = get(t, newClient(t, server), tag)
	wantError(t, err, evidence.Unsupported, "is not a public address")
	config.RootCAs = nil
	_, err = get(t, newClient(t, config), tag)
	wantError(t, err, evidence.Unreachable, "certificate")
}

// guarded wants a token of tokens for everything below /v2/.
func guarded(inner http.Handler, challenge func() string, accept string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != accept {
			w.Header().Set("WWW-Authenticate", challenge())
			w.WriteHeader(401)
			return
		}
		inner.ServeHTTP(w, r)
	}
}

type keychain map[string]authn.AuthConfig

func (k keychain) Resolve(r authn.Resource) (authn.Authenticator, error) {
	if a, ok := k[r.RegistryStr()]; ok {
		return authn.FromConfig(a), nil
	}
	return authn.Anonymous, nil
}

func TestOCILogin(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	r := newImages()
	one := r.image(t, "1", "io.example/notes")
	var asked []string
	tokens := serve(t, func(w http.ResponseWriter, req *http.Request) {
		req.ParseForm()
		asked = append(asked,
			fmt.Sprintf("%s %s %s", req.Form.Get("service"), req.Form.Get("scope"), req.Header.Get("Authorization")))
		if req.URL.Path == "/refused" {
			w.WriteHeader(401)
			return
		}
		if req.URL.Path == "/none" {
			io.WriteString(w, `{"refresh_token":"secret"}`)
			return
		}
		io.WriteString(w, `{"token":"T"}`)
	})
	tokens = strings.Replace(tokens, "127.0.0.1", "localhost", 1)
	path := "/token"
	blobs := newSite(t, nil)
	bearerHost := strings.TrimPrefix(serve(t, guarded(r, func() string {
		return `Bearer realm="` + tokens + path + `",service="images"`
	}, "Bearer T")), "https://")
	basicHost := strings.TrimPrefix(serve(t,
		guarded(r, func() string { return `Basic realm="x"` }, "Basic dTpw")), "https://")
	moving := strings.TrimPrefix(serve(t, guarded(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/manifests/") {
			http.Redirect(w, req, blobs.base+"/blob", http.StatusTemporaryRedirect)
		}
	}), func() string { return `Basic realm="x"` }, "Basic dTpw")), "https://")
	blobs.pages = map[string]string{"/blob": one}

	fetch := func(config Config, host string) error {
		t.Helper()
		d, err := get(t, newClient(t, config), "oci:"+host+"/acme/notes:1")
		if err == nil {
			wantBody(t, d, err, one)
		}
		return err
	}
	// Anonymously, a token for pulling is to be had all the same.
	if err := fetch(config, bearerHost); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(asked) != "[images repository:acme/notes:pull ]" {
		t.Errorf("%q", asked)
	}
	wantError(t, fetch(config, basicHost), evidence.Unreachable, "401")

	config.OCI.Keychain = keychain{bearerHost: {Username: "u", Password: "p"},
		basicHost: {Username: "u", Password: "p"}, moving: {Auth: "dTpw"}}
	asked = nil
	for _, host := range []string{bearerHost, basicHost, moving} {
		if err := fetch(config, host); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if fmt.Sprint(asked) != "[images repository:acme/notes:pull Basic dTpw]" {
		t.Errorf("%q", asked)
	}
	if log := blobs.requests(); fmt.Sprint(log) != "[/blob]" {
		t.Errorf("after a redirect to another host: %v", log)
	}
	for _, p := range []string{"/refused", "/none"} {
		path = p
		err := fetch(config, bearerHost)
		wantError(t, err, evidence.Unreachable, "image registry")
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
	path = "/token"
	asked = nil
	config.OCI.Keychain = keychain{bearerHost: {RegistryToken: "T"}}
	if err := fetch(config, bearerHost); err != nil || len(asked) != 0 {
		t.Errorf("%v, %v", err, asked)
	}
	config.OCI.Keychain = keychain{bearerHost: {RegistryToken: "T\n"}}
	wantError(t, fetch(config, bearerHost), evidence.Unsupported, "characters that cannot be sent")
}

// TestOCIPlainHTTP: plain http is spoken only if it is allowed, and only on loopback.
func TestOCIPlainHTTP(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	r := newImages()
	one := r.image(t, "1", "io.example/notes")
	server := httptest.NewServer(r)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	_, err := get(t, newClient(t, config), "oci:"+host+"/acme/notes:1")
	wantError(t, err, evidence.Unreachable, "does not speak TLS")
	if log := r.requests(); len(log) != 0 {
		t.Errorf("requests %v", log)
	}
	config.OCI.PlainHTTP = true
	d, err := get(t, newClient(t, config), "oci:"+host+"/acme/notes:1")
	if err == nil && !strings.HasPrefix(d.Observed.From, "http://127.0.0.1") {
		t.Errorf("from %s", d.Observed.From)
	}
	wantBody(t, d, err, one)
	tls := strings.TrimPrefix(serve(t, r.ServeHTTP), "https://")
	d, err = get(t, newClient(t, config), "oci:"+tls+"/acme/notes:1")
	if err == nil && !strings.HasPrefix(d.Observed.From, "https://") {
		t.Errorf("from %s", d.Observed.From)
	}
	wantBody(t, d, err, one)
	// A manifest is not fetched over plain http from another place, be it loopback too.
	moving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/manifests/") {
			http.Redirect(w, req, server.URL+req.URL.Path, http.StatusFound)
		}
	}))
	defer moving.Close()
	r.requests()
	_, err = get(t, newClient(t, config), "oci:"+strings.TrimPrefix(moving.URL, "http://")+"/acme/notes:1")
	wantError(t, err, evidence.Unsupported, "plain http is refused")
	// Nor from another machine, though it be in this network.
	far := config
	far.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, host)
	}
	_, err = get(t, newClient(t, far), "oci:10.0.0.1:5000/acme/notes:1")
	wantError(t, err, evidence.Unreachable, "does not speak TLS")
	if log := r.requests(); len(log) != 0 {
		t.Errorf("requests %v", log)
	}
	// What is not for image registries is not for others.
	_, err = get(t, newClient(t, config), "https://"+host+"/f")
	wantError(t, err, evidence.Unreachable, "does not speak TLS")
}

// TestImagesOfAUserPlainHTTP: what a user starts asks an image registry on loopback over plain http, as
// docker does, and no other.
func TestImagesOfAUserPlainHTTP(t *testing.T) {
	config, err := readUserConfig(environment(nil), "", "")
	if err != nil {
		t.Fatal(err)
	}
	config.Limits.Retries = -1
	config.Agreement.AskHost = func(wire.HostUse) error { return nil }
	r := newImages()
	one := r.image(t, "1", "io.example/notes")
	server := httptest.NewServer(r)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	d, err := get(t, newClient(t, config), "oci:"+host+"/acme/notes:1")
	wantBody(t, d, err, one)
	far := config
	far.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, host)
	}
	_, err = get(t, newClient(t, far), "oci:registry.example.com:5000/acme/notes:1")
	wantError(t, err, evidence.Unreachable, "does not speak TLS")
}

func TestDockerKeychain(t *testing.T) {
	auth := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	one := `{"auths":{"oci.example.com:5000":{"auth":"` + auth("u:p") + `"},"` + authn.DefaultAuthKey + `":{"auth":"` +
		auth("hub:secret") + `"},
		"id.example.com":{"auth":"` + auth("<token>:") + `","identitytoken":"I"},"empty.example.com":{}}}`
	for name, tt := range map[string]struct {
		files, env map[string]string
		repository string
		want       authn.AuthConfig
	}{
		"docker": {map[string]string{"home/.docker/config.json": one}, nil, "oci.example.com:5000/acme/notes",
			authn.AuthConfig{Username: "u", Password: "p"}},
		"other port": {map[string]string{"home/.docker/config.json": one}, nil, "oci.example.com/acme/notes",
			authn.AuthConfig{}},
		"default": {map[string]string{"home/.docker/config.json": one}, nil, ociname.DefaultRegistry + "/acme/notes",
			authn.AuthConfig{Username: "hub", Password: "secret"}},
		"identity": {map[string]string{"home/.docker/config.json": one}, nil, "id.example.com/a",
			authn.AuthConfig{Username: "<token>", IdentityToken: "I"}},
		"empty": {map[string]string{"home/.docker/config.json": one}, nil, "empty.example.com/a", authn.AuthConfig{}},
		"other place": {map[string]string{"home/x/config.json": one, "home/.docker/config.json": "{}"},
			map[string]string{"DOCKER_CONFIG": "HOME/x"}, "oci.example.com:5000/a",
			authn.AuthConfig{Username: "u", Password: "p"}},
		"podman": {map[string]string{"home/.config/containers/auth.json": one}, nil, "oci.example.com:5000/a",
			authn.AuthConfig{Username: "u", Password: "p"}},
		"podman named": {map[string]string{"home/auth": one}, map[string]string{"REGISTRY_AUTH_FILE": "HOME/auth"},
			"oci.example.com:5000/a", authn.AuthConfig{Username: "u", Password: "p"}},
		"nothing": {nil, nil, "oci.example.com:5000/a", authn.AuthConfig{}},
	} {
		config, err := userOf(t, tt.files, tt.env)
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t, config)
		ref := mustRef(t, "oci:"+tt.repository+":1")
		repo, err := parseRepository(ref)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.findOCICredentials(context.Background(), ref, repo)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		clear, err := authn.Authorization(context.Background(), got)
		if err != nil || clear.Username != tt.want.Username || clear.Password != tt.want.Password ||
			clear.IdentityToken != tt.want.IdentityToken {
			t.Errorf("%s: %+v, %v", name, clear, err)
		}
	}
	dir := tree(t, map[string]string{".docker/config.json": `{"auths":{"a":{"auth":"secret"`})
	_, err := dockerAt(dir).Resolve(mustRepository(t, "oci.example.com/a"))
	if err == nil || !strings.Contains(err.Error(), filepath.Join(".docker", "config.json")) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestDockerHelper: a helper program is asked by the name that docker gives the host,
// and one that hangs does not outlast the fetch.
func TestDockerHelper(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper is a shell script")
	}
	config := testConfig(t)
	dir := tree(t, map[string]string{
		".docker/config.json": `{"credsStore":"quick","credHelpers":{"slow.example.com":"slow"}}`,
		"bin/docker-credential-quick": "#!/bin/sh\nread host\ncase $host in https://*) ;; */*) echo 'credentials not " +
			"found in native keychain'; exit 1 ;; esac\nprintf '{\"ServerURL\":\"%s\",\"Username\":\"u\"," +
			"\"Secret\":\"%s\"}' \"$host\" \"$host\"\n",
		"bin/docker-credential-slow": "#!/bin/sh\nexec sleep 600\n",
	})
	for _, helper := range []string{"quick", "slow"} {
		if err := os.Chmod(filepath.Join(dir, "bin", "docker-credential-"+helper), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	config.OCI.Keychain = dockerAt(dir)
	for host, want := range map[string]string{ociname.DefaultRegistry: authn.DefaultAuthKey,
		"oci.example.com": "oci.example.com"} {
		auth, err := config.OCI.Keychain.Resolve(mustRepository(t, host+"/a"))
		if err != nil {
			t.Fatal(err)
		}
		clear, err := authn.Authorization(context.Background(), auth)
		if err != nil || clear.Username != "u" || clear.Password != want {
			t.Errorf("%s: %+v, %v", host, clear, err)
		}
	}
	config.Limits.FileTime = 200 * time.Millisecond
	hang.Ends(t, "a fetch whose helper hangs", func() {
		_, err := get(t, newClient(t, config), "oci:slow.example.com/a:1")
		wantError(t, err, evidence.Unreachable, "not complete after 200ms")
	})
}

// TestDockerHelperBounds: a helper that hangs, floods, opens the terminal or leaves something
// running is ended with all that it started. It gets no variables but those of helpers, and no
// error shows what it prints.
func TestDockerHelperBounds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helpers are shell scripts")
	}
	dir := tree(t, map[string]string{
		".docker/config.json": `{"credHelpers":{"hang.example.com":"hang","flood.example.com":"flood",` +
			`"terminal.example.com":"terminal","environment.example.com":"environment",` +
			`"path.example.com":"../bin/docker-credential-terminal","loud.example.com":"loud",` +
			`"none.example.com":"none"}}`,
		"bin/docker-credential-hang":  "#!/bin/sh\nsleep 600 &\necho $! >$HOME/left\nsleep 600\n",
		"bin/docker-credential-flood": "#!/bin/sh\nyes secret\n",
		"bin/docker-credential-terminal": "#!/bin/sh\nif (: </dev/tty) 2>/dev/null; then u=terminal; else u=none; " +
			"fi\nprintf '{\"Username\":\"%s\",\"Secret\":\"%s\"}' $u $PWD\n",
		"bin/docker-credential-environment": "#!/bin/sh\nprintf '{\"Username\":\"<token>\",\"Secret\":\"%s\"}' " +
			"\"$HELPER_TEST_SECRET$LD_AUDIT-$AWS_PROFILE\"\n",
		"bin/docker-credential-loud": "#!/bin/sh\necho secret\necho secret >&2\nexit 3\n",
	})
	programs, _ := filepath.Glob(filepath.Join(dir, "bin", "*"))
	for _, program := range programs {
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HELPER_TEST_SECRET", "secret")
	t.Setenv("AWS_PROFILE", "mine")
	t.Setenv("HOME", dir)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, host string) (*authn.AuthConfig, error) {
		auth, err := authn.Resolve(ctx, dockerAt(dir), mustRepository(t, host+".example.com/a"))
		if err != nil {
			return nil, err
		}
		return authn.Authorization(ctx, auth)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var left []byte
	go func() {
		defer cancel()
		hang.Until(t, "the helper that hangs begins", func() bool {
			left, _ = os.ReadFile(filepath.Join(dir, "left"))
			return strings.HasSuffix(string(left), "\n")
		})
	}()
	hang.Ends(t, "asking a helper that hangs", func() {
		if got, err := ask(ctx, "hang"); !errors.Is(err, context.Canceled) {
			t.Errorf("hang: %+v, %v", got, err)
		}
	})
	<-ctx.Done()
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(left))); err == nil {
		t.Errorf("hang: process %s is left", left)
	}
	for host, want := range map[string]string{"flood": "printed too much", "path": "not the name",
		"loud": "exit status 3", "none": "not found in PATH"} {
		if got, err := ask(t.Context(), host); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", host, got, err)
		}
	}
	if got, err := ask(t.Context(), "terminal"); err != nil || got.Username != "none" || got.Password == here {
		t.Errorf("terminal: %+v, %v", got, err)
	}
	if got, err := ask(t.Context(), "environment"); err != nil || got.IdentityToken != "-mine" {
		t.Errorf("environment: %+v, %v", got, err)
	}
}

func mustRepository(t *testing.T, name string) authn.Resource {
	t.Helper()
	r, err := parseRepository(mustRef(t, "oci:"+name+":1"))
	if err != nil {
		t.Fatal(err)
	}
	return r.name
}

// dockerAt is the keychain of a user whose home is dir.
func dockerAt(dir string) authn.Keychain {
	user := &userconfig.Reader{Env: func(string) string { return "" }, Project: ".", Home: dir}
	return user.Keychain()
}
