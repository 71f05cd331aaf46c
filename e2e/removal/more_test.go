//go:build unix

package removal

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	imageregistry "github.com/google/go-containerregistry/pkg/registry"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
)

func init() {
	removalWorlds["witnessed"] = newRemovedWitnessed
	removalWorlds["pip"] = func(t *testing.T) *removalWorld {
		return newRemovedPython(t, func(w *removalWorld) string {
			bin := filepath.Join(w.base(), "bin")
			if err := errors.Join(os.Mkdir(bin, 0o700),
				os.Symlink(programBehind(t, "python3"), filepath.Join(bin, "python3"))); err != nil {
				t.Fatal(err)
			}
			return bin // where there is no uv
		})
	}
	removalWorlds["uv"] = func(t *testing.T) *removalWorld {
		return newRemovedPython(t, func(w *removalWorld) string {
			return filepath.Dir(programBehind(t, "python3")) + string(filepath.ListSeparator) + w.recalling("uv")
		})
	}
	removalWorlds["golang"] = newRemovedModules
	removalWorlds["images"] = newRemovedImages
}

// newRemovedWitnessed has a facet and a server that is packed from source, of a registry whose
// log is cosigned by a witness, lately, as the project demands.
func newRemovedWitnessed(t *testing.T) *removalWorld {
	f := hosttest.NewFacetWorld(t)
	source := hosttest.Packed(t,
		map[string]string{"server.json": `{"name":"tasks","version":"1.0.0","runtime":"node","entry":"main.js"}`,
			"main.js": removedServer})
	if _, err := (&client.Client{Base: f.Registry.URL}).PublishArchive(t.Context(), "artifact", "tasks",
		client.Upload{Body: bytes.NewReader(source), Size: int64(len(source))}); err != nil {
		t.Fatal(err)
	}
	key := hosttest.NewWitnessKey(t)
	cosigner, err := monitor.OpenWitness(
		monitor.WitnessConfig{Dir: t.TempDir(), Key: key, Logs: []string{f.Registry.Key}, Begin: true,
			Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cosigner.Close() })
	note, err := (&client.Client{Base: f.Registry.URL}).Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := httptest.NewRecorder()
	cosigner.ServeHTTP(out,
		httptest.NewRequest(http.MethodPost, "/add-checkpoint",
			bytes.NewReader(ledger.AddCheckpoint{Checkpoint: note}.Marshal())))
	if out.Code != http.StatusOK {
		t.Fatal(out.Code, out.Body)
	}
	note = append(note, out.Body.Bytes()...)
	f.Wire(func(path string, body []byte) []byte {
		if path == "/checkpoint" {
			return note
		}
		return body
	})
	text := strings.Replace(f.Read(project.ConfigFile), "[facets]",
		fmt.Sprintf("witnesses = [%q]\nwitness_quorum = 1\nmax_age = \"24h\"\n[facets]", key.VerifierKey), 1)
	f.Write(project.ConfigFile, text+"[providers.mcp.tasks]\nsource = \"tasks@1.0.0\"\n")
	w := &removalWorld{FacetProject: f.FacetProject}
	path := w.ownNode()
	w.Host.Environ = []string{"PATH=" + path}
	w.Host.Getenv = func(name string) string {
		if name == "PATH" {
			return path
		}
		return ""
	}
	yes := func(*pin.Pinned) (host.Consent, error) { return host.InformedConsent, nil }
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, nil, pin.Options{Confirm: yes}); err != nil {
		t.Fatal(err)
	}
	w.Must(w.Install(facets.Options{Servers: facets.Servers{Pin: pin.Options{Confirm: yes}}}))
	if err := tryRun(w, w.Host, "tasks"); err != nil {
		t.Fatal(err)
	}
	// The rest is as of facets and packages of a log without witnesses.
	w.skip = func(file string) bool {
		return file != project.ConfigFile && !strings.HasSuffix(file, "approvals.json") && file != "state/logs.json"
	}
	return w
}

// newRemovedPython has a server of a package of an index of Python packages, with what it
// depends on, as uv or pip resolves it: whichever is in the PATH that path gives.
func newRemovedPython(t *testing.T, path func(*removalWorld) string) *removalWorld {
	for _, program := range []string{"python3", "uv"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v (e2e/prerequisites.sh installs it)", err)
		}
	}
	index, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(index.Close)
	wheel(t, index, "greet", "", map[string]string{"greet/__init__.py": "word = 'hello'\n"})
	wheel(t, index, "notes", "Requires-Dist: greet\n",
		map[string]string{"notes/__init__.py": pythonServer,
			"notes-1.0.0.dist-info/entry_points.txt": "[console_scripts]\nnotes = notes:main\n"})
	w := &removalWorld{
		FacetProject: hosttest.NewFacetProject(t,
			"[providers.mcp.notes]\ncommand = \"uvx\"\narguments = [\"notes==1.0.0\"]\n")}
	authority, home := filepath.Join(w.base(), "authority.pem"), filepath.Join(w.base(), "home")
	if err := errors.Join(os.WriteFile(authority, index.Authority(), 0o600), os.Mkdir(home, 0o700)); err != nil {
		t.Fatal(err)
	}
	w.environment(
		append(index.Environ(authority), "PATH="+path(w), "HOME="+home, "PIP_CERT="+authority,
			"UV_DEFAULT_INDEX="+index.URL+"/simple/", "PIP_INDEX_URL="+index.URL+"/simple/"), nil)
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, nil,
		pin.Options{Confirm: func(*pin.Pinned) (host.Consent, error) { return host.InformedConsent, nil }}); err !=
		nil {
		t.Fatal(err)
	}
	if err := tryRun(w, w.Host, "notes"); err != nil {
		t.Fatal(err)
	}
	w.skip = func(file string) bool { return strings.HasPrefix(file, "cache/") } // as of packages of npm
	w.commands = slices.DeleteFunc(removalCommands(), func(c removalCommand) bool {
		return c.cold && !strings.Contains(c.name, "check") || c.name == "pin --yes" || c.name == "upgrade --yes"
	})
	return w
}

// pythonServer is the text of an MCP server.
const pythonServer = `import json, sys, greet
def main():
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m: continue
        r = {"jsonrpc": "2.0", "id": m["id"]}
        if m["method"] == "initialize":
            r["result"] = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1.0.0"}}
        elif m["method"] == "tools/list":
            r["result"] = {"tools": [{"name": "greet", "description": "Greets.", "inputSchema": {"type": "object"}}]}
        else:
            r["error"] = {"code": -32601, "message": "no such method"}
        print(json.dumps(r), flush=True)
`

// wheel puts version 1.0.0 of a Python package into an index.
func wheel(t *testing.T, index *npmtest.Server, name, metadata string, files map[string]string) {
	t.Helper()
	list := []string{name + "-1.0.0.dist-info/METADATA",
		"Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0.0\n" + metadata}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		list = append(list, path, files[path])
	}
	data := forge.Wheel(name+"-1.0.0", list...)
	file, sum := name+"-1.0.0-py3-none-any.whl", digest.FromBytes(data).Hex()
	index.File("/files/"+file, data)
	index.File("/pypi/"+name+"/1.0.0/json",
		fmt.Appendf(nil,
			`{"info":{"name":%q,"version":"1.0.0"},"urls":[{"filename":%q,"url":"%s/files/%s",`+
				`"digests":{"sha256":%q}}]}`, name, file, index.URL, file, sum))
	index.Break("/simple/"+name+"/", npmtest.Always, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><html><body><a href="/files/%s#sha256=%s">%s</a></body></html>`, file, sum, file)
	})
}

// environment is what the host's programs and requests get.
func (w *removalWorld) environment(environ []string, roots *x509.CertPool) {
	w.T.Helper()
	w.Host.Environ = environ
	w.Host.Getenv = func(name string) string {
		for _, kv := range environ {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
	config := fetch.UserConfig(w.Host.Getenv, w.Dir, w.Host.Getenv("HOME"))
	config.Dir = w.T.TempDir()
	config.Limits.Retries, config.RootCAs, config.AnyHost = -1, roots, true
	w.Host.Fetch = fetch.New(config)
	w.T.Cleanup(w.Host.Fetch.CloseIdleConnections)
}

// newRemovedModules has a server that is built from Go modules, as it was locked elsewhere:
// nothing is built here.
func newRemovedModules(t *testing.T) *removalWorld {
	w := newServerWorld(t,
		"[providers.mcp.hello]\ncommand = \"go\"\narguments = [\"run\", \"example.com/hello@v1.0.0\"]\n")
	ref, err := artifact.Parse("go:example.com/hello@v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	const sum = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	closure, err := project.ParseModules(ref, "example.com/hello",
		[]byte("module hallmark-closure\n\ngo 1.26\n\nrequire (\n\texample.com/hello v1.0.0\n"+
			"\texample.com/word v1.0.0\n)\n"),
		[]byte("example.com/hello v1.0.0 "+sum+"\nexample.com/hello v1.0.0/go.mod "+sum+"\nexample.com/word v1.0.0 "+
			sum+"\nexample.com/word v1.0.0/go.mod "+sum+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := closure.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.lockUnseen("hello", project.ServerLock{
		Source: "go", Ref: ref.String(),
		Artifacts: map[string]digest.Digest{ref.String(): digest.FromBytes([]byte("hello")),
			"go:example.com/word@v1.0.0": digest.FromBytes([]byte("word"))},
		Entry: "example.com/hello",
		Closure: &project.ClosureLock{Engine: project.EngineGo, Lock: digest.FromBytes(stored),
			Trees: map[string]digest.Digest{"linux/amd64+go1.26.2": digest.FromBytes([]byte("tree"))}},
	}, nil)
	w.FacetProject.Write(project.ClosureSubject("hello"), string(stored))
	w.skip = func(file string) bool {
		return file == "shown.json" || file == "server" || strings.HasPrefix(file, "cache/")
	}
	const noGo = "there is no go, and nothing to build"
	w.without = map[string]string{"run hello": noGo, "pin --yes hello": noGo, "upgrade --yes": noGo,
		"review hello": noGo, "outdated": noGo}
	return w
}

// newRemovedImages has an image for several platforms of a registry, by its tag.
func newRemovedImages(t *testing.T) *removalWorld {
	images := imageregistry.New(imageregistry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewTLSServer(images)
	t.Cleanup(srv.Close)
	put := func(path, kind, body string) {
		req := httptest.NewRequest(http.MethodPut, path, strings.NewReader(body))
		if strings.Contains(path, "/blobs/") {
			req = httptest.NewRequest(http.MethodPost,
				"/v2/acme/notes/blobs/uploads/?digest="+digest.FromBytes([]byte(body)).String(),
				strings.NewReader(body))
		}
		req.Header.Set("Content-Type", kind)
		out := httptest.NewRecorder()
		if images.ServeHTTP(out, req); out.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, out.Code, out.Body)
		}
	}
	const image = "application/vnd.oci.image.manifest.v1+json"
	platforms, descriptors := map[string]digest.Digest{}, []string{}
	for _, arch := range []string{"amd64", "arm64"} {
		config := fmt.Sprintf(`{"os":"linux","architecture":%q}`, arch)
		put("/v2/acme/notes/blobs/x", "", config)
		manifest := fmt.Sprintf(
			`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.image.config.v1+json",`+
				`"digest":%q,"size":%d},"layers":[]}`, image, digest.FromBytes([]byte(config)), len(config))
		put("/v2/acme/notes/manifests/"+arch, image, manifest)
		platforms["linux/"+arch] = digest.FromBytes([]byte(manifest))
		descriptors = append(descriptors,
			fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"platform":{"os":"linux","architecture":%q}}`, image,
				platforms["linux/"+arch], len(manifest), arch))
	}
	const indexType = "application/vnd.oci.image.index.v1+json"
	index := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"manifests":[%s]}`, indexType,
		strings.Join(descriptors, ","))
	put("/v2/acme/notes/manifests/v2", indexType, index)
	name, sum := strings.TrimPrefix(srv.URL, "https://")+"/acme/notes", digest.FromBytes([]byte(index))

	w := newServerWorld(t,
		fmt.Sprintf("[providers.mcp.notes]\ncommand = \"docker\"\n"+
			"arguments = [\"run\", \"-i\", \"--rm\", \"%s:v2\", \"serve\"]\n", name))
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	w.environment([]string{"PATH=" + filepath.Join(w.base(), "bin")}, roots)
	puppet, err := puppets()
	if err != nil {
		t.Fatal(err)
	}
	ref := "oci:" + name + "@" + sum.String()
	w.lockUnseen("notes", project.ServerLock{
		Source: "image", Ref: ref, Image: name + ":v2", Artifacts: map[string]digest.Digest{ref: sum}, Digest: sum,
		Platforms: platforms, Arguments: []string{"serve"},
	}, &project.Runtime{Path: filepath.Join(w.base(), "bin", "docker"), Digest: digest.FromBytes(puppet)})
	w.skip = func(file string) bool { return file == "shown.json" || file == "server" }
	w.without = map[string]string{"pin --yes notes": "there is no engine that starts it"}
	return w
}

// Who says yes beforehand did not agree that fewer witnesses, or older cosignatures, are
// demanded of the log than when the server was accepted; who is shown it may.
func TestWitnessesWeakened(t *testing.T) {
	w := newRemovedWitnessed(t)
	text := w.Read(project.ConfigFile)
	standing, given := func(*pin.Pinned) (host.Consent, error) {
		return host.StandingConsent, nil
	}, func(p *pin.Pinned) (host.Consent, error) {
		if len(p.Weaker) == 0 {
			t.Error("the person is not shown what gets weaker")
		}
		return host.InformedConsent, nil
	}
	yes := pin.Options{Confirm: standing}
	for name, weaker := range map[string]string{
		"witness_quorum": strings.Replace(text, "witness_quorum = 1\n", "witness_quorum = 0\n", 1),
		"no max_age":     strings.Replace(text, "max_age = \"24h\"\n", "", 1),
		"max_age":        strings.Replace(text, "\"24h\"", "\"25h\"", 1),
		// who is new may sign alone
		"witnesses": strings.Replace(text, "witnesses = [",
			fmt.Sprintf("witnesses = [%q, ", hosttest.NewWitnessKeyOf(t, "another.example.org").VerifierKey), 1),
	} {
		if weaker == text {
			t.Fatal(text)
		}
		w.Write(project.ConfigFile, weaker)
		_, err := pin.Pin(t.Context(), w.Host, w.Dir, []string{"tasks"}, yes)
		if evidence.ClassOf(err) != evidence.Refused ||
			!strings.Contains(err.Error(), strings.TrimPrefix(name, "no ")) {
			t.Errorf("%s: pin --yes: %v", name, err)
		}
		if _, err := facets.Upgrade(t.Context(), w.Host, w.Dir, nil,
			facets.UpgradeOptions{Pin: yes, Facets: facets.Options{Confirm: hosttest.ConsentToChanges,
				Servers: facets.Servers{Pin: yes}}}); evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: upgrade --yes: %v", name, err)
		}
		if _, err := facets.Install(t.Context(), w.Host, w.Dir,
			facets.Options{Servers: facets.Servers{Pin: yes}}); evidence.ClassOf(err) != evidence.Refused {
			t.Errorf("%s: install --yes: %v", name, err)
		}
	}
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, []string{"tasks"}, pin.Options{Confirm: given}); err != nil {
		t.Errorf("consent to what is shown: %v", err)
	}
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, []string{"tasks"}, yes); err != nil {
		t.Errorf("what was agreed to is what is demanded now: %v", err)
	}
}
