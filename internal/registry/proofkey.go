package registry

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// ReadKey reads the seed of an issuer's key from the file at path: 64 hexadecimal
// digits, with or without a line end, or 32 bytes. A file that does not exist is an
// error that wraps fs.ErrNotExist; one that others may read is refused, see [CheckPrivate].
func ReadKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := CheckPrivate(f); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 129))
	if err != nil {
		return nil, err
	}
	if len(text) == ed25519.SeedSize {
		return text, nil
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("token key %s: neither %d hexadecimal digits nor %d bytes", path, 2*ed25519.SeedSize,
			ed25519.SeedSize)
	}
	return seed, nil
}

// OpenKey reads the seed at path, which it creates, readable by this user alone, if
// there is no such file. Of several processes that start at once all get the same.
func OpenKey(ctx context.Context, path string) (seed []byte, created bool, err error) {
	seed, err = ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return seed, false, err
	}
	unlock, err := durable.Lock(ctx, path+".lock", "the token key")
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	seed, err = ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return seed, false, err
	}
	seed = make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	return seed, true, durable.WriteFile(path, []byte(hex.EncodeToString(seed)+"\n"), 0o600)
}
