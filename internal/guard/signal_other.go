//go:build !unix

package guard

import (
	"os"
	"syscall"
)

// passedOn are the signals that the server gets when the guard gets them. Without
// signals between processes an interrupt ends the server.
var passedOn = []os.Signal{os.Interrupt}

var brokenPipe []os.Signal

func processGroup() *syscall.SysProcAttr { return nil }

func (p *Process) signalProcess(os.Signal) { p.process.Kill() }

// waitUnreaped does not wait: there are no groups to end.
func waitUnreaped(int) bool   { return false }
func (p *Process) killGroup() {}

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
