// Package foreign starts tools of the user: npm, uv, pip, go, git, docker's credential helpers, and
// interpreters that are asked for their version. No other package does. Servers are started by the
// guard, from verified bytes; tools are the user's own, and are kept away from the checkout in which
// the user works, since somebody else wrote that.
//
// No file of the checkout is started as a tool: see [Checkout]. A tool gets
//
//   - a PATH without directories of the checkout, in which it would find others;
//   - of the environment the names in the table of its [Tool], and no other;
//   - a home, caches and configuration that its caller made, where the tool does not keep
//     the user's credentials in the real home (git, go);
//   - a working directory of ours, see [MakeDir]: no file of a checkout lies in it or above it;
//   - a session of its own, without a terminal, and nothing to read but what it is given;
//   - a limit of time and of output.
//
// When it ends, or is ended, so does everything that it started: package foreign says what
// that means on each system.
//
// # What is left running
//
// Programs that are not ours are started so that nothing of them is left running.
//
// A [Family] is a program that was started here and all that descends from it. Its first
// process has a session of its own, so it has no controlling terminal: /dev/tty cannot be
// opened, and the terminal's signals do not reach it. When it has ended, [Family.Wait]
// ends everything that it left behind before it returns.
//
// # Linux
//
// This process becomes a child subreaper with the first family: a descendant whose parent
// died becomes a child of this process, whatever session or group it made for itself. So
// every descendant is found by following parents up, and one that was adopted is reaped
// here. Exit statuses that others wait for are not taken: only children are reaped that
// have another session than this process, were not started as the first of a family and
// were not there before the first family. A program that uses this package must
// therefore start nothing with Setsid but by this package.
//
// An adopted process that has made a session of its own cannot be told to one of several
// families that run at once: it is ended when the last of these has. It gets time to end by
// itself, then SIGTERM, then SIGKILL. What is in the session of its family's first process
// is killed as soon as that has ended.
//
// The system may give a process id to another process. That of a child stays its own until
// the child is reaped, which happens under one lock. Any other process is opened (pidfd), and
// gets a signal only if the open process began at the same moment as the one that was found.
//
// If this process is killed (SIGKILL), the first process of each family is killed by the
// kernel (PR_SET_PDEATHSIG). The kernel does that when the thread ends that started it, so
// one thread, which never ends, starts all of them. Their descendants go on, unless [StartFile]
// started the family in a program that called [EnableKeepers]: then a keeper, a second process
// of the same program, is the parent of the first process, and kills all its descendants when
// this process is gone. A process of another user goes on, such as one that a set-user-ID
// program started, because this user may not end it; and all go on if the keeper was killed
// before.
//
// # Other systems
//
// The first process of a family has a session and a process group of its own, where there
// are such, and the whole group is killed when the first process has ended (not on Solaris
// and illumos). What made a group or session of its own stays. On Windows only the first
// process is ended.
package foreign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Limits of a Call that names none.
const (
	QuestionTime = time.Minute      // that an interpreter may take to say what it is
	ResolveTime  = 10 * time.Minute // that a resolver or installer may take
	MaxOutput    = 64 << 20         // bytes on standard output
	maxMessages  = 4 << 10          // bytes of standard error that are kept, the last ones
)

// Errors of a program that was ended.
var (
	ErrTime   = errors.New("it took too long")
	ErrOutput = errors.New("it printed too much")
)

// Call is one program to start.
type Call struct {
	Tool     Tool
	Path     string   // absolute
	Args     []string // without argv[0]
	Dir      string   // working directory, of ours
	Checkout Checkout // that Path must not lie in; the zero one holds everything
	Environ  []string // of the user: what Tool's table does not name is left out
	Set      []string // "NAME=VALUE", from us: they come last and count
	Stdin    io.Reader
	Time     time.Duration // 0: ResolveTime
	Output   int           // most bytes on standard output; 0: MaxOutput
	Merged   bool          // standard output goes among the messages
}

// Result is what a program printed.
type Result struct {
	Stdout   []byte
	Messages []byte // the end of standard error
}

// Run starts a program and waits for its end. An error is ctx's, wraps ErrTime or
// ErrOutput, or says how the program ended; what it printed until then is returned too.
func Run(ctx context.Context, c Call) (Result, error) {
	if !filepath.IsAbs(c.Path) || !filepath.IsAbs(c.Dir) {
		return Result{}, fmt.Errorf("start %s: its path and its directory must be absolute", filepath.Base(c.Path))
	}
	if c.Checkout.Holds(c.Path) { // wherever the caller found it
		return Result{}, refuseCheckoutProgram(c.Path, filepath.Base(c.Path))
	}
	c.Time = cmp.Or(c.Time, ResolveTime)
	if c.Output == 0 {
		c.Output = MaxOutput
	}
	timed, cancel := context.WithTimeoutCause(ctx, c.Time, ErrTime)
	defer cancel()
	bounded, stop := context.WithCancelCause(timed)
	defer stop(nil)
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Stdin = c.Dir, c.Stdin
	cmd.Env = Environment(c.Tool, c.Environ, c.Set, c.Checkout)
	out := &boundedBuffer{limit: c.Output, full: func() { stop(ErrOutput) }}
	var messages Tail
	cmd.Stdout, cmd.Stderr = out, &messages
	if c.Merged {
		cmd.Stdout = &messages
	}
	err := runFamily(bounded, cmd)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // a descendant held the pipes, and has been ended
	}
	result := Result{Stdout: out.kept.Bytes(), Messages: messages.kept}
	switch {
	case out.over:
		return result, ErrOutput
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	case bounded.Err() != nil:
		return result, fmt.Errorf("%w: more than %s", context.Cause(bounded), c.Time)
	}
	return result, err
}

// MakeDir makes a working directory below parent, and a function that removes it. Parent belongs to
// the user alone, unlike the system's directory for temporary files, where other users could put
// configuration above it. That one is used only if parent is "".
func MakeDir(parent, pattern string) (dir string, remove func(), err error) {
	if parent != "" {
		if parent, err = filepath.Abs(parent); err != nil {
			return "", nil, err
		}
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", nil, fmt.Errorf("make a directory to work in: %w", err)
		}
	}
	if dir, err = os.MkdirTemp(parent, pattern); err != nil {
		return "", nil, fmt.Errorf("make a directory to work in: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}

// ErrNotFound says that no directory of PATH has a program.
var ErrNotFound = errors.New("not found in PATH")

// Find returns the path of a server's command in the directories of path, those of a checkout
// included, because a server is hashed and approved before it starts. For a tool use
// [Checkout.Find]. The error is [ErrNotFound].
func Find(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // a relative entry would make what runs depend on where it is run
		}
		// An absolute name is checked alone, with the suffixes of this system.
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", ErrNotFound
}

// boundedBuffer keeps up to limit bytes, and calls full when more is written. The bytes.Buffer is not
// embedded, because io.Copy would then use its ReadFrom and pass the limit by.
type boundedBuffer struct {
	kept  bytes.Buffer
	limit int
	over  bool
	full  func()
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > b.limit {
		b.over = true
		b.full()
		return 0, ErrOutput
	}
	return b.kept.Write(p)
}

// Tail keeps the last bytes of what is written to it.
type Tail struct{ kept []byte }

// Write keeps the end of what was written so far. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-maxMessages):]
	t.kept = append(t.kept[max(0, len(t.kept)+len(p)-maxMessages):], p...)
	return n, nil
}
