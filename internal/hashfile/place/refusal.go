package place

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/surface"
)

// The codes of refusals that package hashline does not have.
const (
	OutsideRoots hashline.Code = "outside_roots"
	Forbidden    hashline.Code = "forbidden"
	ReadOnly     hashline.Code = "read_only"
	Exists       hashline.Code = "exists"
	NotFound     hashline.Code = "not_found"
	NotAFile     hashline.Code = "not_a_file" // a directory, pipe, socket or device
	HardLink     hashline.Code = "hard_link"
	IO           hashline.Code = "io"
)

// Refusal is an error as a model is told it; its members are the structured content of the tool's result.
type Refusal struct {
	Code       hashline.Code `json:"code"`
	Message    string        `json:"message"`
	FileHash   string        `json:"file_hash,omitempty"`   // of the file as it is now
	TotalLines *int          `json:"total_lines,omitempty"` // set whenever FileHash is
	Lines      []string      `json:"lines,omitempty"`       // tagged lines near the anchors, as they are now
	Operations []int         `json:"operations,omitempty"`  // the operations concerned, from 1 as in the message
	Candidates []int         `json:"candidates,omitempty"`  // line numbers
	Anchors    []MovedAnchor `json:"anchors,omitempty"`     // of a stale edit, and where they are now
}

// MovedAnchor says where the line of an anchor is in the file as it is now.
type MovedAnchor struct {
	Operation int    `json:"operation"` // from 1
	Anchor    string `json:"anchor"`    // as it was given
	Now       string `json:"now"`       // the anchor of the same line now; "" if it is gone or was changed
}

// Error says why the call was refused.
func (r *Refusal) Error() string { return r.Message }

// Text returns the refusal as a model reads it: the message, then the file's hash and lines as they are now.
func (r *Refusal) Text() string {
	var text strings.Builder
	text.WriteString(r.Message)
	if r.FileHash != "" {
		fmt.Fprintf(&text, "\n[file_hash=%s total_lines=%d]", r.FileHash, *r.TotalLines)
	}
	for _, line := range r.Lines {
		text.WriteString("\n" + line)
	}
	return text.String()
}

// Refuse returns a refusal. Arguments that come from outside must have passed through [Show].
func Refuse(code hashline.Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// RefusalOf returns any error about the file at path as a refusal. If it wraps a refusal, that is returned as it is. Of
// an error of the system only the cause is kept, without the path that the system names.
func RefusalOf(path string, err error) *Refusal {
	var r *Refusal
	var h *hashline.Error
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &h):
		r := Refuse(h.Code, "%s: %s", Show(path), h.Error())
		for _, index := range h.Operations {
			r.Operations = append(r.Operations, index+1)
		}
		r.Candidates = h.Candidates
		return r
	case errors.Is(err, fs.ErrNotExist):
		return Refuse(NotFound, "%s does not exist", Show(path))
	case errors.Is(err, fs.ErrExist):
		return Refuse(Exists, "%s exists already", Show(path))
	case errors.Is(err, fs.ErrPermission):
		return Refuse(IO, "%s: the system denies access (%s); no tool here changes that, ask the user", Show(path),
			Show(Cause(err).Error()))
	case errors.Is(err, context.Canceled):
		return Refuse(IO, "%s: the call was canceled", Show(path))
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return Refuse(IO, "%s: %s", Show(path), Show(errno.Error()))
	}
	return Refuse(IO, "%s: %s", Show(path), Show(err.Error()))
}

// refuseOutside refuses a path outside of the allowed directories, which are dirs as far as the caller may know them.
// The text is the same whether the path exists or not.
func refuseOutside(path string, dirs []string) *Refusal {
	return Refuse(OutsideRoots, "%s is outside the allowed directories; give a path in %s", Show(path),
		nameDirectories(dirs))
}

// maxNamed is how many allowed directories a refusal names.
const maxNamed = 3

// nameDirectories names the allowed directories, or some of many.
func nameDirectories(dirs []string) string {
	switch n := len(dirs); {
	case n == 0:
		return "a directory that list_directory gives without a path"
	case n == 1:
		return Show(dirs[0]) + ", where relative paths begin"
	case n > maxNamed:
		return Show(strings.Join(dirs[:maxNamed], ", ")) + " or another one that list_directory gives without a path"
	}
	return Show(strings.Join(dirs, " or "))
}

// RefuseTooLarge refuses a file or content that is larger than the server's limit, in bytes.
func RefuseTooLarge(path string, size, limit int64) *Refusal {
	return Refuse(hashline.TooLarge, "%s has %d bytes; the server's limit is %d (--max-file)", Show(path), size, limit)
}

// RefuseStale refuses to change a file that is not the one that the caller read.
func RefuseStale(path, why string) *Refusal {
	return Refuse(hashline.Stale,
		"%s %s; nothing was written. Use the file_hash and lines given here, or read it again", Show(path), why)
}

// Cause returns an error of the system without the path in it, for messages that name the path in their own form.
func Cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// maxShown is the length of the text that Show returns, in bytes before it is escaped.
const maxShown = 1000

// Show shortens a path, name or message from outside and escapes what a terminal or a model could misread.
func Show(s string) string {
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return surface.Escape(s)
}
