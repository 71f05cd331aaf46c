package log

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/registry/logkey"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// OpenNew is [logkey.Open] for the key of a log that is new with its key: beside it lies
// then that the log is empty. That is on the disk before the key has its name, so that who
// is killed in between leaves no key of which nobody knows whether it has signed. What was
// signed by a key that is not there any more stays, and is an error. May is asked before a
// key is created, while no other process can.
func OpenNew(ctx context.Context, path, origin string, may func() error) (key ledger.Key, created bool, err error) {
	return logkey.OpenOrCreate(ctx, path, origin, func() (ledger.Key, error) {
		heads, unnamed := HeadsOf(path), path+".new"
		note, _, err := heads.Load(ctx)
		if err != nil {
			return ledger.Key{}, err
		}
		if note != nil { // of a key that was about to get its name, or of one that is gone
			key, err := logkey.Read(unnamed, origin)
			if err == nil {
				err = signedBy(note, key)
			}
			if err != nil {
				return ledger.Key{},
					fmt.Errorf("%w: %s is what it signed last, and %s is not there", errOther(note), heads.Path, path)
			}
			return key, durable.Place(unnamed, path)
		}
		if err := may(); err != nil {
			return ledger.Key{}, err
		}
		secret, key, err := logkey.New(origin)
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

// signedBy is an error unless the note is a checkpoint of the key's log.
func signedBy(note []byte, key ledger.Key) error {
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err == nil {
		_, err = trust.Open(note)
	}
	return err
}
