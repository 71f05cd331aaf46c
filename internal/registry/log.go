package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

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
	entries Entries
	heads   Heads
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
	broken error         // wraps ErrLogBroken, for good
	passed error         // why the last attempt to sign did not succeed; nil if it did
	served ledger.Signed // the newest checkpoint that witnesses cosigned; zero if there are none
}

// Heads keeps the checkpoint that was signed last, outside of the database.
type Heads interface {
	// Load returns the checkpoint and a tag that another one would not have. Without
	// one both are empty.
	Load(ctx context.Context) (note []byte, tag string, err error)

	// Swap puts note in the place of the checkpoint with that tag, or of none, and
	// returns its tag; it is on disk then. Where there is another one it is ErrMoved.
	// After any other error nobody knows.
	Swap(ctx context.Context, tag string, note []byte) (string, error)
}

// ErrMoved says that somebody else has signed meanwhile.
var ErrMoved = errors.New("another checkpoint was signed meanwhile")

// ErrLogBroken says that the log of the database is not the one that was signed, so
// that it is never signed again.
var ErrLogBroken = errors.New("the log in the database is not the one that was signed")

// ErrLogKey says that a log is signed with another key than the one at hand.
var ErrLogKey = errors.New("the log is signed with another key")

// Times of a Log.
const (
	logPoll  = time.Second      // between looks for entries that nobody here waits for
	logRetry = time.Second      // after an error
	logTry   = 30 * time.Second // of one attempt to sign
	logWait  = 20 * time.Second // that a publish waits for its checkpoint
)

// extendAtOnce is how many entries are read at a time.
const extendAtOnce = 4096

// OpenLog goes on with a log of which heads know what was signed last; see [BeginLog] for
// the first one of a key. It looks first whether the database still has what was signed;
// if not the error wraps ErrLogBroken, and the Log is there all the same, to tell so. There
// is none where nothing tells what was signed (ErrLogHead), or where the database never had
// the log (ErrLogElsewhere).
func OpenLog(ctx context.Context, entries Entries, heads Heads, key ledger.Key, logger *slog.Logger) (*Log, error) {
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
	if err != nil && (!errors.Is(err, ErrLogBroken) || errors.Is(err, ErrLogHead) || errors.Is(err, ErrLogElsewhere)) {
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
func (l *Log) Entries() Entries { return l.entries }

// Err is nil, or why nothing is signed: an error that wraps ErrLogBroken stays.
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

// Covering waits for a checkpoint of a tree with the entry. A full disk is not waited for.
func (l *Log) Covering(ctx context.Context, index int64) (ledger.Signed, error) {
	ctx, cancel := context.WithTimeout(ctx, logWait)
	defer cancel()
	for first := true; ; first = false {
		l.mu.Lock()
		head, newer, broken, passed := l.head, l.newer, l.broken, l.passed
		l.mu.Unlock()
		switch {
		case broken != nil:
			return ledger.Signed{}, broken
		case index < head.Size:
			return head, nil
		case !first && noRoom(passed):
			return ledger.Signed{}, unsigned(index, passed)
		}
		if first {
			select {
			case l.kick <- struct{}{}:
			default:
			}
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return ledger.Signed{}, unsigned(index, passed)
		}
	}
}

// CatchUp waits for a checkpoint of a tree with every entry that is committed now.
func (l *Log) CatchUp(ctx context.Context) error {
	state, err := l.entries.LogState(ctx)
	if err != nil || state.Size == 0 {
		return err
	}
	_, err = l.Covering(ctx, state.Size-1)
	return err
}

// unsigned is the error of an entry of which there is no checkpoint, and why.
func unsigned(index int64, why error) error {
	return errors.Join(fmt.Errorf("%w: no checkpoint of entry %d yet", ErrUnavailable, index), why)
}

// Prove proves that an entry is in the log, as soon as a checkpoint covers it. Leaf is
// its encoding; nil is read from the database.
func (l *Log) Prove(ctx context.Context, index int64, leaf []byte) ([]byte, error) {
	head, err := l.Covering(ctx, index)
	if err != nil {
		return nil, err
	}
	return l.proveIn(ctx, head, index, leaf)
}

// proveServed is Prove under the checkpoint that is served, if that covers the entry.
func (l *Log) proveServed(ctx context.Context, index int64) ([]byte, error) {
	l.mu.Lock()
	head := l.served
	l.mu.Unlock()
	if index < head.Size {
		return l.proveIn(ctx, head, index, nil)
	}
	return l.Prove(ctx, index, nil)
}

// proveIn proves that an entry is in the tree of a checkpoint. What is proven was
// checked once more.
func (l *Log) proveIn(ctx context.Context, head ledger.Signed, index int64, leaf []byte) ([]byte, error) {
	if leaf == nil {
		leaves, err := l.entries.LogEntries(ctx, index, 1)
		if err != nil {
			return nil, err
		}
		if len(leaves) != 1 {
			return nil, fmt.Errorf("log: entry %d is gone", index)
		}
		leaf = leaves[0]
	}
	hashes, err := tlog.ProveRecord(head.Size, index, l.hashes(ctx))
	if err != nil {
		return nil, err
	}
	if err := ledger.CheckInclusion(head.Checkpoint, index, leaf, hashes); err != nil {
		return nil, err
	}
	return ledger.Proof{Leaf: leaf, Index: index, Hashes: hashes, Checkpoint: head.Note}.Marshal(), nil
}

// begin reads what was signed last, wherever that is kept, and looks for it in the
// database. Where the places differ the newest is the one that is gone on from, and all
// have to be of one log.
func (l *Log) begin(ctx context.Context) error {
	for {
		state, err := l.entries.LogState(ctx)
		if err != nil {
			return err
		}
		kept, tag, decided, err := l.kept(ctx, state)
		if err != nil {
			return err
		}
		newest := kept[len(kept)-1]
		l.edge, l.last = ledger.Edge{}, tlog.Hash{}
		l.publish(newest) // whatever the database has: this was signed
		for _, signed := range kept {
			if err := l.reach(ctx, signed); errors.Is(err, ErrLogBroken) && !state.Signed {
				return fmt.Errorf("%w: %w", ErrLogElsewhere, err)
			} else if err != nil {
				return err
			}
		}
		if decided < newest.Size {
			if decided >= 0 {
				l.logger.Warn("the log's head went back, and is brought forward to what the key is known to have signed", "from", decided, "to", newest.Size)
			}
			tag, err = l.heads.Swap(ctx, tag, newest.Note)
			if errors.Is(err, ErrMoved) {
				continue
			}
			if err != nil {
				return err
			}
		}
		l.tag = tag
		if !state.Signed {
			state.Signed = true
			if err := l.entries.SetLogState(ctx, state); err != nil {
				return err
			}
		}
		l.remember(ctx, newest)
		return nil
	}
}

// kept are the checkpoints that this key signed last, as its places have them, from the
// smallest to the largest: one at least. Tag and decided, its size, are of the one that
// heads have; without one there decided is -1.
func (l *Log) kept(ctx context.Context, state LogState) (kept []ledger.Signed, tag string, decided int64, err error) {
	note, tag, err := l.heads.Load(ctx)
	if err != nil {
		return nil, "", 0, err
	}
	decided = -1
	add := func(note []byte, where Heads) error {
		signed, err := l.trust.Open(note)
		if err != nil {
			return fmt.Errorf("%w: %w: what is kept as signed last is no checkpoint of this log: %s: %w; it has to be one byte for byte, as it was signed: an editor may have added a line",
				ErrLogHead, ErrLogBroken, placeOf(where), err)
		}
		kept = append(kept, signed)
		return nil
	}
	if note != nil {
		if by := foreign(note, l.key); by != "" {
			return nil, "", 0, fmt.Errorf("%w, that of %+.200q", ErrLogKey, by)
		}
		if err := add(note, l.heads); err != nil {
			return nil, "", 0, err
		}
		decided = kept[0].Size
	}
	if both, ok := l.heads.(BesideHeads); ok {
		copied, _, err := both.Beside.Load(ctx)
		if err != nil {
			return nil, "", 0, err
		}
		switch by := foreign(copied, l.key); {
		case copied == nil:
		case by != "" && note == nil:
			return nil, "", 0, fmt.Errorf("%w, that of %+.200q", ErrLogKey, by)
		case by != "": // whose log was replaced, by another replica
		default:
			if err := add(copied, both.Beside); err != nil {
				return nil, "", 0, err
			}
			// More may have been signed than the copy knows, and only the place that decides
			// would tell: the copy alone is gone on from if nothing came after it.
			if size := kept[0].Size; note == nil && size != state.Size && (size > 0 || state.Signed) {
				return nil, "", 0, fmt.Errorf("%w: there is nothing in %s, and of the %d entries of the database %s has signed %d: start once with the place that had the head, or put the newest checkpoint there",
					ErrLogHead, placeOf(both.Heads), state.Size, placeOf(both.Beside), size)
			}
		}
	}
	if len(kept) == 0 && state.Signed {
		return nil, "", 0, fmt.Errorf("%w: %w: it was signed before, but what was signed last is missing: there is nothing in %s", ErrLogHead, ErrLogBroken, placeOf(l.heads))
	}
	if len(kept) == 0 {
		return nil, "", 0, fmt.Errorf("%w: there is nothing in %s", ErrLogHead, placeOf(l.heads))
	}
	if state.Cosigned != nil { // by witnesses of another log, it is none of this one
		if signed, err := l.trust.Open(state.Cosigned); err == nil {
			kept = append(kept, signed)
		}
	}
	slices.SortStableFunc(kept, func(a, b ledger.Signed) int { return cmp.Compare(a.Size, b.Size) })
	return kept, tag, decided, nil
}

// foreign is the name of who signed a checkpoint if the key did not, as the note says
// itself. It is "" for a note that is torn.
func foreign(signed []byte, key ledger.Key) string {
	var unverified *note.UnverifiedNoteError
	own, err := note.NewVerifier(key.VerifierKey)
	if err != nil {
		return ""
	}
	if _, err := note.Open(signed, nil); !errors.As(err, &unverified) {
		return ""
	}
	sigs := unverified.Note.UnverifiedSigs
	if len(sigs) == 0 || slices.ContainsFunc(sigs, func(s note.Signature) bool { return s.Name == own.Name() && s.Hash == own.KeyHash() }) {
		return ""
	}
	return sigs[0].Name
}

// adopt takes over a checkpoint that Heads has, if the database has its tree.
func (l *Log) adopt(ctx context.Context, note []byte, tag string) error {
	signed, err := l.trust.Open(note)
	if err != nil {
		return fmt.Errorf("%w: what is kept as signed last is no checkpoint of this log: %w", ErrLogBroken, err)
	}
	if signed.Size < l.edge.Size {
		return fmt.Errorf("%w: a checkpoint of %d entries was put in the place of one of %d", ErrLogBroken, signed.Size, l.edge.Size)
	}
	if err := l.reach(ctx, signed); err != nil {
		return err
	}
	l.tag = tag
	l.publish(signed)
	return nil
}

// reach moves the edge on to the tree of a checkpoint that is not smaller, if the database
// has that.
func (l *Log) reach(ctx context.Context, signed ledger.Signed) error {
	var (
		edge ledger.Edge
		last tlog.Hash
		err  error
	)
	if signed.Size-l.edge.Size > 16*extendAtOnce {
		edge, last, err = l.edgeAt(ctx, signed.Size)
	} else {
		edge, last, err = l.grow(ctx, signed.Size)
	}
	if err != nil {
		return err
	}
	if edge.Size < signed.Size {
		return fmt.Errorf("%w: %d entries were signed, and it has %d", ErrLogBroken, signed.Size, edge.Size)
	}
	if root := edge.Root(); root != signed.Root {
		return fmt.Errorf("%w: the root of its first %d entries is %s, %s was signed", ErrLogBroken, signed.Size, root, signed.Root)
	}
	l.edge, l.last = edge, last
	return nil
}

// edgeAt is the right edge of the tree of the first size entries, and the last of their
// hashes.
func (l *Log) edgeAt(ctx context.Context, size int64) (edge ledger.Edge, last tlog.Hash, err error) {
	edge.Size = size
	for level := 7; level >= 0; level-- {
		n := size >> (8 * level)
		width := int(n % ledger.TileWidth)
		if width == 0 {
			continue
		}
		hashes, err := l.entries.LogHashes(ctx, level, n-int64(width), width)
		if err != nil {
			return edge, last, err
		}
		if len(hashes) != width {
			return edge, last, fmt.Errorf("%w: %d entries were signed, and it has fewer", ErrLogBroken, size)
		}
		var part ledger.Edge
		for _, h := range hashes {
			part.Add(h)
		}
		edge.Hashes = append(edge.Hashes, part.Hashes...)
	}
	newest, err := l.entries.LogHashes(ctx, 0, size-1, 1)
	if err != nil {
		return edge, last, err
	}
	if len(newest) != 1 {
		return edge, last, fmt.Errorf("%w: entry %d is gone", ErrLogBroken, size-1)
	}
	return edge, newest[0], nil
}

// run signs whenever somebody waits, and now and then.
func (l *Log) run(ctx context.Context) {
	defer close(l.done)
	timer := time.NewTimer(logPoll)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
		case <-timer.C:
		}
		if l.Broken() != nil {
			return
		}
		attempt, cancel := context.WithTimeout(ctx, logTry)
		err := l.advance(attempt)
		cancel()
		next := logPoll
		switch {
		case errors.Is(err, ErrLogBroken):
			l.fail(err)
			return
		case err != nil && ctx.Err() == nil:
			l.logger.Error("log not signed", "error", err)
			next = logRetry
		}
		l.mu.Lock()
		l.passed = err
		if noRoom(err) {
			l.wake()
		}
		l.mu.Unlock()
		timer.Reset(next)
	}
}

// advance signs what the database has beyond the last checkpoint.
func (l *Log) advance(ctx context.Context) error {
	for {
		next, last, err := l.grow(ctx, ledger.MaxSize)
		if err != nil {
			return err
		}
		if next.Size == l.edge.Size {
			if more, err := l.more(ctx); !more || err != nil {
				return err
			}
			continue
		}
		// What the database may yet lose must not have been signed.
		if err := l.entries.LogSettled(ctx); err != nil {
			return err
		}
		note, err := l.sign(next)
		if err != nil {
			return err
		}
		tag, err := l.heads.Swap(ctx, l.tag, note)
		if errors.Is(err, ErrMoved) {
			// By a replica, or by ourselves when we were not told.
			note, tag, err := l.heads.Load(ctx)
			if err != nil {
				return err
			}
			if note == nil {
				return fmt.Errorf("%w: what was signed last was removed", ErrLogBroken)
			}
			if err := l.adopt(ctx, note, tag); err != nil {
				return err
			}
			l.remember(ctx, l.Head())
			continue
		}
		if err != nil {
			return err
		}
		signed, err := l.trust.Open(note)
		if err != nil {
			return err
		}
		l.edge, l.last, l.tag = next, last, tag
		l.Signed.Add(1)
		l.publish(signed)
		l.remember(ctx, signed) // when those who wait have been told
	}
}

// more reports whether the database has entries beyond the edge, which cannot be read if
// some between them and the edge are gone.
func (l *Log) more(ctx context.Context) (bool, error) {
	state, err := l.entries.LogState(ctx)
	if err != nil || state.Size <= l.edge.Size {
		return false, err
	}
	next, _, err := l.grow(ctx, ledger.MaxSize)
	if err == nil && next.Size == l.edge.Size {
		return false, fmt.Errorf("%w: it says that it has %d entries, and entry %d is gone", ErrLogBroken, state.Size, next.Size)
	}
	return err == nil, err
}

// grow is the edge with what the database has beyond it, up to size, and the last hash.
// That the last entry that was signed is there tells whether the database went back.
func (l *Log) grow(ctx context.Context, size int64) (edge ledger.Edge, last tlog.Hash, err error) {
	edge, last = l.edge.Clone(), l.last
	for {
		first := max(edge.Size-1, 0)
		n := int(min(extendAtOnce, size-first))
		hashes, err := l.entries.LogHashes(ctx, 0, first, n)
		if err != nil {
			return edge, last, err
		}
		more := len(hashes) == n
		if edge.Size > 0 {
			if len(hashes) == 0 {
				return edge, last, fmt.Errorf("%w: %d entries were signed, and it has fewer", ErrLogBroken, edge.Size)
			}
			if hashes[0] != last {
				return edge, last, fmt.Errorf("%w: entry %d is another one than was signed", ErrLogBroken, first)
			}
			hashes = hashes[1:]
		}
		l.tiles.add(0, edge.Size, hashes)
		for _, h := range hashes {
			edge.Add(h)
			last = h
		}
		if !more || edge.Size >= size {
			return edge, last, nil
		}
	}
}

func (l *Log) sign(edge ledger.Edge) ([]byte, error) {
	return ledger.Checkpoint{Origin: l.key.Name(), Size: edge.Size, Root: edge.Root()}.Sign(l.key)
}

// publish makes a checkpoint the newest.
func (l *Log) publish(signed ledger.Signed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.passed = signed, nil
	l.wake()
}

// wake lets those who wait look again. The caller has l.mu.
func (l *Log) wake() {
	close(l.newer)
	l.newer = make(chan struct{})
}

// fail ends signing for good.
func (l *Log) fail(err error) {
	l.logger.Error("log broken", "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = err
		l.wake()
	}
}
