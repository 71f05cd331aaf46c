//go:build !unix

package process

import "os"

// PassedOn are the signals that the server gets when the guard gets them. Processes send each other no
// signals here, so an interrupt ends the server.
var PassedOn = []os.Signal{os.Interrupt}

// BrokenPipe is empty: there is no such signal.
var BrokenPipe []os.Signal

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
