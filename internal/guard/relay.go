package guard

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/drift"
	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/listing"
	"github.com/hallmark-mcp/hallmark/internal/guard/memory"
	"github.com/hallmark-mcp/hallmark/internal/guard/notes"
	"github.com/hallmark-mcp/hallmark/internal/guard/pipe"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/surface"
)

// relay is one guarded session. The client's pump, the server's pump and at most
// one lister run at a time, each with a session.
type relay struct {
	o      Options
	p      *process.Process
	client *pipe.Sink
	server *pipe.Sink
	notes  *notes.Notes
	nonce  string
	gone   chan struct{}   // closed when the client takes nothing any more
	leave  func()          // closes gone
	ctx    context.Context // ends with the relay

	replies chan []byte    // to the server, by a goroutine of its own
	running sync.WaitGroup // lister and replier

	mu        sync.Mutex
	closed    bool // nothing may be started any more
	surface   *drift.State
	pending   map[string]*request // sent to the server and not answered, by idKey
	asked     int                 // requests by the guard so far
	asks      int                 // requests and notifications to the server so far
	told      int                 // of asks, the last notification that no later request's answer followed; 0 is none
	lost      []int               // answers that cannot be told to a request: how many asks there were, ascending
	tasks     memory.Map[string]  // tool that a task runs, by task id
	tasksFull bool                // some are missing in tasks
	cursors   memory.Map[[]byte]  // of pages, raw, by what stands for them

	// The handshake.
	initializing bool           // initialize is not answered yet
	initialized  bool           // it is, with a result
	waiting      bool           // notifications/initialized was forwarded before the answer came
	offers       listing.Offers // what the server offers to list
	meta         []byte         // params._meta of the guard's own requests; stateless only
	listed       bool           // the guard has listed the surface since

	// Held calls. While holding is not nil guarded requests wait in queue.
	holding  chan struct{} // closed when the calls have been released
	queue    []*held
	heldIDs  map[string]*held
	heldLen  int // bytes in queue
	stale    map[surface.Kind]bool
	lister   bool // watch runs
	budget   int  // Methods that may be made without a rest
	refilled time.Time
}

// request is what the guard remembers of a request to the server.
type request struct {
	what      what
	listing   int                 // index in Methods, of askList
	tool      string              // of askTask; what askCall names
	meta      []byte              // of askDiscover
	answer    chan listing.Answer // of askGuard; has room for one
	raw       []byte              // the id as it was written
	cancelled bool
	turn      int // its place among asks
}

type what byte

const (
	askOther what = iota
	askList
	askInitialize
	askDiscover
	askCall
	askTask
	askGuard
)

// maxPending bounds the requests that wait for an answer, in either direction of
// the queue: sent, and held.
const maxPending = 10_000

// session is what one goroutine needs to handle messages.
type session struct {
	*relay
	s     jsonrpc.Scanner
	flush func() bool // writes the lines before the current one; nil outside a pump
	then  func()      // to do once the current line has been written
	tail  []byte      // the end of the current line, if that is too long
}

// Relay forwards between the client and p until either side ends, and returns the
// code with which p ended. If the client closes clientIn, or clientOut breaks, the
// server's standard input is closed, and a server that does not end is terminated, so that
// Relay returns within a second. What the server had written when it ended is delivered. The
// signals INT, TERM, HUP and QUIT are passed on to the server, which is given as long to
// end. err is not nil only if ctx ended.
//
// A read of clientIn that waits when Relay returns is ended if clientIn is an
// [*os.File] on Linux; elsewhere it goes on waiting in a goroutine of its own.
func Relay(ctx context.Context, clientIn io.Reader, clientOut io.Writer, p *process.Process, o Options) (exitCode int,
	err error) {
	inner, cancel := context.WithCancel(context.Background())
	r := newRelay(inner, pipe.NewSink(clientOut, false), p, o)
	in := pipe.NewSource(clientIn, false)

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, process.PassedOn...)
	defer signal.Stop(signals)
	if len(process.BrokenPipe) > 0 {
		broken := make(chan os.Signal, 1)
		signal.Notify(broken, process.BrokenPipe...)
		defer signal.Stop(broken)
	}

	hurry := make(chan struct{}) // closed when the server has had its time
	late := sync.OnceFunc(func() { close(hurry) })
	leaving := make(chan struct{}) // closed when its time begins
	left := sync.OnceFunc(func() {
		close(leaving)
		time.AfterFunc(min(r.o.grace, process.GraceLeft), late)
	})
	unattended := pipe.Watch(clientIn, clientOut, left, r.leave)
	defer unattended()
	clientDone, serverDone, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.running.Go(r.reply)
	go func() {
		defer close(serverDone)
		s := session{relay: r}
		s.pump(jsonrpc.NewLines(p.Stdout, r.o.lineLimit), s.fromServer, r.toClient)
	}()
	go func() {
		defer close(clientDone)
		s := session{relay: r}
		s.pump(jsonrpc.NewLines(in, r.o.lineLimit), s.fromClient, r.server.WriteAll)
		left()
		r.settle(serverDone)
	}()
	ending := sync.OnceFunc(func() {
		go func() {
			defer close(ended)
			p.End(hurry, r.o.grace, r.o.term)
		}()
	})
	client, server, gone, done, hurried := clientDone, serverDone, r.gone, ctx.Done(), hurry
	for alive := true; alive; {
		select {
		case s := <-signals:
			p.Signal(s)
			left()
		case <-hurried:
			hurried = nil
			ending()
		case <-done:
			done, err = nil, ctx.Err()
			late()
			ending()
		case <-client:
			client = nil
			ending()
		case <-gone:
			gone = nil
			left()
			ending()
		case <-server: // it may have closed its output and stay
			server = nil
			ending()
		case <-ended:
			alive = false
		}
	}
	r.deliver(leaving, serverDone)
	cancel()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	unattended()
	in.Stop()
	if in.CanStop() {
		select {
		case <-clientDone:
		case <-time.After(min(r.o.grace, deliverLeft)): // it has an error for a client that reads nothing
			r.client.Stop()
			<-clientDone
		}
		in.Close()
	}
	r.running.Wait()
	p.Stdout.Close()
	r.client.Close()
	return p.ExitCode(), err
}

func newRelay(ctx context.Context, client *pipe.Sink, p *process.Process, o Options) *relay {
	if o.lineLimit == 0 {
		o.lineLimit = jsonrpc.LineLimit
	}
	if o.grace == 0 {
		o.grace = process.GraceClose
	}
	if o.term == 0 {
		o.term = process.GraceTerm
	}
	if o.ListTimeout == 0 {
		o.ListTimeout = 60 * time.Second
	}
	if o.rest == 0 {
		o.rest = restAfterLists
	}
	gone := make(chan struct{})
	return &relay{
		o: o, p: p, client: client, server: p.Stdin, ctx: ctx, gone: gone,
		leave:   sync.OnceFunc(func() { close(gone) }),
		notes:   notes.New(o.Stderr, o.Log, o.Server),
		nonce:   rand.Text(),
		replies: make(chan []byte, 64),
		surface: drift.NewState(o.Approved, o.Judge),
		pending: map[string]*request{},
		heldIDs: map[string]*held{},
		stale:   map[surface.Kind]bool{},
		budget:  listBurst, refilled: time.Now(),
	}
}
