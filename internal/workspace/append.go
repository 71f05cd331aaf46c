package workspace

import (
	"errors"
	"os"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
)

// OpenAppend opens a file that a caller names for lines about the project at dir, such as the
// log of calls or a summary, and creates it if need be. A checkout may hold something under
// that name, and what is written are words of servers and models: in the project and below the
// working directory no link is followed, and only a regular file is opened. The error is of
// class Refused then.
func OpenAppend(dir, name string) (*os.File, error) {
	f, err := beneath.OpenAppend(name, ".", dir)
	if errors.Is(err, beneath.ErrLink) || errors.Is(err, beneath.ErrIrregular) {
		return nil, evidence.Errorf(evidence.Refused, name, "name a file that is not there yet", errors.Unwrap(err))
	}
	return f, err
}
