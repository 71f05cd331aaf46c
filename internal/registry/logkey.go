package registry

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

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// maxLogKey is more than a key needs, in bytes.
const maxLogKey = 4 << 10

// ReadLogKey reads the key that signs a log, or that a witness cosigns with: one line in the form of C2SP
// signed-note, of which an origin that is not empty has to be the name, or a seed in the forms of a token
// key, for the log with that origin. A file that others may read is refused, see
// [CheckPrivate].
func ReadLogKey(path, origin string) (ledger.Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return ledger.Key{}, fmt.Errorf("log key: %w", err)
	}
	defer f.Close()
	if err := CheckPrivate(f); err != nil {
		return ledger.Key{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxLogKey+1))
	if err != nil {
		return ledger.Key{}, fmt.Errorf("log key %s: %w", path, err)
	}
	var key ledger.Key
	if !strings.HasPrefix(string(text), "PRIVATE+KEY+") {
		seed, err := ReadKey(path)
		if err != nil {
			return ledger.Key{},
				fmt.Errorf("log key %s: neither a signer key of C2SP signed-note nor a seed of 32 bytes", path)
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
		return ledger.Key{}, evidence.Errorf(evidence.Validation, "log key "+path,
			"name it as before; a new name needs a new key, in another file",
			fmt.Errorf("it is the key of %+q, not of %+q", key.Name(), origin))
	}
	return key, nil
}

// OpenLogKey reads the key at path, which it creates, readable by this user alone, if
// there is no such file. Of several processes that start at once all get the same. A new
// key without an origin gets one that nobody else has.
func OpenLogKey(ctx context.Context, path, origin string) (key ledger.Key, created bool, err error) {
	return OpenOrCreateLogKey(ctx, path, origin, func() (ledger.Key, error) {
		secret, key, err := NewLogKey(origin)
		if err != nil {
			return key, err
		}
		return key, durable.WriteFile(path, secret, 0o600)
	})
}

// OpenOrCreateLogKey reads the key at path, or calls create under a lock if there is no such file.
func OpenOrCreateLogKey(
	ctx context.Context, path, origin string, create func() (ledger.Key, error),
) (key ledger.Key, created bool, err error) {
	key, err = ReadLogKey(path, origin)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	unlock, err := durable.Lock(ctx, path+".lock", "the log key")
	if err != nil {
		return ledger.Key{}, false, err
	}
	defer unlock()
	key, err = ReadLogKey(path, origin)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	if key, err = create(); err != nil {
		return ledger.Key{}, false, err
	}
	return key, true, nil
}

// NewLogKey makes a key of the log origin, and what its file holds.
func NewLogKey(origin string) (file []byte, key ledger.Key, err error) {
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
