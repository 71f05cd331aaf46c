//go:build !unix

package foreign

import (
	"os"
	"syscall"
)

// inNewSession changes nothing: there are no sessions.
func inNewSession() *syscall.SysProcAttr { return nil }

var brokenPipe []os.Signal

// signalGroup ends the first process: there are no signals between processes.
func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
		p.Release()
	}
}

// killGroup does nothing: there are no groups.
func killGroup(int) {}
