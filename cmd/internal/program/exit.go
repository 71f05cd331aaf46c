package program

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// exitCodes is the only table of exit codes. With several problems the code belongs to the most
// urgent class, in the order in which package evidence declares them.
var exitCodes = map[evidence.Class]int{
	evidence.OK:         0,
	evidence.Operation:  1,
	evidence.Validation: 2,
	evidence.Integrity:  3,
	evidence.Refused:    4,
	evidence.Signature:  5,
	evidence.Drift:      6,
}

// exitInterrupted is the exit code after Ctrl-C, by the convention of shells.
const exitInterrupted = 130

// ExitCode maps an error to the code of its class.
func ExitCode(err error) int {
	var code ServerExit
	switch {
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitCodes[evidence.ClassOf(err)]
}

// ServerExit is the exit code of a server that was run, which becomes that of the program.
type ServerExit int

// Error is never shown: the server's own messages were.
func (ServerExit) Error() string { return "the server ended" }

// Shown is an error that was printed already.
type Shown struct {
	Err error
	// Away says that it was printed where the person at the terminal does not see it, such as into a file.
	Away bool
}

// Error returns the message of the error that was printed.
func (e Shown) Error() string { return e.Err.Error() }

// Unwrap returns the error that was printed.
func (e Shown) Unwrap() error { return e.Err }
