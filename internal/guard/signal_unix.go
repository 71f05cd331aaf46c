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

// signalProcess sends s to the process and all of its group, unless the process has ended.
func (p *Process) signalProcess(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := s.(syscall.Signal); ok && !p.ended {
		syscall.Kill(-p.process.Pid, n)
	}
}

// killGroup kills the whole group. p.mu is held, and p has not been reaped.
func (p *Process) killGroup() { syscall.Kill(-p.process.Pid, syscall.SIGKILL) }

func exitCode(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
