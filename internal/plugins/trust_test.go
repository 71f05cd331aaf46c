package plugins_test

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/plugins"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// TestRevocationStays: a key that was revoked stays so with the file of trusted keys removed, or
// the revocation cut out of it, and with the memory of revocations removed; only who removes
// both is believed. What cannot be read says how to go on.
func TestRevocationStays(t *testing.T) {
	h := &host.Host{Places: host.Places{State: t.TempDir()}}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key := plugin.TrustedKey{ID: "acme", Public: hosttest.ParseTrustedKeys(t, public, private).Public(), Added: time.Now()}
	change := func(f func(*plugin.TrustedKeys) error) error { return plugins.ChangeTrust(t.Context(), h, f) }
	add := func(k *plugin.TrustedKeys) error { return k.Add(key) }
	if err := change(add); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(hosttest.TrustedKeysOf(h))
	if err != nil {
		t.Fatal(err)
	}
	if err := change(func(k *plugin.TrustedKeys) error { return k.Revoke("acme", "lost", time.Now()) }); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(hosttest.TrustedKeysOf(h))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.ReadFile(revokedKeysOf(h))
	if err != nil {
		t.Fatal(err)
	}
	renamed := []byte(strings.ReplaceAll(string(before), `"acme"`, `"other"`))
	for name, files := range map[string][2][]byte{"gone": {nil, memory}, "cut": {before, memory},
		"renamed": {renamed, memory}, "memory gone": {after, nil}} {
		for i, path := range []string{hosttest.TrustedKeysOf(h), revokedKeysOf(h)} {
			os.Remove(path)
			if files[i] != nil {
				if err := os.WriteFile(path, files[i], 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		keys, err := plugins.TrustedKeys(h)
		if err != nil || len(keys.All()) != 1 || keys.All()[0].Revoked.IsZero() {
			t.Errorf("%s: %+v, %v", name, keys, err)
		}
		if err := change(add); err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("%s: added again: %v", name, err)
		}
		if err := change(func(*plugin.TrustedKeys) error { return nil }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(revokedKeysOf(h)); err != nil || !strings.Contains(string(data), `"revoked"`) {
			t.Errorf("%s: %s, %v", name, data, err)
		}
	}
	for path, says := range map[string]string{hosttest.TrustedKeysOf(h): "those that were revoked stay revoked",
		revokedKeysOf(h): "restore it from a backup"} {
		good, _ := os.ReadFile(path)
		for _, bad := range []string{"", "{", `{"version":1}x`} {
			if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := plugins.TrustedKeys(h); err == nil || !strings.Contains(hint(err), says) {
				t.Errorf("%s as %q: %v", path, bad, err)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// hint is what an error says to do next.
func hint(err error) string {
	var e *evidence.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// revokedKeysOf is the file of the keys that a machine once trusted.
func revokedKeysOf(h *host.Host) string { return filepath.Join(h.Places.State, "revoked-keys.json") }
