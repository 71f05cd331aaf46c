package disk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// lockTime is how long a call waits for other calls that write the same file.
const lockTime = 30 * time.Second

// slotOf returns the name of the lock of a path.
func slotOf(path string) string {
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:1])
}

// isSlot reports whether a name is that of a lock.
func isSlot(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 1 && name == hex.EncodeToString(b)
}

// Lock takes the locks of places, which exclude other calls, in this server and in other servers of the user. All
// paths share 256 lock files, so that their number is bounded. If a name could be part of a repository, the lock of
// its directory is taken too, and the place is checked again under it: otherwise two calls could each create one part
// at the same time, and together a repository. What a killed holder of a lock began is ended first.
func (w *Writer) Lock(ctx context.Context, places ...*place.Place) (unlock func(), err error) {
	if w.locks == "" {
		return nil, refusal.New(refusal.IO, "nothing can be written, because the server has no directory for its locks; "+
			"start it with HALLMARK_HOME set to a directory of your own")
	}
	var slots []string
	for _, p := range places {
		if err := w.checkApart(p); err != nil {
			return nil, err
		}
		slots = append(slots, slotOf(p.Real()))
		if spelling.GitPartOf(p.Name) != 0 {
			slots = append(slots, slotOf(p.Directory()))
		}
	}
	slices.Sort(slots) // the same order everywhere, or two calls would wait for each other
	slots = slices.Compact(slots)
	if err := os.MkdirAll(w.locks, 0o700); err != nil {
		return nil, refusal.New(refusal.IO, "the directory for locks cannot be made: %s",
			refusal.Show(refusal.Cause(err).Error()))
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	var held []func()
	release := func() {
		for _, u := range held {
			u()
		}
	}
	for _, slot := range slots {
		u, err := durable.Lock(ctx, filepath.Join(w.locks, slot), "a file that is edited")
		if err != nil {
			release()
			return nil, refusal.New(refusal.IO, "another edit of the file does not end: %s; try again",
				refusal.Show(err.Error()))
		}
		held = append(held, u)
		w.settle(slot)
	}
	for _, p := range places {
		if err := p.CheckMakesNoRepository(); err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}
