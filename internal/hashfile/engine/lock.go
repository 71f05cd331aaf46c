package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// How long a call waits for other calls that write the same file, and for servers with other locks that write in the
// same directory. The second only keeps these from working for nothing, and who holds such a lock may be anybody.
const (
	lockTime    = 30 * time.Second
	dirLockTime = 2 * time.Second
)

// slotOf returns the name of the lock of a path.
func slotOf(path string) string {
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:1])
}

// isSlot reports whether a name belongs to a lock.
func isSlot(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 1 && name == hex.EncodeToString(b)
}

// Lock takes the locks of places, which exclude other calls, in this server and in other servers of the user. All
// paths share 256 lock files, so that their number is bounded. If a name could be part of a repository, the lock of
// its directory is taken too, and the place is checked again under it: otherwise two calls could each create one part
// at the same time, and together a repository.
func (w *writer) Lock(ctx context.Context, places ...*place.Place) (unlock func(), err error) {
	if w.locks == "" {
		return nil, place.Refuse(place.IO, "nothing can be written, because the server has no directory for its "+
			"locks; start it with HALLMARK_HOME set to a directory of your own")
	}
	var slots []string
	for _, p := range places {
		slots = append(slots, slotOf(p.Real()))
		if spelling.GitPartOf(p.Name) != 0 {
			slots = append(slots, slotOf(p.Directory()))
		}
	}
	slices.Sort(slots) // the same order everywhere, or two calls would wait for each other
	slots = slices.Compact(slots)
	if err := os.MkdirAll(w.locks, 0o700); err != nil {
		return nil, w.problem("it cannot be made: " + place.Cause(err).Error())
	}
	if !w.isPrivate() {
		return nil, w.problem("it is somebody else's, or others may write there")
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
			return nil, w.lockProblem(err)
		}
		held = append(held, u)
	}
	held = append(held, lockDirs(ctx, places))
	for _, p := range places {
		if err := p.CheckMakesNoRepository(); err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// lockDirs locks the directories of places, as far as that is possible soon: servers with other directories of locks,
// as in containers, do so too.
func lockDirs(ctx context.Context, places []*place.Place) (unlock func()) {
	ctx, cancel := context.WithTimeout(ctx, dirLockTime)
	defer cancel()
	dirs := map[string]*place.Place{}
	for _, p := range places {
		dirs[p.Directory()] = p
	}
	var held []*os.File
	for _, path := range slices.Sorted(maps.Keys(dirs)) {
		d, err := dirs[path].Parent().Open(".")
		if err != nil {
			continue
		}
		held = append(held, d) // closing it unlocks it
		for !tryLock(d) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
	return func() {
		for _, d := range held {
			d.Close()
		}
	}
}

// lockProblem returns the refusal of a call that did not get a lock.
func (w *writer) lockProblem(err error) *place.Refusal {
	switch id := durable.LockHolder(err); {
	case id > 0:
		return place.Refuse(place.IO, "another edit of the file does not end (process %d); try again", id)
	case errors.Is(err, durable.ErrLocked):
		return place.Refuse(place.IO, "another edit of the file does not end; try again")
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) { // the last has no path
		err = cause
	}
	return w.problem("no lock can be taken there: " + err.Error())
}

// problem returns the refusal of a call for which the directory of the locks cannot be used, with a way out.
func (w *writer) problem(why string) *place.Refusal {
	return place.Refuse(place.IO, "nothing can be written, because of the directory for locks, %s: %s; mend that, or "+
		"start the server with HALLMARK_HOME set to a directory of your own", place.Show(w.locks), place.Show(why))
}

// isPrivate reports whether nobody but the user can write in the directory of the locks, where displaced files are
// examined by their names.
func (w *writer) isPrivate() bool {
	info, err := os.Stat(w.locks)
	return err == nil && info.IsDir() && isOurs(info)
}
