package hallmark

import (
	"errors"
	"os"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
)

// OpenCallLog opens the file that [RunOptions] has a line appended to for each call, and
// creates it if need be. The entry of a client that names it may be the checkout's, and what
// is written are words of the model's: in the project at dir and below the working directory
// no link is followed, and only a regular file is opened. The error is of class Refused then.
func OpenCallLog(dir, name string) (*os.File, error) {
	f, err := beneath.OpenAppend(name, ".", dir)
	if errors.Is(err, beneath.ErrLink) || errors.Is(err, beneath.ErrIrregular) {
		return nil, evidence.Errorf(evidence.Refused, name, "name a file that is not there yet with --log", errors.Unwrap(err))
	}
	return f, err
}
