package roots

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// statDirect looks at the directory of a path on which there is no link: the kernel walks the
// path at once and refuses links on it. Before Linux 5.6 and in some containers it cannot.
func statDirect(path string) (fs.FileInfo, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			f := os.NewFile(uintptr(fd), path)
			defer f.Close()
			return f.Stat()
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
			return statWalked(path)
		case !errors.Is(err, unix.EINTR):
			return nil, err
		}
	}
}
