package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrLocked says that somebody else holds a lock.
var ErrLocked = errors.New("locked by another process")

// ErrNoLock says that the path of a lock names something other than a regular file, such as a link,
// a pipe or a directory. Nothing of that kind is followed, opened or waited for.
var ErrNoLock = errors.New("is not a regular file, and so no lock")

// Lock takes the advisory lock at path, creating the file if needed, and waits for
// it until ctx ends. It excludes other processes and other calls in this one. The
// kernel releases it when the process ends, however it ends. what says in an error
// what the lock protects: "the project", "slot 12".
//
// The file stays when the lock is released: removing it would let two processes
// hold locks on two files of the same name.
//
// Lock polls instead of waiting in the kernel, because that wait cannot be cancelled: it would
// hold a thread, and then the lock, after ctx has ended.
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
	f, err := openLock(path)
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
		return nil, fmt.Errorf("lock of %s: %s: %w", what, path, &lockedError{readHolder(f)})
	}
	// The lock is on the file, not on its name. If somebody removed or replaced it
	// between our opening and locking, others lock another file.
	if !sameFile(f, path) {
		f.Close()
		return nil, fmt.Errorf("lock of %s: %s: %w", what, path, ErrLocked)
	}
	writeHolder(f)
	return func() {
		unlockFile(f)
		f.Close()
	}, nil
}

// openLock opens the file of a lock, or makes it. It checks what has the name before it opens it, and
// TryLock checks again with sameFile: the directory may be a checkout's, where somebody else may have
// put anything under this name, or may do so meanwhile.
func openLock(path string) (*os.File, error) {
	for range 100 {
		info, err := os.Lstat(path)
		var f *os.File
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // O_EXCL follows no link
		case err != nil:
		case !info.Mode().IsRegular():
			return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNoLock}
		default:
			f, err = os.OpenFile(path, os.O_RDWR|NoFollow|NoWait, 0)
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if _, gone := os.Lstat(filepath.Dir(path)); gone != nil {
			return nil, err
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNoLock} // it was made and removed each time
}

// sameFile reports whether path still names the open file f.
func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && b.Mode().IsRegular() && os.SameFile(a, b)
}

// lockedError is [ErrLocked] with what is known of the holder.
type lockedError struct{ process int }

func (l *lockedError) Error() string {
	if l.process == 0 {
		return ErrLocked.Error()
	}
	return fmt.Sprintf("%v (process %d)", ErrLocked, l.process)
}

func (l *lockedError) Unwrap() error { return ErrLocked }

// LockHolder returns the id of the process that holds a lock, from the error of [Lock] or [TryLock]
// that says so; 0 if it is not known.
func LockHolder(err error) int {
	if l, ok := errors.AsType[*lockedError](err); ok {
		return l.process
	}
	return 0
}

// writeHolder notes this process in the file of a lock that it holds, unless the note stands there from the last time:
// a process that takes the same lock again and again writes once. The note is for people who look for the holder; no
// code depends on it.
func writeHolder(f *os.File) {
	note := strconv.Itoa(os.Getpid()) + "\n"
	there, err := io.ReadAll(io.NewSectionReader(f, 0, 20))
	if err == nil && string(there) == note {
		return
	}
	// A longer note is cut before it is written over, never to nothing: some file systems flush a file that is emptied
	// and written again.
	if len(there) > len(note) && f.Truncate(int64(len(note))) != nil {
		return
	}
	f.WriteAt([]byte(note), 0)
}

// readHolder is the holder's own note of its process id; 0 if it cannot be read.
func readHolder(f *os.File) int {
	note, _ := io.ReadAll(io.LimitReader(f, 20))
	pid, err := strconv.Atoi(strings.TrimSpace(string(note)))
	if err != nil || pid <= 0 {
		return 0
	}
	return pid
}
