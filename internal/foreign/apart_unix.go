//go:build unix && !linux

package foreign

import (
	"os"
	"syscall"
)

// inNewSession gives a first process a session of its own.
func inNewSession(sys *syscall.SysProcAttr) *syscall.SysProcAttr {
	with := syscall.SysProcAttr{}
	if sys != nil {
		with = *sys
	}
	with.Setsid, with.Setpgid, with.Foreground = true, false, false
	return &with
}

var brokenPipe = []os.Signal{syscall.SIGPIPE}
