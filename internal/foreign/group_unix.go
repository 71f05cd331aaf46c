//go:build unix

package foreign

import (
	"os"
	"syscall"
)

var brokenPipe = []os.Signal{syscall.SIGPIPE}

// signalGroup sends s to the group of a first process that was not reaped.
func signalGroup(pid int, s syscall.Signal) { syscall.Kill(-pid, s) }

// killGroup kills what is in the group of a first process that was not reaped.
func killGroup(pid int) { signalGroup(pid, syscall.SIGKILL) }
