package cli

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// exitCodes is the one table of exit codes. With several problems the code is that of
// the most urgent class, in the order in which package evidence declares them.
var exitCodes = map[evidence.Class]int{
	evidence.OK:         0,
	evidence.Operation:  1,
	evidence.Validation: 2,
	evidence.Integrity:  3,
	evidence.Refused:    4,
	evidence.Signature:  5,
	evidence.Drift:      6,
}

// interrupted is the exit code after Ctrl-C, as shells know it.
const interrupted = 130

// exitCode maps an error to the code of its class.
func exitCode(err error) int {
	var code serverExit
	switch {
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		return interrupted
	}
	return exitCodes[evidence.ClassOf(err)]
}

// serverExit is the exit code of a server that was run; it is passed on as it is.
type serverExit int

func (serverExit) Error() string { return "the server ended" }
