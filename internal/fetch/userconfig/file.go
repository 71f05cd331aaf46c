package userconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// maxConfigFile is the largest file of a tool's configuration that is read, in bytes.
const maxConfigFile = 1 << 20

// ReadFile reads a file of at most limit bytes. A file that does not exist is empty.
func ReadFile(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > limit {
		return "", fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return string(data), nil
}

// readRegular is ReadFile for regular files only, so that it never waits, as for a pipe.
func readRegular(path string, limit int64) (string, error) {
	data, err := durable.ReadFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// readCheckout is ReadFile for a file of a checkout. It follows no link that leads out of the
// checkout, because messages may show what was read.
func readCheckout(dir, name string, limit int64) (string, error) {
	data, err := durable.ReadIn(dir, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return "", fmt.Errorf("%s %w", name, at.Err)
	}
	return string(data), err
}

// absolutePath makes a configured path absolute: relative to dir, or to home after "~/".
func absolutePath(path, dir, home string) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) && dir != "" {
		return filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}
