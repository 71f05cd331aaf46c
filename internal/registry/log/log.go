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

	kick chan struct{} // somebody waits; has room for one
	once sync.Once
	stop context.CancelFunc
	done chan struct{}

	Signed atomic.Int64 // checkpoints since the start

	// Of the one goroutine that signs.
	edge ledger.Edge // of the tree that was signed last
	last tlog.Hash   // of its last entry
	tag  string      // of what Heads has

	forgets bool // no copy of the head is kept beside the key

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
	logPoll  = time.Second      // between looks for entries that nobody here waits for
	logRetry = time.Second      // after an error
	logTry   = 30 * time.Second // of one attempt to sign
	logWait  = 20 * time.Second // that a publish waits for its checkpoint
)

// extendAtOnce is how many entries are read at a time.
const extendAtOnce = 4096

// Open goes on with a log of which heads know what was signed last; see [Begin] for
// the first one of a key. It looks first whether the database still has what was signed;
// if not the error wraps ErrBroken, and the Log is there all the same, to tell so. There
// is none where nothing tells what was signed (ErrHead), or where the database never had
// the log (ErrElsewhere).
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

// Close ends signing. What is committed and not signed will be when it begins again.
func (l *Log) Close() {
	l.once.Do(l.stop)
	<-l.done
}

// Key is the verifier key, as clients pin it.
func (l *Log) Key() string { return l.key.VerifierKey }

// Entries are what the log signs.
func (l *Log) Entries() registry.Entries { return l.entries }

// Err is nil, or why nothing is signed: an error that wraps ErrBroken stays.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	return l.passed
}

// Broken is nil unless nothing will be signed any more.
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

// Checkpoint is what is served: the newest checkpoint or, where witnesses cosign, the
// newest that they did.
func (l *Log) Checkpoint() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.served.Note != nil {
		return l.served.Note
	}
	return l.head.Note
}

// Reason is what anybody may know of why the log is not signed.
func Reason(err error) string {
	if errors.Is(err, ErrBroken) {
		return ErrBroken.Error() + ", so nothing is published until the operator has looked at it"
	}
	return "what was signed last cannot be read or replaced; try again"
}
