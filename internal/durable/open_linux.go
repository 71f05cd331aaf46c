package durable

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/tree"
)

// Opener opens files below dir, from any number of goroutines, until done is called. The kernel resolves the
// whole path in one call and follows no link anywhere in it. Where openat2(2) does not exist, before Linux 5.6
// and in some containers, os.Root opens each file instead, which costs one call for each directory on the way.
func Opener(dir *os.Root) (open tree.Open, done func()) {
	plain := func(path string) (io.ReadCloser, error) { return dir.Open(path) }
	top, err := dir.Open(".")
	if err != nil {
		return plain, func() {}
	}
	at := int(top.Fd())
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_LARGEFILE,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	return func(path string) (io.ReadCloser, error) {
		for {
			fd, err := unix.Openat2(at, path, &how)
			switch err {
			case nil:
				return os.NewFile(uintptr(fd), path), nil
			case unix.EINTR:
			default:
				return plain(path) // works without openat2, or returns the error that the caller expects
			}
		}
	}, func() { top.Close() }
}
