package log

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// maxKeyFile is more than a key needs, in bytes.
const maxKeyFile = 4 << 10

// ReadKey reads the key that signs a log: one line in the form of C2SP signed-note, of
// which an origin that is not empty has to be the name, or a seed in the forms of a token
// key, for the log with that origin. A file that others may read is refused, see
// [auth.CheckPrivate].
func ReadKey(path, origin string) (ledger.Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return ledger.Key{}, fmt.Errorf("log key: %w", err)
	}
	defer f.Close()
	if err := auth.CheckPrivate(f); err != nil {
		return ledger.Key{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return ledger.Key{}, fmt.Errorf("log key %s: %w", path, err)
	}
	var key ledger.Key
	if !strings.HasPrefix(string(text), "PRIVATE+KEY+") {
		seed, err := auth.ReadKey(path)
		if err != nil {
			return ledger.Key{}, fmt.Errorf("log key %s: neither a signer key of C2SP signed-note nor a seed of 32 bytes", path)
		}
		if origin == "" {
			return ledger.Key{}, fmt.Errorf("log key %s: a seed has no name; say which log it is for", path)
		}
		key, err = ledger.NewKey(origin, seed)
		if err != nil {
			return ledger.Key{}, fmt.Errorf("log key %s: %w", path, err)
		}
		return key, nil
	}
	if key, err = ledger.ParseKey(strings.TrimSuffix(string(text), "\n")); err != nil {
		return ledger.Key{}, fmt.Errorf("log key %s: %w", path, err)
	}
	if origin != "" && origin != key.Name() {
		return ledger.Key{}, fmt.Errorf("log key %s: it is the key of %+q, not of %+q; a log keeps its origin", path, key.Name(), origin)
	}
	return key, nil
}

// OpenKey reads the key at path, which it creates, readable by this user alone, if
// there is no such file. Of several processes that start at once all get the same. A new
// key without an origin gets one that nobody else has.
func OpenKey(ctx context.Context, path, origin string) (key ledger.Key, created bool, err error) {
	return openKey(ctx, path, origin, func() (ledger.Key, error) {
		secret, key, err := newKey(origin)
		if err != nil {
			return key, err
		}
		return key, durable.WriteFile(path, secret, 0o600)
	})
}

// OpenNew is [OpenKey] for the key of a log that is new with its key: beside it lies
// then that the log is empty. That is on the disk before the key has its name, so that who
// is killed in between leaves no key of which nobody knows whether it has signed. What was
// signed by a key that is not there any more stays, and is an error. May is asked before a
// key is created, while no other process can.
func OpenNew(ctx context.Context, path, origin string, may func() error) (key ledger.Key, created bool, err error) {
	return openKey(ctx, path, origin, func() (ledger.Key, error) {
		heads, unnamed := HeadsOf(path), path+".new"
		note, _, err := heads.Load(ctx)
		if err != nil {
			return ledger.Key{}, err
		}
		if note != nil { // of a key that was about to get its name, or of one that is gone
			key, err := ReadKey(unnamed, origin)
			if err == nil {
				err = signedBy(note, key)
			}
			if err != nil {
				return ledger.Key{}, fmt.Errorf("%w: %s is what it signed last, and %s is not there", errOther(note), heads.Path, path)
			}
			return key, durable.Place(unnamed, path)
		}
		if err := may(); err != nil {
			return ledger.Key{}, err
		}
		secret, key, err := newKey(origin)
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

// openKey reads the key at path, or has one created while no other process does.
func openKey(
	ctx context.Context, path, origin string, create func() (ledger.Key, error),
) (key ledger.Key, created bool, err error) {
	key, err = ReadKey(path, origin)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	unlock, err := durable.Lock(ctx, path+".lock", "the log key")
	if err != nil {
		return ledger.Key{}, false, err
	}
	defer unlock()
	key, err = ReadKey(path, origin)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	if key, err = create(); err != nil {
		return ledger.Key{}, false, err
	}
	return key, true, nil
}

// newKey makes a key of the log origin, and what its file holds.
func newKey(origin string) (file []byte, key ledger.Key, err error) {
	if origin == "" {
		id := make([]byte, 8)
		rand.Read(id) // never fails
		origin = "hallmark-log-" + hex.EncodeToString(id)
	}
	secret, _, err := ledger.GenerateKey(rand.Reader, origin)
	if err != nil {
		return nil, ledger.Key{}, fmt.Errorf("log key: %w", err)
	}
	key, err = ledger.ParseKey(secret)
	return []byte(secret + "\n"), key, err
}

// signedBy is an error unless the note is a checkpoint of the key's log.
func signedBy(note []byte, key ledger.Key) error {
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err == nil {
		_, err = trust.Open(note)
	}
	return err
}
