package userconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/beneath"
)

// maxConfigFile is the largest file of a tool's configuration that is read, in bytes.
const maxConfigFile = 1 << 20

// ReadFile reads at most limit bytes; a file that is not there is empty.
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

// readRegular is ReadFile that waits for nothing.
func readRegular(path string, limit int64) (string, error) {
	data, err := beneath.ReadFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// readCheckout reads a file of a checkout as ReadFile does, and nothing that a link leads to
// outside of it: what is read may be shown.
func readCheckout(dir, name string, limit int64) (string, error) {
	data, err := beneath.ReadIn(dir, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return "", fmt.Errorf("%s %w", name, at.Err)
	}
	return string(data), err
}

// resolve makes a configured path absolute.
func resolve(path, dir, home string) string {
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
