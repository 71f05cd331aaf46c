package hashfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/surface"
)

// The codes of errors that are not package hashline's.
const (
	outsideRoots hashline.Code = "outside_roots"
	forbidden    hashline.Code = "forbidden"
	readOnly     hashline.Code = "read_only"
	exists       hashline.Code = "exists"
	notFound     hashline.Code = "not_found"
	notAFile     hashline.Code = "not_a_file" // a directory, pipe, socket or device
	hardLink     hashline.Code = "hard_link"
	ioError      hashline.Code = "io"
)

// problem is a refusal as the model is told it: one sentence with what to do, a code for
// programs, and whatever helps to try again.
type problem struct {
	Code       hashline.Code `json:"code"`
	Message    string        `json:"message"`
	FileHash   string        `json:"file_hash,omitempty"` // of the file as it is now
	TotalLines *int          `json:"total_lines,omitempty"`
	Lines      []string      `json:"lines,omitempty"`      // fresh, tagged, near the anchors
	Operations []int         `json:"operations,omitempty"` // concerned, by index from 0
	Candidates []int         `json:"candidates,omitempty"` // line numbers
}

func (p *problem) Error() string { return p.Message }

func refuse(code hashline.Code, format string, args ...any) *problem {
	return &problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

// show makes a path, name or message from outside safe to read.
func show(s string) string {
	const most = 1000
	if len(s) > most {
		s = s[:most] + "..."
	}
	return surface.Escape(s)
}

// outsideProblem is the refusal of a path outside; it is the same whether the path exists or not.
func outsideProblem(path string) *problem {
	return refuse(outsideRoots, "%s is outside the allowed directories; list_allowed_directories names them",
		show(path))
}

// asProblem returns any error about the file at path as a problem. Of the system's errors it holds the
// cause alone, without a path.
func asProblem(path string, err error) *problem {
	var p *problem
	var h *hashline.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &h):
		p := refuse(h.Code, "%s: %s", show(path), h.Error())
		p.Operations, p.Candidates = h.Operations, h.Candidates
		return p
	case errors.Is(err, fs.ErrNotExist):
		return refuse(notFound, "%s does not exist", show(path))
	case errors.Is(err, fs.ErrExist):
		return refuse(exists, "%s exists already", show(path))
	case errors.Is(err, fs.ErrPermission):
		return refuse(ioError, "%s: the system denies access", show(path))
	case errors.Is(err, context.Canceled):
		return refuse(ioError, "%s: the call was canceled", show(path))
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return refuse(ioError, "%s: %s", show(path), show(errno.Error()))
	}
	return refuse(ioError, "%s: %s", show(path), show(err.Error()))
}
