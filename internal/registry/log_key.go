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

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// maxKeyFile is more than a key needs, in bytes.
const maxKeyFile = 4 << 10

// ReadLogKey reads the key that signs a log: one line in the form of C2SP signed-note.
// An origin that is not empty has to be the key's name.
func ReadLogKey(path, origin string) (ledger.Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return ledger.Key{}, fmt.Errorf("log key: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return ledger.Key{}, fmt.Errorf("log key %s: %w", path, err)
	}
	line, ok := strings.CutSuffix(string(text), "\n")
	if !ok || len(text) > maxKeyFile {
		return ledger.Key{}, fmt.Errorf("log key %s: not one line", path)
	}
	key, err := ledger.ParseKey(line)
	if err != nil {
		return ledger.Key{}, fmt.Errorf("log key %s: %w", path, err)
	}
	if origin != "" && origin != key.Name() {
		return ledger.Key{}, fmt.Errorf("log key %s: it is the key of %+q, not of %+q; a log keeps its origin", path, key.Name(), origin)
	}
	return key, nil
}

// OpenLogKey reads the key at path, which it creates, readable by this user alone, if
// there is no such file. Of several processes that start at once all get the same. A new
// key without an origin gets one that nobody else has.
func OpenLogKey(ctx context.Context, path, origin string) (key ledger.Key, created bool, err error) {
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
	if origin == "" {
		id := make([]byte, 8)
		rand.Read(id) // never fails
		origin = "hallmark-log-" + hex.EncodeToString(id)
	}
	secret, _, err := ledger.GenerateKey(rand.Reader, origin)
	if err != nil {
		return ledger.Key{}, false, fmt.Errorf("log key: %w", err)
	}
	if err := durable.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return ledger.Key{}, false, err
	}
	key, err = ledger.ParseKey(secret)
	return key, true, err
}
