//go:build unix

package removal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/launch"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/pin"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

func init() {
	removalWorlds["servers"] = newRemovedServers
	removalWorlds["drift"] = newRemovedDrift
	removalWorlds["packages"] = newRemovedPackages
}

// puppets is the server of tests.
var puppets = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "puppet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "puppet")
	if err := built.Write(file, "e2e/puppet"); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// newServerWorld is a project whose machine has a puppet, a hallmark and an engine in PATH.
func newServerWorld(t *testing.T, config string) *removalWorld {
	t.Helper()
	puppet, err := puppets()
	if err != nil {
		t.Fatal(err)
	}
	w := &removalWorld{FacetProject: hosttest.NewFacetProject(t, config)}
	bin := filepath.Join(w.base(), "bin")
	for _, name := range []string{"puppet", "hallmark", "docker"} {
		w.executable(filepath.Join(bin, name), puppet)
	}
	w.executable(w.Path("server"), puppet)
	w.Host.Getenv = func(name string) string {
		if name == "PATH" {
			return bin
		}
		return ""
	}
	w.Host.Environ = []string{"PATH=" + bin}
	w.Host.Fetch = fetch.New(fetch.Config{Dir: t.TempDir(), Limits: fetch.Limits{Retries: -1}})
	t.Cleanup(w.Host.Fetch.CloseIdleConnections)
	w.FacetProject.Write("shown.json",
		`{"tools/list":{"tools":[{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}]},`+
			`"instructions":"Be kind."}`)
	return w
}

func (w *removalWorld) executable(path string, data []byte) {
	w.T.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o700)); err != nil {
		w.T.Fatal(err)
	}
}

// newRemovedServers has servers of every kind that needs no registry: a command, one with a
// verify block, a script with its interpreter, one that is left unlocked, one that is reached
// by its URL and an image; and a file of a client that starts them by hallmark.
func newRemovedServers(t *testing.T) *removalWorld {
	puppet, err := puppets()
	if err != nil {
		t.Fatal(err)
	}
	image := digest.FromBytes([]byte("image"))
	w := newServerWorld(t, fmt.Sprintf(`[providers.mcp.tool]
command = "./server"
arguments = ["shown.json"]
variables = ["TOOL_KEY"]
on_drift = "block"
server_requests = "deny"
surface_kinds = ["tools", "instructions"]
optional = true
startup_timeout_secs = 30
[providers.mcp.claimed]
command = "./server"
arguments = ["shown.json"]
[providers.mcp.claimed.verify]
type = "command"
algorithm = "sha256"
value = %q
[providers.mcp.script]
command = "./script/run"
extra_arguments = "any"
tree = "script"
data = ["script/notes.db"]
[providers.mcp.loose]
command = "./server"
arguments = ["shown.json"]
unlocked = true
[providers.mcp.remote]
type = "http"
url = "https://127.0.0.1:1/mcp"
headers = { Accept-Language = "en" }
[providers.mcp.image]
command = "docker"
arguments = ["run", "-i", "--rm", "127.0.0.1:1/notes@%s"]
`, digest.FromBytes(puppet).Hex(), image))
	w.FacetProject.Write("script/notes.db", "")
	w.FacetProject.Write("script/more", "")
	w.executable(w.Path("script/run"),
		[]byte("#!"+filepath.Join(w.base(), "bin", "puppet")+"\n"+w.FacetProject.Read("shown.json")))
	yes := pin.Options{Confirm: func(*pin.Pinned) (host.Consent, error) { return host.InformedConsent, nil }}
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, []string{"tool", "claimed", "script"}, yes); err != nil {
		t.Fatal(err)
	}
	w.FacetProject.Write(".mcp.json", `{"mcpServers":{"client":{"command":"./server","args":["shown.json"]}}}`)
	yes.From, yes.WriteConfig = pin.ClientFiles{Config: w.Path(".mcp.json")}, true
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, nil, yes); err != nil {
		t.Fatal(err)
	}
	if _, err := launch.Review(t.Context(), w.Host, w.Dir, "loose",
		launch.ReviewOptions{
			Confirm: func(*launch.Reviewed) (host.Consent, error) { return host.InformedConsent, nil }}); err != nil {
		t.Fatal(err)
	}
	if _, err := launch.Review(t.Context(), w.Host, w.Dir, "tool",
		launch.ReviewOptions{Arguments: []string{"--more"},
			Confirm: func(*launch.Reviewed) (host.Consent, error) { return host.InformedConsent, nil }}); err != nil {
		t.Fatal(err)
	}
	ref := "oci:127.0.0.1:1/notes@" + image.String()
	w.lockUnseen("remote", project.ServerLock{Source: "http", Ref: "https://127.0.0.1:1/mcp"}, nil)
	w.lockUnseen("image", project.ServerLock{
		Source: "image", Ref: ref, Artifacts: map[string]digest.Digest{ref: image}, Digest: image,
		Platforms: map[string]digest.Digest{"linux/amd64": image}, Varying: []string{"tool:clock"},
	}, &project.Runtime{Path: filepath.Join(w.base(), "bin", "docker"), Digest: digest.FromBytes(puppet)})
	w.owners = map[string]string{"server": "claimed", "script/run": "script", "script/more": "script", ".mcp.json.hallmark": "client"}
	w.skip = func(file string) bool { return file == "shown.json" } // which the server reads, and nobody locks
	w.without = map[string]string{
		"pin --yes image": "nobody answers at its registry", "pin --yes remote": "nobody answers at its URL",
		"unpin loose": "an unlocked server is not pinned",
	}
	return w
}

// lockUnseen locks and approves a server that no test can start, as pin does.
func (w *removalWorld) lockUnseen(name string, entry project.ServerLock, r *project.Runtime) {
	w.T.Helper()
	ws, done, err := workspace.Open(w.T.Context(), w.Host, w.Dir, true)
	if err != nil {
		w.T.Fatal(err)
	}
	defer done()
	shown, err := surface.New(
		surface.Listing{Instructions: "Be kind.",
			Tools: []json.RawMessage{[]byte(`{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}`)}})
	if err != nil {
		w.T.Fatal(err)
	}
	entry.Launch = ws.Config.Servers[name].Launch()
	report := evidence.Report{
		evidence.Compare(
			evidence.Claim{Subject: project.SurfaceSubject(name), Scheme: evidence.Surface, Authority: evidence.Lock},
			hosttest.Observed(shown.Digest()))}
	for ref, d := range entry.Artifacts {
		report = append(report,
			evidence.Compare(evidence.Claim{Subject: ref, Scheme: evidence.File, Authority: evidence.Lock},
				hosttest.Observed(d)))
	}
	if c := entry.Closure; c != nil {
		report = append(report,
			evidence.Compare(
				evidence.Claim{Subject: project.ClosureSubject(name), Scheme: evidence.File, Authority: evidence.Lock},
				hosttest.Observed(c.Lock)))
		for platform, d := range c.Trees {
			report = append(report,
				evidence.Compare(
					evidence.Claim{Subject: project.TreeSubject(name, platform), Scheme: evidence.Tree,
						Authority: evidence.Lock}, hosttest.Observed(d)))
		}
	}
	if err := ws.Lock.Add(policy.Judge(policy.Pin, policy.Settings{}, report).Admitted(), name, entry, shown); err !=
		nil {
		w.T.Fatal(err)
	}
	kept, _ := ws.Lock.Server(name)
	ws.Approvals.Servers[name] = project.Approval{Entry: kept.Approvable(), Path: w.Host.Getenv("PATH"), Runtime: r,
		At: time.Unix(1e9, 0).UTC()}
	lock, err := ws.Lock.Encode()
	if err != nil {
		w.T.Fatal(err)
	}
	approvals, err := ws.Approvals.Encode()
	if err != nil {
		w.T.Fatal(err)
	}
	w.FacetProject.Write(project.LockFile, string(lock))
	w.FacetProject.Write(project.SurfaceFile(name), string(shown.FormatIndented()))
	if err := os.WriteFile(ws.ApprovalsPath(), approvals, 0o600); err != nil {
		w.T.Fatal(err)
	}
}

// newRemovedDrift has a server that was seen to show something else than was approved.
func newRemovedDrift(t *testing.T) *removalWorld {
	w := newServerWorld(t, "[providers.mcp.tool]\ncommand = \"./server\"\narguments = [\"shown.json\"]\n")
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, nil,
		pin.Options{Confirm: func(*pin.Pinned) (host.Consent, error) { return host.InformedConsent, nil }}); err !=
		nil {
		t.Fatal(err)
	}
	ws, done, err := workspace.Open(t.Context(), w.Host, w.Dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	entry, _ := ws.Lock.Server("tool")
	l := &launch.Launch{Workspace: ws, Logs: ws.Logs(trail.Options{}), Declared: ws.Config.Servers["tool"],
		Entry: &entry}
	shown, err := surface.New(
		surface.Listing{Instructions: "Be kind.",
			Tools: []json.RawMessage{
				[]byte(`{"name":"add","description":"Adds more.","inputSchema":{"type":"object"}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	l.WriteNote(map[string]machine.DriftItem{
		"tool:add": {Reason: "changed", Want: entry.SurfaceItems["tool:add"], Got: shown.ItemDigests()["tool:add"]}},
		shown.Canonical())
	w.skip = func(file string) bool { return !strings.Contains(file, "drift-") }
	w.without = map[string]string{"review tool": "it asks about the drift, and nobody says yes"}
	return w
}

// removedServer is the text of an MCP server, for the puppet that stands for node.
const removedServer = `#!/usr/bin/env node
{
  "version": "1.4.0",
  "tools/list": {
    "tools": [
      {
        "name": "greet",
        "description": "Greets.",
        "inputSchema": {
          "type": "object"
        }
      }
    ]
  }
}
`

// newRemovedPackages has a server of a package with its closure, named by its record, and one
// that is packed from source, both proven to be in the log of their registry.
func newRemovedPackages(t *testing.T) *removalWorld {
	npm, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(npm.Close)
	for _, p := range []npmtest.Package{
		{Name: "@acme/notes", Version: "1.4.0",
			Manifest: map[string]any{"mcpName": "io.github.acme/notes", "bin": map[string]any{"notes": "bin/notes.js"},
				"dependencies": map[string]any{"greet": "^1.0.0"}},
			Files: map[string]string{"bin/notes.js": removedServer}},
		{Name: "greet", Version: "1.0.0", Manifest: map[string]any{"main": "greet.js"},
			Files: map[string]string{"greet.js": "module.exports = 1;\n"}},
	} {
		if err := npm.Publish(p); err != nil {
			t.Fatal(err)
		}
	}
	r := hosttest.NewLoggedRegistry(t, "")
	sender := &client.Client{Base: r.URL}
	record := fmt.Appendf(nil,
		`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.github.acme/notes","description":"Notes","version":"1.4.0",
		"packages":[{"registryType":"npm","identifier":"@acme/notes","version":"1.4.0","transport":{"type":"stdio"}}],
		"file_hashes":{"npm:@acme/notes@1.4.0":%q}}`, digest.FromBytes(npm.Tarball("@acme/notes", "1.4.0")))
	if _, err := sender.Publish(t.Context(), record, ""); err != nil {
		t.Fatal(err)
	}
	source := hosttest.Packed(t,
		map[string]string{"server.json": `{"name":"tasks","version":"1.0.0","runtime":"node","entry":"main.js"}`,
			"main.js": removedServer})
	if _, err := sender.PublishArchive(t.Context(), "artifact", "tasks",
		client.Upload{Body: bytes.NewReader(source), Size: int64(len(source))}); err != nil {
		t.Fatal(err)
	}
	w := &removalWorld{FacetProject: hosttest.NewFacetProject(t, fmt.Sprintf(`[registry]
url = %q
log_key = %q
[providers.mcp.notes]
server = "io.github.acme/notes@1.4.0"
[providers.mcp.tasks]
source = "tasks@1.0.0"
`, r.URL, r.Key))}
	authority, home := filepath.Join(w.base(), "authority.pem"), filepath.Join(w.base(), "home")
	if err := errors.Join(os.WriteFile(authority, npm.Authority(), 0o600), os.Mkdir(home, 0o700)); err != nil {
		t.Fatal(err)
	}
	w.environment(append(npm.Environ(authority), "PATH="+w.ownNode("npm"), "HOME="+home), nil)
	if _, err := pin.Pin(t.Context(), w.Host, w.Dir, nil,
		pin.Options{Confirm: func(*pin.Pinned) (host.Consent, error) { return host.InformedConsent, nil }}); err !=
		nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", "tasks"} {
		if err := tryRun(w, w.Host, name); err != nil {
			t.Fatal(err)
		}
	}
	sidecars, err := filepath.Glob(filepath.Join(w.Host.Places.Cache, "store", "sha256", "*", "*", "sidecar.json"))
	if err != nil || len(sidecars) != 2 {
		t.Fatalf("%q, %v", sidecars, err)
	}
	w.slots = map[string]string{}
	for _, file := range sidecars {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w.slots[filepath.Dir(file)] = "notes"
		if bytes.Contains(data, []byte(`"tasks@`)) {
			w.slots[filepath.Dir(file)] = "tasks"
		}
	}
	return w
}
