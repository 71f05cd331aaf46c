// Package log signs the log that the database of a registry keeps, proves what is in it, and
// has witnesses cosign it. What was signed last is kept outside of the database, so that no
// second history is signed.
package log

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Log signs the log that a database keeps, and proves what is in it.
//
// The database appends in the transactions that change records, and knows no key. The
// Log follows it: what was committed since the last checkpoint is read, hashed onto the
// edge of the tree that was signed last, signed, and only then proven to anybody. One
// checkpoint serves all publishes that wait for one.
//
// What was signed last is kept by Heads, outside the database, and replaced by
// comparing and swapping. Each new tree grows out of that one, so that no checkpoint
// can be signed that contradicts an earlier one: where the database has less than was
// signed, or something else, as after an older backup was restored, nothing is signed
// any more and nothing is published. A replica that stops between a commit and its
// checkpoint loses nothing, as the next checkpoint of any replica covers it.
type Log struct {
	entries registry.Entries
	heads   registry.Heads
	key     ledger.Key
	trust   ledger.Trust
	logger  *slog.Logger
	tiles   tileCache

	kick chan struct{} // wakes the signing goroutine; buffers one
	once sync.Once
	stop context.CancelFunc
	done chan struct{}

	Signed atomic.Int64 // checkpoints since the start

	// Of the one goroutine that signs.
	edge ledger.Edge // of the tree that was signed last
	last tlog.Hash   // of its last entry
	tag  string      // of what Heads has

	copyFails bool // the copy of the head beside the key could not be written

	mu     sync.Mutex
	head   ledger.Signed
	newer  chan struct{} // closed when head is replaced, or will not be for now
	broken error         // wraps ErrBroken, for good
	passed error         // why the last attempt to sign did not succeed; nil if it did
	served ledger.Signed // the newest checkpoint that witnesses cosigned; zero if there are none
}

// ErrBroken says that the log of the database is not the one that was signed, so
// that it is never signed again.
var ErrBroken = errors.New("the log in the database is not the one that was signed")

// ErrKey says that a log is signed with another key than the one at hand.
var ErrKey = errors.New("the log is signed with another key")

// Times of a Log.
const (
	logPoll  = time.Second      // between looks for entries of other replicas
	logRetry = time.Second      // after an error
	logTry   = 30 * time.Second // of one attempt to sign
	logWait  = 20 * time.Second // that a publish waits for its checkpoint
)

// extendAtOnce is how many entries are read at a time.
const extendAtOnce = 4096

// Open continues a log whose last signed checkpoint heads hold; see [Begin] for the first log of
// a key. It checks first that the database still has everything that was signed. If it does not,
// the error wraps ErrBroken, and Open returns the Log too, which then serves and does not sign.
// It returns no Log if the last checkpoint is missing (ErrHead), or if the database never had the
// log (ErrElsewhere).
func Open(
	ctx context.Context, entries registry.Entries, heads registry.Heads, key ledger.Key, logger *slog.Logger,
) (*Log, error) {
	trust, err := ledger.NewTrust(key.VerifierKey, nil, 0)
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	l := &Log{entries: entries, heads: heads, key: key, trust: trust, logger: logger,
		kick: make(chan struct{}, 1), done: make(chan struct{}), newer: make(chan struct{})}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	err = l.begin(ctx)
	if err != nil && (!errors.Is(err, ErrBroken) || errors.Is(err, ErrHead) || errors.Is(err, ErrElsewhere)) {
		stop()
		return nil, fmt.Errorf("log %s: %w", key.Name(), err)
	}
	if err != nil {
		l.fail(err)
	}
	go l.run(running)
	return l, err
}

// Close ends signing. Entries that are committed and not signed are signed after the next Open.
func (l *Log) Close() {
	l.once.Do(l.stop)
	<-l.done
}

// Key is the verifier key that clients pin.
func (l *Log) Key() string { return l.key.VerifierKey }

// Entries are what the log signs.
func (l *Log) Entries() registry.Entries { return l.entries }

// Err returns why nothing is signed now, nil if the last attempt succeeded. An error that wraps
// ErrBroken is permanent.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	return l.passed
}

// Broken returns the error because of which nothing will be signed any more, nil if there is none.
func (l *Log) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Head is the newest checkpoint.
func (l *Log) Head() ledger.Signed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Checkpoint returns the checkpoint that is served: the newest that witnesses cosigned, or the newest
// of all if none did.
func (l *Log) Checkpoint() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.served.Note != nil {
		return l.served.Note
	}
	return l.head.Note
}

// Reason says why the log is not signed, in words that may be shown to any client.
func Reason(err error) string {
	if errors.Is(err, ErrBroken) {
		return ErrBroken.Error() + ", so nothing is published until the operator has looked at it"
	}
	return "what was signed last cannot be read or replaced; try again"
}
