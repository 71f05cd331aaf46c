package workspace

import (
	"errors"
	"os"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// OpenAppend opens a file for appending lines about the project at dir, such as the log of calls or
// a summary, and creates it if it is missing. In the project and below the working directory it
// follows no link and opens only a regular file, because a checkout may hold something under that
// name and the lines contain text of servers and models. It then fails with class Refused.
func OpenAppend(dir, name string) (*os.File, error) {
	f, err := durable.OpenAppend(name, ".", dir)
	if errors.Is(err, durable.ErrLink) || errors.Is(err, durable.ErrIrregular) {
		return nil, evidence.Errorf(evidence.Refused, name, "name a file that is not there yet", errors.Unwrap(err))
	}
	return f, err
}
