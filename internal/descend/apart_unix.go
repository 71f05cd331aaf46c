//go:build unix && !linux

package descend

import (
	"os"
	"syscall"
)

// apart gives a first process a session of its own.
func apart(sys *syscall.SysProcAttr) *syscall.SysProcAttr {
	with := syscall.SysProcAttr{}
	if sys != nil {
		with = *sys
	}
	with.Setsid, with.Setpgid, with.Foreground = true, false, false
	return &with
}

var brokenPipe = []os.Signal{syscall.SIGPIPE}
