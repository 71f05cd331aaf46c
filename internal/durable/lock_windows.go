package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes an exclusive lock without waiting and reports whether it has it.
// Locks are mandatory on Windows; one byte far beyond the end is locked, so that the
// holder's note can still be read.
func lockFile(f *os.File) (bool, error) {
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &at)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return false, nil
	}
	return false, os.NewSyscallError("LockFileEx", err)
}

// unlockFile does nothing: closing releases the lock, as no process has another copy of the handle.
func unlockFile(*os.File) {}
