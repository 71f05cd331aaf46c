//go:build unix

package guard

import (
	"os"
	"syscall"
)

// passedOn are the signals that the server gets when the guard gets them.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// brokenPipe is caught and ignored, so that a client that went away does not kill
// the guard. It is not set to be ignored, because the server would inherit that.
var brokenPipe = []os.Signal{syscall.SIGPIPE}

func exitCode(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
