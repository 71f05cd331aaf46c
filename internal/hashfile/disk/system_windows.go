package disk

import (
	"os"
	"syscall"
)

// canSyncDirs says that a directory can be brought to the disk, with the names in it.
const canSyncDirs = false

// countLinks is the number of a file's names.
func countLinks(f *os.File) int {
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err == nil {
		return int(info.NumberOfLinks)
	}
	return 1
}
