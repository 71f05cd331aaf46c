package guard

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"
)

// Process is a started server, or a connection to a remote one.
type Process struct {
	name    string
	process *os.Process
	remote  *bridge // in place of process
	stdin   *sink
	stdout  *source
	exited  chan struct{} // closed when the process was waited for
	code    int           // valid after exited, like state
	state   string        // how the process ended: "exit status 3", "signal: killed"

	endOnce sync.Once

	mu    sync.Mutex
	ended bool // no signal is sent any more: the number may come to be another's
}

// Pid is the process id, 0 for a remote server.
func (p *Process) Pid() int {
	if p.remote != nil {
		return 0
	}
	return p.process.Pid
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitCode is the code with which the process ended, 128 and the signal's number
// if a signal ended it, or -1 while it runs.
func (p *Process) ExitCode() int {
	select {
	case <-p.exited:
		return p.code
	default:
		return -1
	}
}

// wait ends what the process leaves in its group, and reaps it. It runs once, in a
// goroutine of its own.
func (p *Process) wait() {
	ended := waitUnreaped(p.process.Pid)
	p.mu.Lock()
	if ended {
		p.killGroup() // its number is still its own
	}
	p.ended = true
	p.mu.Unlock()
	state, err := p.process.Wait()
	p.code = 1
	if err == nil {
		p.code, p.state = exitCode(state), state.String()
	}
	p.stdout.stop() // before exited, after which it may be closed
	close(p.exited)
}

// The patience that an ending server gets.
const (
	graceClose = 5 * time.Second // after its standard input was closed
	graceTerm  = 2 * time.Second // after it was asked to terminate
)

// end closes the process's standard input and waits until it ends: for at most
// grace, or until ctx is done, then it is terminated, and after term it is killed.
func (p *Process) end(ctx context.Context, grace, term time.Duration) {
	p.endOnce.Do(func() { p.stdin.close() })
	if p.waitFor(ctx.Done(), grace) {
		return
	}
	p.terminate()
	if p.waitFor(nil, term) {
		return
	}
	p.kill()
	<-p.exited
}

// Kill ends the process at once and releases what belongs to it.
func (p *Process) Kill() {
	p.kill()
	<-p.exited
	p.endOnce.Do(func() { p.stdin.close() })
	p.stdout.close()
}

// signal passes s on to the server, unless it has ended.
func (p *Process) signal(s os.Signal) {
	if p.remote != nil {
		p.remote.signal(s)
		return
	}
	p.signalProcess(s)
}

func (p *Process) terminate() { p.signal(syscall.SIGTERM) }

func (p *Process) kill() { p.signal(os.Kill) }

// waitFor reports whether the process ended within d and before now.
func (p *Process) waitFor(now <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-now:
	case <-t.C:
	}
	return false
}
