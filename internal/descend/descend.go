// Package descend starts programs that are not ours, and leaves nothing of them running.
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
package descend

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Family is a program that was started here, with all that descends from it.
type Family struct {
	pid int

	mu     sync.Mutex
	reaped bool // its process id may be reused
	killed bool // its descendants are killed without time to end by themselves

	alive io.Closer // pipe to the keeper, which kills the family when this end is closed; nil without a keeper
}

// registry holds the families whose first process has not been reaped. Its mutex is also held
// while a process is started, and while processes are found, ended or reaped.
var registry struct {
	sync.Mutex
	families map[int]*Family
	alive    int // families whose first process runs
	pipes    chan os.Signal
}

// StartProcess is [os.StartProcess] for the first process of a family. The session
// members of attr.Sys are set here.
func StartProcess(name string, argv []string, attr *os.ProcAttr) (p *os.Process, f *Family, err error) {
	with := *attr
	with.Sys = inNewSession(attr.Sys)
	f, err = startFamily(func() (int, error) {
		if p, err = os.StartProcess(name, argv, &with); err != nil {
			return 0, err
		}
		return p.Pid, nil
	})
	return p, f, err
}

// Start is the method Start of c, for the first process of a family. [Family.Wait] with
// the method Wait of c must follow.
func Start(c *exec.Cmd) (*Family, error) {
	c.SysProcAttr = inNewSession(c.SysProcAttr)
	return startFamily(func() (int, error) {
		if err := c.Start(); err != nil {
			return 0, err
		}
		return c.Process.Pid, nil
	})
}

// outputDelay is how long Run waits for the output of a program that has ended, where a
// descendant holds it that cannot be told to its family.
const outputDelay = time.Second

// Run starts c and waits for it. When ctx is done the whole family is killed, and the
// error is the cause of that. c must not have been made by [exec.CommandContext].
func Run(ctx context.Context, c *exec.Cmd) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f, err := Start(c)
	if err != nil {
		return err
	}
	if c.WaitDelay == 0 {
		c.WaitDelay = outputDelay
	}
	stop := context.AfterFunc(ctx, f.Kill)
	err = f.Wait(c.Wait)
	if !stop() && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// startFamily calls begin, which starts a process, and registers the process as the first of a family.
func startFamily(begin func() (pid int, err error)) (*Family, error) {
	registry.Lock()
	defer registry.Unlock()
	if err := prepareReaping(); err != nil {
		return nil, err
	}
	var (
		pid int
		err error
	)
	runOnStarter(func() { pid, err = begin() })
	if err != nil {
		return nil, err
	}
	f := &Family{pid: pid}
	if registry.families == nil {
		registry.families = map[int]*Family{}
	}
	if registry.pipes == nil && len(brokenPipe) > 0 {
		// A reader of our output that went away must not end this process before it has
		// ended the others. The signal is caught, not ignored: the programs that are started
		// would inherit that it is ignored.
		registry.pipes = make(chan os.Signal, 1)
		signal.Notify(registry.pipes, brokenPipe...)
	}
	registry.families[pid] = f
	registry.alive++
	return f, nil
}

// reapSoon is how long a first process that has ended usually takes to be waited for.
const reapSoon = 20 * time.Millisecond

// Wait waits until the first process has ended, ends all that is left of the family, and
// calls reap, which must wait for the first process, and whose error it returns. It is
// called once. Reap may wait for more than the process, such as the end of its output: it
// runs while the rest is ended.
func (f *Family) Wait(reap func() error) error {
	ended := waitUnreaped(f.pid)
	f.mu.Lock()
	if ended {
		killGroup(f.pid) // not reaped yet, so its process id is not reused
		f.reaped = true
	}
	f.mu.Unlock()
	if ended {
		f.noteEnd()
	}
	reaped := make(chan error, 1)
	go func() {
		err := reap()
		f.mu.Lock()
		f.reaped = true
		f.mu.Unlock()
		registry.Lock()
		if registry.families[f.pid] == f { // not a newer family that got the same process id
			delete(registry.families, f.pid)
		}
		registry.Unlock()
		reaped <- err
	}()
	if f.alive != nil {
		defer f.alive.Close()
	}
	var err error
	select {
	case err = <-reaped:
		reaped = nil
	case <-time.After(reapSoon):
	}
	if !ended {
		if reaped != nil {
			err, reaped = <-reaped, nil
		}
		f.noteEnd()
	}
	f.endRest()
	if reaped != nil {
		err = <-reaped
	}
	releaseBrokenPipe()
	return err
}

// releaseBrokenPipe stops catching the signal of a broken pipe when the last family is gone.
func releaseBrokenPipe() {
	registry.Lock()
	defer registry.Unlock()
	if len(registry.families) == 0 && registry.pipes != nil {
		signal.Stop(registry.pipes)
		registry.pipes = nil
	}
}

// noteEnd records that the first process has ended.
func (f *Family) noteEnd() {
	registry.Lock()
	registry.alive--
	registry.Unlock()
}

// Signal sends s to the group of the first process, unless that has ended. Where there
// are no signals it ends the process.
func (f *Family) Signal(s syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reaped {
		signalGroup(f.pid, s)
	}
}

// Kill ends all of the family at once.
func (f *Family) Kill() {
	f.mu.Lock()
	f.killed = true
	f.mu.Unlock()
	if f.alive != nil {
		f.alive.Close()
		time.AfterFunc(killPatience, func() { f.Signal(syscall.SIGKILL) })
		return
	}
	f.Signal(syscall.SIGKILL)
}

// EndAll ends all families, and what is left of earlier ones. It is for a program that is
// about to exit.
func EndAll() {
	registry.Lock()
	for _, f := range registry.families {
		f.Kill()
	}
	registry.Unlock()
	endAll()
}
