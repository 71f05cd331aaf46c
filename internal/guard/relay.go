package guard

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Relay forwards between the client and p until either side ends, and returns the code with which p
// ended. What the server had written when it ended is delivered. err is not nil only if ctx ended, which then is as if
// the client had left.
//
// If the client closes clientIn, the requests that wait are answered first, for at most
// [process.GraceAnswers]; then the server's standard input is closed, and a server that does not end is
// terminated after its grace. If clientOut breaks, nobody reads answers any more: Relay returns within a
// second. The signals INT, TERM, HUP and QUIT are passed on to the server, which then has the same time.
//
// A read of clientIn that waits when Relay returns is ended if clientIn is an [*os.File] on Linux;
// elsewhere it goes on waiting in a goroutine of its own.
func Relay(ctx context.Context, clientIn io.Reader, clientOut io.Writer, p *process.Process, o Options) (exitCode int,
	err error) {
	inner, cancel := context.WithCancel(context.Background())
	r := newRelay(inner, process.NewSink(clientOut, false), p, o)
	in := process.NewSource(clientIn, false)
	signals, stopSignals := takeSignals()
	defer stopSignals()
	overdue := make(chan struct{}) // closed when the server has had its time to end
	hurry := sync.OnceFunc(func() { close(overdue) })
	leaving := make(chan struct{}) // closed when that time begins
	clientLeft := sync.OnceFunc(func() {
		close(leaving)
		time.AfterFunc(min(r.o.grace, r.o.left), hurry)
	})
	spent := make(chan struct{}) // closed when the server has had its time to answer
	inputClosed := sync.OnceFunc(func() { time.AfterFunc(r.o.answers, func() { close(spent) }) })
	stopWatching := process.Watch(clientIn, clientOut, inputClosed, r.leave)
	defer stopWatching()
	clientDone, serverDone, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.running.Go(r.writeReplies)
	go func() {
		defer close(serverDone)
		s := session{relay: r}
		s.pump(jsonrpc.NewLines(p.Stdout, r.o.lineLimit), s.fromServer, r.toClient)
	}()
	go func() {
		defer close(clientDone)
		s := session{relay: r}
		s.pump(jsonrpc.NewLines(in, r.o.lineLimit), s.fromClient, r.server.WriteAll)
		inputClosed()
		r.waitForAnswers(serverDone, spent)
	}()
	endServer := sync.OnceFunc(func() { go r.endServer(p, overdue, ended) })
	err = r.waitForEnd(ctx, p, ends{
		signals: signals, client: clientDone, server: serverDone, late: overdue, silent: spent, ended: ended,
		clientLeft: clientLeft, endServer: endServer,
	})
	r.waitForDelivery(leaving, serverDone)
	cancel()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	stopWatching()
	r.stopClient(in, clientDone)
	r.running.Wait()
	p.Stdout.Close()
	r.client.Close()
	return p.ExitCode(), err
}

// endServer waits until p has ended, or ends it when overdue is closed, and closes ended then.
func (r *relay) endServer(p *process.Process, overdue <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	p.End(overdue, r.o.grace, r.o.term)
}

// takeSignals has the signals that are passed on come to a channel, and that of a broken pipe end nothing, until stop.
func takeSignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, process.PassedOn...)
	broken := make(chan os.Signal, 1)
	if len(process.BrokenPipe) > 0 {
		signal.Notify(broken, process.BrokenPipe...)
	}
	return signals, func() {
		signal.Stop(signals)
		signal.Stop(broken)
	}
}

// ends are the ways in which a relay ends, each a channel that is closed then, and what is done.
type ends struct {
	signals    <-chan os.Signal // that are passed on
	client     <-chan struct{}  // the client has sent all, and its answers were awaited
	server     <-chan struct{}  // the server has closed its output
	late       <-chan struct{}  // the server has had its time to end
	silent     <-chan struct{}  // the server has had its time to answer
	ended      <-chan struct{}  // the server has ended
	clientLeft func()           // gives the server its time to end
	endServer  func()           // ends it, in a goroutine
}

// waitForEnd waits until the server has ended, and ends it when one side is done. err is ctx's, if it ended.
func (r *relay) waitForEnd(ctx context.Context, p *process.Process, e ends) (err error) {
	// Each of these happens once; a nil channel is not waited for again.
	gone, done := r.gone, ctx.Done()
	for {
		select {
		case s := <-e.signals:
			p.Signal(s)
			e.clientLeft()
		case <-e.late:
			e.late = nil
			e.endServer()
		case <-done:
			done, err = nil, ctx.Err()
			e.clientLeft()
		case <-e.client:
			e.client = nil
			e.endServer()
		case <-e.silent:
			e.silent = nil
			e.endServer()
		case <-gone:
			gone = nil
			e.clientLeft()
			e.endServer()
		case <-e.server: // it may have closed its output, and run on
			e.server = nil
			e.endServer()
		case <-e.ended:
			return err
		}
	}
}

// stopClient ends the reading of the client's messages, as far as that can be ended.
func (r *relay) stopClient(in *process.Source, clientDone <-chan struct{}) {
	in.Stop()
	if in.CanStop() {
		select {
		case <-clientDone:
		case <-time.After(min(r.o.grace, deliveryGrace)): // it writes an error to a client that reads nothing
			r.client.Stop()
			<-clientDone
		}
		in.Close()
	}
}

// newRelay is a session with p, which has not begun. It ends with ctx.
func newRelay(ctx context.Context, client *process.Sink, p *process.Process, o Options) *relay {
	o.lineLimit = cmp.Or(o.lineLimit, jsonrpc.LineLimit)
	o.grace = cmp.Or(o.grace, process.GraceClose)
	o.term = cmp.Or(o.term, process.GraceTerm)
	o.answers = cmp.Or(o.answers, process.GraceAnswers)
	o.left = cmp.Or(o.left, process.GraceLeft)
	o.ListTimeout = cmp.Or(o.ListTimeout, 60*time.Second)
	o.rest = cmp.Or(o.rest, restAfterLists)
	gone := make(chan struct{})
	return &relay{
		o: o, p: p, client: client, server: p.Stdin, ctx: ctx, gone: gone,
		leave:   sync.OnceFunc(func() { close(gone) }),
		notes:   jsonrpc.New(o.Stderr, o.Log, o.Server),
		nonce:   rand.Text(),
		replies: make(chan []byte, 64),
		settled: make(chan struct{}, 1),
		surface: NewState(o.Approved, o.Judge),
		pending: map[string]*request{},
		heldIDs: map[string]*held{},
		stale:   map[surface.Kind]bool{},
		budget:  listBurst, refilled: time.Now(),
	}
}
