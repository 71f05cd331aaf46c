package registry

import (
	"context"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/ledger"
)

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

// Entries is the log as a database keeps it. What is appended is appended by the
// transaction that changes a record, so that neither is there without the other.
// Implementations are those of [Records].
type Entries interface {
	// LogHashes returns up to n hashes from the one with the index first on: of
	// entries at level 0, and of complete subtrees of 256^level entries above. They
	// end where the log ends.
	LogHashes(ctx context.Context, level int, first int64, n int) ([]tlog.Hash, error)

	// LogEntries returns up to n entries from the one with the index first on.
	LogEntries(ctx context.Context, first int64, n int) ([][]byte, error)

	// LogIndex returns the index of the entry that published a version, or ErrNotFound.
	LogIndex(ctx context.Context, kind ledger.Kind, name, version string) (int64, error)

	// LogLater returns the indexes of the statuses and findings of a version of what is
	// published as kind, of each the newest n, in ascending order.
	LogLater(ctx context.Context, of ledger.Kind, name, version string, n int) ([]int64, error)

	// LogSettled returns nil if the entries that were read before it are as safe as those
	// of a commit that succeeded. Where a commit waits for a replica of the database, one
	// that gave up waiting failed, and what it wrote may be read all the same.
	LogSettled(ctx context.Context) error

	// LogState returns what is kept beside the entries.
	LogState(ctx context.Context) (LogState, error)

	// SetLogState keeps it, except for the size.
	SetLogState(ctx context.Context, s LogState) error
}

// LogState is what a database keeps beside the entries of its log.
type LogState struct {
	Size     int64
	Signed   bool   // a checkpoint was signed; which one is kept elsewhere
	Cosigned []byte // the newest checkpoint with signatures of witnesses; nil if none
}

// MaxLater is how many of the later entries about a record are named: the newest of its
// statuses and the newest of its findings, so that neither pushes the other out.
const (
	MaxLater     = 2 * MaxLaterEach
	MaxLaterEach = 50
)

// RecordEntries are the places in the log of what is about one record. Who relies on
// them reads the entries themselves, with proofs; that none is left out is for monitors
// to find.
type RecordEntries struct {
	Index int64   `json:"index" doc:"Of the entry that published it"`
	Later []int64 `json:"later" doc:"Of its statuses and findings, in ascending order; the newest 50 of each"`
}
