package hosttest

import (
	stdzip "archive/zip"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// PluginRoom is a machine with a plugin that a key of its signs, and a directory to
// install into.
type PluginRoom struct {
	T      *testing.T
	Host   *host.Host
	Dir    string // plugins are installed in
	Source string // of the plugin net@1.0.0
	Zip    string // of it, as 'plugin pack' makes it
	Other  string // zip of it, as another program makes it
}

// NewPluginRoom signs and packs the plugin net@1.0.0, which is not installed yet.
func NewPluginRoom(t *testing.T) *PluginRoom {
	t.Helper()
	base := t.TempDir()
	r := &PluginRoom{t, New(t), filepath.Join(base, "plugins"), filepath.Join(base, "net"),
		filepath.Join(base, "net.zip"), filepath.Join(base, "other.zip")}
	WritePlugin(t, r.Source, "net", nil,
		map[string]string{"dist/index.js": "exports.createPlugin = async () => {}", "dist/lib/a.js": "1",
			"README.md": "# net"})
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := ParseTrustedKeys(t, public, private)
	if err := plugins.ChangeTrust(t.Context(), r.Host, func(keys *plugin.TrustedKeys) error {
		return keys.Add(plugin.TrustedKey{ID: "acme", Public: key.Public()})
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.Hash(t.Context(), r.Source, plugins.HashOptions{Write: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.Sign(t.Context(), r.Host, r.Source, key, "acme"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := plugins.Pack(t.Context(), r.Source, r.Zip); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := stdzip.NewWriter(&b)
	if err := errors.Join(w.AddFS(os.DirFS(r.Source)), w.Close(), os.WriteFile(r.Other, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return r
}

// Elsewhere is the same files and keys on a machine that did not install them.
func (r *PluginRoom) Elsewhere() *host.Host {
	h := *r.Host
	h.Places.State = filepath.Join(r.T.TempDir(), "state")
	data, err := os.ReadFile(TrustedKeysOf(r.Host))
	if err == nil {
		err = errors.Join(os.MkdirAll(h.Places.State, 0o700), os.WriteFile(TrustedKeysOf(&h), data, 0o600))
	}
	if err != nil {
		r.T.Fatal(err)
	}
	return &h
}

// Install installs from a place, and returns the plugin's directory.
func (r *PluginRoom) Install(from string, flags plugin.Flags) string {
	r.T.Helper()
	in, err := plugins.Install(r.T.Context(), r.Host, from,
		plugins.InstallOptions{Dir: r.Dir, Options: plugins.Options{Flags: flags}})
	if err == nil {
		err = in.Result.Verdict.Err()
	}
	if err != nil {
		r.T.Fatal(err)
	}
	return in.Path
}

// Class is how revalidation ends.
func (r *PluginRoom) Class(h *host.Host, flags plugin.Flags) (evidence.Class, error) {
	r.T.Helper()
	all, err := plugins.Revalidate(r.T.Context(), h, r.Dir, plugins.Options{Flags: flags})
	for _, v := range all {
		if v.Err == nil {
			v.Err = v.Result.Verdict.Err()
		}
		err = errors.Join(err, v.Err)
	}
	return evidence.ClassOf(err), err
}

// Expect demands that revalidation ends in one of these classes.
func (r *PluginRoom) Expect(h *host.Host, what string, want ...evidence.Class) {
	r.T.Helper()
	if got, err := r.Class(h, plugin.Flags{}); !slices.Contains(want, got) {
		r.T.Errorf("%s: %s, want %v: %v", what, got, want, err)
	}
}

// ParseTrustedKeys is a key that signs plugins.
func ParseTrustedKeys(t *testing.T, public ed25519.PublicKey, private ed25519.PrivateKey) plugin.PrivateKey {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := plugin.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), "")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// WritePlugin writes a plugin of these files, with more members of its manifest.
func WritePlugin(t *testing.T, dir, name string, members map[string]any, files map[string]string) {
	t.Helper()
	m := map[string]any{"manifestVersion": "2", "name": name, "version": "1.0.0", "entry": "dist/index.js"}
	maps.Copy(m, members)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	files[plugin.ManifestFile] = string(data)
	for path, text := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err !=
			nil {
			t.Fatal(err)
		}
	}
}

// TrustedKeysOf is the file of the keys that a machine trusts.
func TrustedKeysOf(h *host.Host) string { return filepath.Join(h.Places.State, "trusted-keys.json") }
