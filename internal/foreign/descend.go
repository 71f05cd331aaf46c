package foreign

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

// StartProcess is [os.StartProcess] for the first process of a family. attr.Sys is set here.
func StartProcess(name string, argv []string, attr *os.ProcAttr) (p *os.Process, f *Family, err error) {
	with := *attr
	with.Sys = inNewSession()
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
	c.SysProcAttr = inNewSession()
	return startFamily(func() (int, error) {
		if err := c.Start(); err != nil {
			return 0, err
		}
		return c.Process.Pid, nil
	})
}

// outputDelay is how long [runFamily] waits for the output of a program that has ended, where a
// descendant holds it that cannot be told to its family.
const outputDelay = time.Second

// runFamily starts c and waits for it. When ctx is done the whole family is killed, and the
// error is the cause of that. c must not have been made by [exec.CommandContext].
func runFamily(ctx context.Context, c *exec.Cmd) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.WaitDelay = outputDelay
	f, err := Start(c)
	if err != nil {
		return err
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
