// Package process starts a server from the bytes that were verified, or connects to a remote one, and
// ends it. Both are a [Process]: lines go in and come out.
//
// # Processes
//
// [Exec] runs an open file of package process. A script runs as its interpreter, an image too, with
// the script's descriptor as its argument, except for interpreters that open scripts by name.
//
// A server has a session of its own, without a controlling terminal. It gets the signals that the
// guard gets, and its descendants end with it; package foreign says how far that goes.
//
// # Remote servers
//
// [Connect] makes a [Process] of a server that is reached by streamable HTTP. Each line is one POST to
// its URL; the lines of the server come from the answers, JSON or streams of events, and from the
// stream that is opened by GET after notifications/initialized. A stream that breaks off is resumed
// after its last event, five times without a new one. Redirects are refused, so that headers go nowhere
// else. The session's id and the protocol version are sent as the protocol says, from version
// 2026-07-28 on also the method, the name and the arguments that a tool's schema asks to repeat in
// headers.
//
// Bounded are: an answer and an event (64 MiB), a response's headers (64 KiB), requests without an
// answer (256), and the wait for a notification to be taken (30 s). A call may take any time. What
// cannot be had from the server is answered with an error; a server that has forgotten the session ends
// it, with exit code 1.
//
// # Bytes
//
// [Source] and what stands beside it read and write the byte streams between a client, the guard and a server, so that
// a read or write that waits can be ended from another goroutine, and notices when a peer leaves.
//
// A [Source] that was stopped still delivers what was on its way. On Linux every file can be
// stopped; elsewhere only those that belong to the guard.
//
// # Images
//
// An [Image] is a file that was opened once, hashed as it was opened, and kept for execution.
//
// On Linux a static ELF file up to 64 MiB is copied into a sealed memory file while it is hashed, so
// that not even a writer of the same file can change what runs; any other file is executed through
// its descriptor, so that another file under the same name cannot take its place. For the JavaScript
// runtimes that promise is NOT made, see [Image.ByName]. On other systems a file is hashed again
// before it is started by its name.
package process

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// Process is a started server, or a connection to a remote one.
type Process struct {
	Stdin  *Sink   // what the server reads
	Stdout *Source // what the server writes

	name    string
	process *os.Process
	family  *foreign.Family
	remote  *bridge       // in place of process and family
	exited  chan struct{} // closed when the process was waited for
	code    int           // valid after exited, like state
	state   string        // how the process ended: "exit status 3", "signal: killed"

	closeStdin sync.Once
}

// Name is the server's name, for messages.
func (p *Process) Name() string { return p.name }

// IsRemote reports whether the server is reached by HTTP.
func (p *Process) IsRemote() bool { return p.remote != nil }

// Failure returns why a remote server did not answer a request, such as that it cannot be reached; nil if it answered
// all.
func (p *Process) Failure() error {
	if p.remote == nil {
		return nil
	}
	p.remote.mu.Lock()
	defer p.remote.mu.Unlock()
	return p.remote.failure
}

// State says how a process that has ended did so: "exit status 3", "signal: killed".
func (p *Process) State() string { return p.state }

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

// wait waits until the process and all its descendants have ended. It runs once, in a goroutine of
// its own.
func (p *Process) wait() {
	p.code = 1
	p.family.Wait(func() error {
		state, err := p.process.Wait()
		if err == nil {
			p.code, p.state = exitCode(state), state.String()
		}
		p.Stdout.Stop() // before exited, after which it may be closed
		return err
	})
	close(p.exited)
}

// How long a server may take to end.
const (
	GraceAnswers = 10 * time.Second // for the requests that wait when the client closes its input
	GraceClose   = 5 * time.Second  // after its standard input was closed
	GraceTerm    = 2 * time.Second  // after it was asked to terminate

	// When its client has left, or a signal asked for the end, all is over within a second.
	GraceLeft = 500 * time.Millisecond // until the server is asked to terminate
	termLeft  = 100 * time.Millisecond // until it is killed
)

// End closes the standard input of the process and waits until it ends: for at most grace, or until
// now is closed. Then the process is asked to terminate, and killed after term, or after at most
// termLeft if now is closed.
func (p *Process) End(now <-chan struct{}, grace, term time.Duration) {
	p.closeStdin.Do(func() { p.Stdin.Close() })
	if p.WaitFor(now, grace) {
		return
	}
	p.terminate()
	began := time.Now()
	if p.WaitFor(now, term) {
		return
	}
	if p.WaitFor(nil, min(term, termLeft)-time.Since(began)) {
		return
	}
	p.kill()
	<-p.exited
}

// Kill ends the process at once and releases its pipes.
func (p *Process) Kill() {
	p.kill()
	<-p.exited
	p.closeStdin.Do(func() { p.Stdin.Close() })
	p.Stdout.Close()
}

// Signal passes s on to the server, unless it has ended.
func (p *Process) Signal(s os.Signal) {
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

// terminate asks the server to end.
func (p *Process) terminate() { p.Signal(syscall.SIGTERM) }

// kill ends the server at once.
func (p *Process) kill() { p.Signal(os.Kill) }

// WaitFor reports whether the process ended within d, and before now is closed.
func (p *Process) WaitFor(now <-chan struct{}, d time.Duration) bool {
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

// Subject is an executable, interpreter or tree that a process will run from, with its sha256 fingerprint
// as it was judged.
type Subject struct {
	Name   string
	Digest digest.Digest
}
