package removal

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// newRemovedMonitor has a copy of a log's files, what a monitor keeps of them and had found, and a login.
// A monitor that says nothing of what it found passes over what was removed.
func newRemovedMonitor(t *testing.T) *removalWorld {
	w := &removalWorld{FacetProject: hosttest.NewFacetProject(t, "")}
	w.Host.SkipPauses = true
	key := hosttest.WrittenLog(t, w.Dir, ledger.TileWidth+3)
	state := filepath.Join(w.Host.Places.State, "monitored")
	follow := func(h *host.Host, state string) (*monitor.Result, error) {
		return monitor.Monitor(t.Context(), h,
			monitor.Options{From: w.Dir, Log: trail.Options{Key: key.VerifierKey}, State: state, Reread: 1})
	}
	login := &host.Session{Token: "secret", Method: "none", Registry: "https://registry.example.com",
		Expires: time.Now().Add(time.Hour).Unix()}
	if err := login.Save(t.Context(), w.Host); err != nil {
		t.Fatal(err)
	}
	if _, err := follow(w.Host, state); err != nil {
		t.Fatal(err)
	}
	// What was found once stays found.
	kept, err := monitor.ReadState(state, key.VerifierKey)
	if err != nil {
		t.Fatal(err)
	}
	index := int64(1)
	kept.Found = []monitor.Anomaly{
		{What: monitor.AnomalyEntry, Index: &index, Subject: "server a@1.0.0", Path: "tile/0/000", Expected: "x",
			Actual: "y", Detail: "z"}}
	if err := kept.Write(state); err != nil {
		t.Fatal(err)
	}
	w.commands = []removalCommand{
		{name: "log monitor", uses: []string{"checkpoint", "tile/**"},
			run: func(_ *removalWorld, h *host.Host, _ string) error {
				_, err := follow(h, "")
				return err
			}},
		{name: "log monitor --state", changes: true, uses: []string{"checkpoint", "tile/**", "state/monitored"},
			run: func(_ *removalWorld, h *host.Host, _ string) error {
				m, err := follow(h, state)
				if m != nil && len(m.Found) == 1 && err != nil &&
					strings.Contains(err.Error(), "SECURITY ERROR: 1 anomalies") {
					return nil // it says what was found before, and nothing else
				}
				return err
			}},
		{name: "publish", uses: []string{"state/login.json"}, run: func(_ *removalWorld, h *host.Host, _ string) error {
			s, err := host.CurrentSession(h)
			if err != nil {
				return err
			}
			token, err := host.TokenFor(h, s, "https://registry.example.com")
			if err == nil && token == "" {
				err = evidence.Errorf(evidence.Refused, "login", "", errors.New("nobody is logged in"))
			}
			return err
		}},
	}
	return w
}

// newRemovedJournal has a change of a project that was interrupted half-way: the lock is the new
// one, its facet's files are the old ones, and a journal waits to be finished.
func newRemovedJournal(t *testing.T) *removalWorld {
	f := hosttest.NewFacetWorld(t)
	f.Must(f.Install(facets.Options{}))
	w := &removalWorld{FacetProject: f.FacetProject}
	before := w.files()
	f.Publish("1.1.0", "Second.\n")
	if _, err := facets.Upgrade(t.Context(), f.Host, f.Dir, nil,
		facets.UpgradeOptions{Facets: facets.Options{Confirm: hosttest.ConsentToChanges}}); err != nil {
		t.Fatal(err)
	}
	after := w.files()
	var files []durable.File
	var lock string
	for _, path := range slices.Sorted(maps.Keys(after)) {
		is, was := after[path], before[path]
		if strings.HasPrefix(path, w.Host.Places.Cache) || bytes.Equal(is.data, was.data) {
			continue
		}
		file := durable.File{Path: path, Data: is.data, Perm: is.mode}
		if was.data != nil {
			file.Was = digest.FromBytes(was.data)
		}
		if filepath.Base(path) == "hallmark.lock" {
			lock = path
		}
		files = append(files, file)
	}
	extra := w.Path("tools/skills/greet/OLD.md")
	files = append(files, durable.File{Path: extra, Remove: true, Was: digest.FromBytes([]byte("old"))})
	if lock == "" || len(files) < 4 {
		t.Fatalf("%d files were changed", len(files))
	}
	for path, was := range before {
		if path != lock && !strings.HasPrefix(path, w.Host.Places.Cache) {
			w.put(path, &was)
		}
	}
	f.Write("tools/skills/greet/OLD.md", "old")
	body, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	journal := append([]byte("hallmark-journal-v1 "+digest.FromBytes(body).String()+"\n"), body...)
	if err := os.WriteFile(filepath.Join(workspace.ProjectState(w.Host, f.Dir), "journal"), journal, 0o600); err !=
		nil {
		t.Fatal(err)
	}
	w.skip = func(file string) bool { return !strings.HasSuffix(file, "/journal") }
	w.commands = slices.DeleteFunc(removalCommands(), func(c removalCommand) bool {
		return c.fresh || c.cold || c.each ||
			c.name != "check" && c.name != "check --offline" && c.name != "install --frozen" && c.name != "install"
	})
	for i := range w.commands {
		w.commands[i].changes = true // the journal is finished
	}
	return w
}

// newRemovedSignature has a plugin whose signature lies in a file beside it, and keys of which
// one was revoked.
func newRemovedSignature(t *testing.T) *removalWorld {
	base := t.TempDir()
	host := hosttest.New(t)
	host.Places.State, host.Places.Cache = filepath.Join(base, "state"), filepath.Join(base, "cache")
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := hosttest.ParseTrustedKeys(t, public, private)
	other, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	revoked, day := hosttest.ParseTrustedKeys(t, other, secret), 24*time.Hour
	if err := plugins.ChangeTrust(t.Context(), host, func(keys *plugin.TrustedKeys) error {
		return errors.Join(
			keys.Add(plugin.TrustedKey{ID: "acme", Public: key.Public(), Owner: "Acme", Added: time.Now(),
				NotBefore: time.Now().Add(-day), NotAfter: time.Now().Add(day)}),
			keys.Add(plugin.TrustedKey{ID: "gone", Public: revoked.Public(), Added: time.Now(), Revoked: time.Now().Add(-day),
				Reason: "lost"}),
		)
	}); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(base, "net")
	hosttest.WritePlugin(t, source, "net", nil,
		map[string]string{"dist/index.js": "exports.createPlugin = async () => {}", "README.md": "# net"})
	if _, err := plugins.Hash(t.Context(), source, plugins.HashOptions{Write: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.Sign(t.Context(), host, source, key, "acme"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(source, plugin.ManifestFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if !decodeTree(data, &m) {
		t.Fatal("no manifest")
	}
	signature, _ := m["signatures"].([]any)
	delete(m, "signatures")
	delete(m, "x-hallmark-signatures")
	if err := errors.Join(os.WriteFile(file, encodeTree(t, m), 0o600),
		os.WriteFile(filepath.Join(source, plugin.SignatureFile), encodeTree(t, signature[0].(map[string]any)),
			0o600)); err != nil {
		t.Fatal(err)
	}
	r := &hosttest.PluginRoom{T: t, Host: host, Dir: filepath.Join(base, "plugins"), Source: source}
	return removalOf(r, r.Install(source, plugin.Flags{RequireSignatures: true}), plugin.Flags{})
}
