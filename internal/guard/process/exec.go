package process

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Command is a process to start from verified bytes.
type Command struct {
	Name        string   // the server's name, for messages
	Exe         *Image   // verified executable or script
	Interpreter *Image   // what runs Exe if that is a script, see Image.Interpreter; else nil
	Words       []string // of Interpreter, before those of the #! line
	Args        []string // argv including argv[0]
	Env         []string // complete environment
	Dir         string   // working directory; "" is the guard's own
	Stderr      *os.File // the child's standard error; nil is the guard's own
}

// ErrNotScript is wrapped when an interpreter is given for a file that has no "#!" line, and ErrScript when
// none is given for a file that has one.
var (
	ErrNotScript = errors.New("has no #! line, but an interpreter is given")
	ErrScript    = errors.New("is a script, but no interpreter is given")
)

// ErrLookedAt is wrapped when an image is of [Seen.Look]: the bytes at its path may be others by now.
var ErrLookedAt = errors.New("was only looked at, and is not open")

// Exec starts c. Each subject must be permitted by adm for [policy.Execute] under its digest, and every
// image of c must have the digest of one of the subjects: the zero Admitted, a digest that was not judged,
// or an image that no subject names start nothing. Trees in use are given as subjects of their own. The
// images may be closed when Exec has returned. A ctx that is done starts nothing.
func Exec(ctx context.Context, adm policy.Admitted, subjects []Subject, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.Exe == nil || len(c.Args) == 0 {
		return nil, fmt.Errorf("%s: no executable or no arguments to start", surface.Escape(c.Name))
	}
	if len(subjects) == 0 {
		return nil, fmt.Errorf("%s: %w: nothing was judged", surface.Escape(c.Name), policy.ErrNotAdmitted)
	}
	for _, s := range subjects {
		if err := adm.Permits(s.Name, s.Digest, policy.Execute); err != nil {
			return nil, err
		}
	}
	images := []*Image{c.Exe}
	_, _, script := c.Exe.Interpreter()
	switch {
	case script && c.Interpreter == nil:
		return nil, fmt.Errorf("%s: %w", surface.Escape(c.Exe.Path()), ErrScript)
	case !script && c.Interpreter != nil:
		return nil, fmt.Errorf("%s: %w", surface.Escape(c.Exe.Path()), ErrNotScript)
	case script:
		if _, _, nested := c.Interpreter.Interpreter(); nested {
			return nil, fmt.Errorf("%s: the interpreter of a script is itself a script",
				surface.Escape(c.Interpreter.Path()))
		}
		images = append(images, c.Interpreter)
	}
	for _, image := range images {
		if image.File() == nil {
			return nil, fmt.Errorf("%s: %w", surface.Escape(image.Path()), ErrLookedAt)
		}
		if !isOneOf(image, subjects) {
			return nil, fmt.Errorf("%s: %w: no judged subject has its digest %s",
				surface.Escape(image.Path()), policy.ErrNotAdmitted, image.Observed().SHA256())
		}
	}
	if c.Stderr == nil {
		c.Stderr = os.Stderr
	}
	p, err := start(c)
	if err != nil {
		return nil, fmt.Errorf("%s: starting %s: %w", surface.Escape(c.Name), surface.Escape(c.Exe.Path()), err)
	}
	return p, nil
}

// isOneOf reports whether one of the subjects has the digest of image.
func isOneOf(image *Image, subjects []Subject) bool {
	for _, s := range subjects {
		e := evidence.Compare(
			evidence.Claim{Subject: s.Name, Scheme: evidence.File, Want: []digest.Digest{s.Digest}},
			evidence.Observed{Digests: []digest.Digest{image.Observed().SHA256()}})
		if e.Outcome == evidence.Match {
			return true
		}
	}
	return false
}
