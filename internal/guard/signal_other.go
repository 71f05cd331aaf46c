//go:build !unix

package guard

import "os"

// passedOn are the signals that the server gets when the guard gets them. Without
// signals between processes an interrupt ends the server.
var passedOn = []os.Signal{os.Interrupt}

var brokenPipe []os.Signal

func exitCode(state *os.ProcessState) int { return state.ExitCode() }
