package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrLocked says that somebody else holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock takes the advisory lock at path, creating the file if needed, and waits for
// it until ctx ends. It excludes other processes and other calls in this one. The
// kernel releases it when the process ends, however it ends. what says in an error
// what the lock protects: "the project", "slot 12".
//
// The file stays when the lock is released: removing it would let two processes
// hold locks on two files of the same name.
//
// The lock is asked for again and again rather than waited for in the kernel,
// because a wait in the kernel cannot be called off: it would hold a thread, and
// then the lock, after ctx has ended.
func Lock(ctx context.Context, path, what string) (unlock func(), err error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		unlock, err := TryLock(path, what)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; waited until %w", err, context.Cause(ctx))
		case <-time.After(wait/2 + rand.N(wait)): // spread, so that waiters do not meet each time
		}
	}
}

// TryLock is [Lock] without waiting: the error wraps [ErrLocked] if the lock is held.
func TryLock(path, what string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of %s: %w", what, err)
	}
	held, err := lockFile(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock of %s: %s: %w", what, path, err)
	}
	if !held {
		defer f.Close()
		return nil, fmt.Errorf("lock of %s: %s: %w%s", what, path, ErrLocked, holder(f))
	}
	// The lock is on the file, not on its name. If somebody removed or replaced it
	// between our opening and locking, others lock another file.
	if !sameFile(f, path) {
		f.Close()
		return nil, fmt.Errorf("lock of %s: %s: %w", what, path, ErrLocked)
	}
	// A note for people who look for the holder; nothing depends on it.
	if f.Truncate(0) == nil {
		f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return func() { f.Close() }, nil // closing releases
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// holder is the holder's own note of its process id, if it can be read.
func holder(f *os.File) string {
	note, _ := io.ReadAll(io.LimitReader(f, 20))
	pid, err := strconv.Atoi(strings.TrimSpace(string(note)))
	if err != nil || pid <= 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}
