//go:build unix

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// fileID is all that the system says of a file, but when it was read: device, inode, size, and when it was changed.
// Nobody can set the time of the last change (ctime) back, as they can that of the last write.
type fileID unix.Stat_t

// idOf identifies an open file.
func idOf(file *os.File) *fileID {
	var s unix.Stat_t
	return identify(&s, unix.Fstat(int(file.Fd()), &s))
}

// idAt identifies the file at path.
func idAt(path string) *fileID {
	var s unix.Stat_t
	return identify(&s, unix.Lstat(path, &s))
}

func identify(s *unix.Stat_t, err error) *fileID {
	if err != nil {
		return nil
	}
	var never unix.Stat_t
	s.Atim = never.Atim
	return (*fileID)(s)
}
