package guard

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/descend"
)

// Process is a started server, or a connection to a remote one.
type Process struct {
	name    string
	process *os.Process
	family  *descend.Family
	remote  *bridge // in place of process and family
	stdin   *sink
	stdout  *source
	exited  chan struct{} // closed when the process was waited for
	code    int           // valid after exited, like state
	state   string        // how the process ended: "exit status 3", "signal: killed"

	endOnce sync.Once
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

// wait waits until the process and all that descends from it have ended. It runs once, in
// a goroutine of its own.
func (p *Process) wait() {
	p.code = 1
	p.family.Wait(func() error {
		state, err := p.process.Wait()
		if err == nil {
			p.code, p.state = exitCode(state), state.String()
		}
		p.stdout.stop() // before exited, after which it may be closed
		return err
	})
	close(p.exited)
}

// The patience that an ending server gets.
const (
	graceClose = 5 * time.Second // after its standard input was closed
	graceTerm  = 2 * time.Second // after it was asked to terminate

	// Once its client has left, or a signal said that it is to end, all is over within a second.
	graceLeft = 500 * time.Millisecond // until it is asked to terminate
	termLeft  = 100 * time.Millisecond // until it is killed
)

// end closes the process's standard input and waits until it ends: for at most grace, or
// until now, then it is terminated, and after term, which is termLeft at most if now has
// come, it is killed.
func (p *Process) end(now <-chan struct{}, grace, term time.Duration) {
	p.endOnce.Do(func() { p.stdin.close() })
	if p.waitFor(now, grace) {
		return
	}
	p.terminate()
	began := time.Now()
	if p.waitFor(now, term) {
		return
	}
	if p.waitFor(nil, min(term, termLeft)-time.Since(began)) {
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
	if s == os.Kill {
		p.family.Kill()
	} else if n, ok := s.(syscall.Signal); ok {
		p.family.Signal(n)
	}
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
