package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// FileHeads keeps the checkpoint that was signed last in a file, for the processes of one
// machine. The file may be read by anybody; beside it lies its lock.
type FileHeads struct{ Path string }

// String is the file's path.
func (h FileHeads) String() string { return h.Path }

// Load implements [registry.Heads].
func (h FileHeads) Load(context.Context) ([]byte, string, error) {
	f, err := os.Open(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	note, err := io.ReadAll(io.LimitReader(f, ledger.MaxCheckpoint+1))
	if err != nil {
		return nil, "", err
	}
	return note, digest.FromBytes(note).String(), nil
}

// Swap implements [registry.Heads].
func (h FileHeads) Swap(ctx context.Context, tag string, note []byte) (string, error) {
	unlock, err := durable.Lock(ctx, h.Path+".lock", "the log's head")
	if err != nil {
		return "", err
	}
	defer unlock()
	_, there, err := h.Load(ctx)
	if err != nil {
		return "", err
	}
	if there != tag {
		return "", registry.ErrMoved
	}
	if err := durable.WriteFile(h.Path, note, 0o644); err != nil {
		return "", fmt.Errorf("log head: %w", err)
	}
	return digest.FromBytes(note).String(), nil
}
