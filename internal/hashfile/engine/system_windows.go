package engine

import (
	"io/fs"
	"os"
	"syscall"
)

// canSyncDirs says whether a directory can be synced to the disk, with the names in it.
const canSyncDirs = false

// countLinks returns the number of names that a file has.
func countLinks(f *os.File) int {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err == nil {
		return int(info.NumberOfLinks)
	}
	return 1
}

// tryLock reports true: a directory cannot be locked on this system.
func tryLock(*os.File) bool { return true }

// isOurs reports true: on this system a directory in the user's profile is the user's own.
func isOurs(fs.FileInfo) bool { return true }
