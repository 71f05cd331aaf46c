package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/jsonrpc"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
	"github.com/hallmark-mcp/hallmark/surface"
)

// relay is the state of one guarded session. The pump of the client, the pump of the server and at
// most one lister run at a time, each with a session of its own.
type relay struct {
	o      Options
	p      *process.Process
	client *process.Sink
	server *process.Sink
	notes  *jsonrpc.Notes
	nonce  string
	gone   chan struct{}   // closed when the client reads nothing any more
	leave  func()          // closes gone
	ctx    context.Context // ends with the relay

	replies chan []byte    // to the server, written by writeReplies
	running sync.WaitGroup // lister and writeReplies
	settled chan struct{}  // has room for one: less is waited for than before

	mu          sync.Mutex // guards what follows
	closed      bool       // nothing may be started any more
	surface     *State
	pending     map[string]*request // sent to the server and not answered, by jsonrpc.IDKey
	ownRequests int                 // requests by the guard so far
	tasks       jsonrpc.Map[string] // the tool that a task runs, by the task's id
	tasksFull   bool                // some are missing in tasks
	cursors     jsonrpc.Map[[]byte] // of pages, raw, by the names that replace them

	// What is needed to end requests whose answers cannot be assigned, see lost.go.
	sent             int   // requests and notifications to the server so far
	lastNotification int   // sent when it was sent
	notified         int   // notifications that may be answered yet: no later request was answered
	lostAnswers      []int // what sent was when such an answer came, ascending

	// The handshake.
	initializing     bool   // initialize is not answered yet
	initialized      bool   // initialize was answered with a result
	initializedEarly bool   // notifications/initialized was forwarded before that answer came
	offers           Offers // what the server offers to list
	meta             []byte // params._meta of the guard's own requests; stateless only
	listed           bool   // the guard has listed the surface since

	// Held calls. While holding is not nil guarded requests wait in queue.
	holding chan struct{} // closed when the calls have been released
	queue   []*held
	heldIDs map[string]*held
	heldLen int // bytes in queue

	// The guard's own listings, see relist.go.
	stale    map[surface.Kind]bool // kinds that must be listed again
	listing  bool                  // listStale runs
	budget   int                   // listings that may be made without a rest
	refilled time.Time             // when budget was last increased
}

// askKind says what the answer to a request is to the guard.
type askKind byte

const (
	askOther askKind = iota
	askList
	askInitialize
	askDiscover
	askCall
	askTask
	askGuard
)

// request is what the guard remembers of a request to the server.
type request struct {
	kind      askKind
	listing   int         // index in listing.Methods, of askList
	tool      string      // of askTask; what askCall names
	meta      []byte      // of askDiscover
	answer    chan Answer // of askGuard; has room for one
	rawID     []byte      // the id as it was written
	cancelled bool
	endless   bool // a subscription: its answer says that it has ended
	order     int  // relay.sent, with this request
}

// waits reports whether a client waits for the answer to q.
func (q *request) waits() bool { return q.kind != askGuard && !q.cancelled && !q.endless }

// settle takes the request under id out of those that wait for an answer. r.mu is held.
func (r *relay) settle(id string) {
	delete(r.pending, id)
	r.noteSettled()
}

// noteSettled wakes waitForAnswers.
func (r *relay) noteSettled() {
	select {
	case r.settled <- struct{}{}:
	default: // it will look
	}
}

// maxPending bounds the requests that were sent and wait for an answer, and those that are held.
const maxPending = 10_000

// session is what one goroutine needs to handle messages.
type session struct {
	*relay
	s          jsonrpc.Scanner
	flush      func() bool // writes the lines before the current one; nil outside of a pump
	afterWrite func()      // what to do once the current line has been written
	lineEnd    []byte      // the end of the current line, if the line is too long
	spread     jsonrpc.Candidates
}

// refused says why a message is not forwarded.
type refused struct {
	code int
	why  string
}

// Error is the reason as the client gets it.
func (e *refused) Error() string { return e.why }

// errID says that a message has an id that no request may have.
var errID = errors.New("the id is neither a string nor a number, or too long")

// errDropped says that a message is dropped without an answer.
var errDropped = errors.New("dropped")

// held is a line of the client that waits: a call, or a batch with a call in it.
type held struct {
	line      []byte
	methods   map[string]string // of its requests, by id
	cancelled map[string]bool   // ids that the client cancelled
}

// cancel notes that the client cancelled the request under id.
func (h *held) cancel(id string) {
	if h.cancelled == nil {
		h.cancelled = map[string]bool{}
	}
	h.cancelled[id] = true
}

// toClient writes to the client. A client that is gone is no error: the server's output must be read
// to its end so that the server can end.
func (r *relay) toClient(b []byte) error {
	if r.client.WriteAll(b) != nil {
		r.leave()
	}
	return nil
}

// noteDrift writes a line about d, once.
func (r *relay) noteDrift(d Drift) {
	verb := "withheld"
	if r.o.OnDrift == Warn {
		verb = "let through"
	}
	r.notes.PrintOnce(fmt.Sprintf("%s: %s; %s; run '%s'", jsonrpc.ShowName(d.Key), d.Reason, verb, r.reviewCommand()))
}

// reviewCommand is the command that shows what changed.
func (r *relay) reviewCommand() string {
	return cmp.Or(r.o.Review, "hallmark review "+jsonrpc.ShowText(r.o.Server))
}

// requestPolicy is what is done about requests of the server.
func (r *relay) requestPolicy() string {
	return cmp.Or(r.o.ServerRequests, RequestsAllow)
}

// comparesAny reports whether any kind of items is compared with what was approved.
func (r *relay) comparesAny() bool {
	return slices.ContainsFunc(surface.Kinds(), func(k surface.Kind) bool { return !r.o.Approved.Exclude[k] })
}
