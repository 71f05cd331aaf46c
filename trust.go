package hallmark

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/sign"
)

// trustFile is the file of the keys that this machine trusts.
func trustFile(h *Host) string { return filepath.Join(h.Places.State, "trusted-keys.json") }

// TrustedKeys reads the keys that this machine trusts; without a file there are none.
func TrustedKeys(h *Host) (*sign.Keys, error) {
	data, err := readFile(trustFile(h), sign.MaxKeysFile)
	if err != nil || data == nil {
		return new(sign.Keys), err
	}
	keys, err := sign.ParseKeys(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Validation, trustFile(h), "", err)
	}
	return keys, nil
}

// ChangeTrust changes the keys that this machine trusts, one process at a time.
func ChangeTrust(ctx context.Context, h *Host, change func(*sign.Keys) error) error {
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
		return evidence.Errorf(evidence.Validation, "", "", err)
	}
	data, err := keys.Encode()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, data, 0o600); err != nil {
		return evidence.Errorf(evidence.Operation, path, "", err)
	}
	return nil
}
