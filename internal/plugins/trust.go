package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/plugin"
)

// trustFile is the file of the keys that this machine trusts.
func trustFile(h *host.Host) string { return filepath.Join(h.Places.State, "trusted-keys.json") }

// revokedFile is a second copy of the revoked keys, so that removing the first file does not bring
// back a revoked key.
func revokedFile(h *host.Host) string { return filepath.Join(h.Places.State, "revoked-keys.json") }

// TrustedKeys reads the keys that this machine trusts, and those that it ever revoked. Without a file
// there are none.
func TrustedKeys(h *host.Host) (*plugin.TrustedKeys, error) {
	keys, err := readKeys(trustFile(h),
		"restore it from a backup, or move it away: then no key is trusted until 'hallmark trust add' adds it, and "+
			"those that were revoked stay revoked")
	if err != nil {
		return nil, err
	}
	revoked, err := readKeys(revokedFile(h),
		"restore it from a backup; it says which keys were revoked, and if it is removed only "+trustFile(h)+" does")
	if err != nil {
		return nil, err
	}
	keys.MergeRevoked(revoked)
	return keys, nil
}

// readKeys reads a file of keys, which may be missing.
func readKeys(path, hint string) (*plugin.TrustedKeys, error) {
	data, err := host.ReadFile(path, plugin.MaxKeysFile)
	if err != nil || data == nil {
		return new(plugin.TrustedKeys), err
	}
	keys, err := plugin.ParseTrustedKeys(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, path, hint, err)
	}
	return keys, nil
}

// ChangeTrust changes the keys that this machine trusts under a lock, one process at a time.
func ChangeTrust(ctx context.Context, h *host.Host, change func(*plugin.TrustedKeys) error) error {
	path := trustFile(h)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	unlock, err := durable.Lock(ctx, path+".lock", "the trusted keys")
	if err != nil {
		return err
	}
	defer unlock()
	keys, err := TrustedKeys(h)
	if err != nil {
		return err
	}
	if err := change(keys); err != nil {
		hint := "'hallmark trust list' lists the keys that are there"
		if errors.Is(err, plugin.ErrRevoked) {
			hint = "a revoked key stays revoked: ask its owner for a new key, and trust that one under another id"
		}
		return evidence.Errorf(evidence.Validation, "", hint, err)
	}
	if revoked := keys.Revoked(); len(revoked.All()) > 0 { // first, so that a revocation is never in one file only
		if err := writeKeys(revokedFile(h), revoked); err != nil {
			return err
		}
	}
	return writeKeys(path, keys)
}

// writeKeys replaces a file of keys.
func writeKeys(path string, keys *plugin.TrustedKeys) error {
	data, err := keys.Encode()
	if err != nil {
		return err
	}
	return writeFile(path, data, 0o600)
}
