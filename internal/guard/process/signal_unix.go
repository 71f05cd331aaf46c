//go:build unix

package process

import (
	"os"
	"syscall"
)

// PassedOn are the signals that the server gets when the guard gets them.
var PassedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// BrokenPipe is the signal to catch and ignore, so that a client that went away does not kill the guard.
// It must not be set to be ignored, because the server would inherit that.
var BrokenPipe = []os.Signal{syscall.SIGPIPE}

// exitCode is the code of state, or 128 and the number of the signal that ended it.
func exitCode(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
