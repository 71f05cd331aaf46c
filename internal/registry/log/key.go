package log

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// OpenNew is [registry.OpenLogKey] for a log that begins with its key: it also keeps, beside a new key,
// the checkpoint of the empty log. That checkpoint is on disk before the key gets its name, so
// that a process which is killed in between leaves no key without the checkpoint that it signed
// last. If the checkpoint of a missing key is found, it stays, and is an error. may is called
// before a key is created, while no other process can create one; its error ends OpenNew.
func OpenNew(ctx context.Context, path, origin string, may func() error) (key ledger.Key, created bool, err error) {
	return registry.OpenOrCreateLogKey(ctx, path, origin, func() (ledger.Key, error) {
		heads, unnamed := HeadsOf(path), path+".new"
		note, _, err := heads.Load(ctx)
		if err != nil {
			return ledger.Key{}, err
		}
		if note != nil { // of a key that was about to get its name, or of one that was lost
			key, err := registry.ReadLogKey(unnamed, origin)
			if err == nil {
				err = checkSigned(note, key)
			}
			if err != nil {
				return ledger.Key{},
					fmt.Errorf("%w: %s is what it signed last, and %s is not there", otherKeyError(note),
						heads.Path, path)
			}
			return key, durable.Place(unnamed, path)
		}
		if err := may(); err != nil {
			return ledger.Key{}, err
		}
		secret, key, err := registry.NewLogKey(origin)
		if err != nil {
			return ledger.Key{}, err
		}
		if err := durable.WriteFile(unnamed, secret, 0o600); err != nil {
			return ledger.Key{}, err
		}
		first, err := emptyLog(key)
		if err != nil {
			return ledger.Key{}, err
		}
		if _, err := heads.Swap(ctx, "", first); err != nil {
			return ledger.Key{}, err
		}
		return key, durable.Place(unnamed, path)
	})
}

// checkSigned returns an error unless note is a checkpoint of the key's log.
func checkSigned(note []byte, key ledger.Key) error {
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err == nil {
		_, err = trust.Open(note)
	}
	return err
}
