package process

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// attend waits, without reading or writing, until the client has closed its end of in, and
// calls closed, or its end of out, and calls broken, each once. What it had written before
// may still be read. done ends the waiting and must be called, before in or out is closed.
// A relay that waits for a server which does not read would not notice otherwise.
func Watch(in, out any, closed, broken func()) (done func()) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return func() {}
	}
	fds := []unix.PollFd{{Fd: descriptor(in), Events: unix.POLLRDHUP}, {Fd: descriptor(out)},
		{Fd: int32(wake), Events: unix.POLLIN}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for fds[0].Fd >= 0 || fds[1].Fd >= 0 {
			if _, err := unix.Poll(fds, -1); err == unix.EINTR {
				continue
			} else if err != nil || fds[2].Revents != 0 {
				return
			}
			for i, call := range []func(){closed, broken} {
				if fds[i].Revents != 0 {
					fds[i].Fd = -1 // which poll(2) ignores
					call()
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		unix.Write(wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		<-ended
		unix.Close(wake)
	})
}

// descriptor belongs to a file whose other end a peer may have; -1 is none.
func descriptor(end any) int32 {
	file, ok := end.(*os.File)
	if !ok {
		return -1
	}
	var st unix.Stat_t
	if fd := int(file.Fd()); unix.Fstat(fd, &st) == nil {
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR:
			return int32(fd)
		}
	}
	return -1
}

// errBroken is the cause of a context whose reader closed its end.
var errBroken = errors.New("the client has closed its end")

// UntilBroken is ctx until the reader of out has closed its end, so that what is done before
// a relay begins stops when its client leaves. The function that it returns must be called.
func UntilBroken(ctx context.Context, out io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := Watch(nil, out, func() {}, func() { cancel(errBroken) })
	return ctx, func() {
		done()
		cancel(nil)
	}
}
