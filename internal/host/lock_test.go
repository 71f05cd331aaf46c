package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
)

// Who waits for a lock says so, and for whom; it ends with its context, and where others
// could hold the lock for good with a limit.
func TestLockSaysWhoHolds(t *testing.T) {
	h := hosttest.New(t)
	var log bytes.Buffer
	h.Logger = slog.New(slog.NewTextHandler(&log, nil))
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := durable.Lock(t.Context(), path, "x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Lock(t.Context(), path, "a change", 20*time.Millisecond)
	if evidence.ClassOf(err) != evidence.Operation || !errors.Is(err, durable.ErrLocked) ||
		!strings.Contains(err.Error(), "held for 20ms") {
		t.Errorf("limit: %v", err)
	}
	if said := log.String(); !strings.Contains(said, "waiting for a change by another process") ||
		!strings.Contains(said, fmt.Sprint("process=", os.Getpid())) {
		t.Errorf("said: %s", said)
	}
	for _, limit := range []time.Duration{0, time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := h.Lock(ctx, path, "a change", limit); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("limit %v: %v", limit, err)
		}
		cancel()
	}
	unlock()
	if unlock, err = h.Lock(t.Context(), path, "a change", time.Hour); err != nil {
		t.Fatal(err)
	}
	unlock()
}
