package registry

import (
	"context"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// Heads keeps the checkpoint that was signed last, outside of the database.
type Heads interface {
	// Load returns the checkpoint and a tag, which identifies it. Without a checkpoint both
	// are empty.
	Load(ctx context.Context) (note []byte, tag string, err error)

	// Swap replaces the checkpoint with that tag by note, or keeps note as the first one if
	// the tag is empty, and returns the tag of note, which is on disk then. If the checkpoint
	// has another tag the error is ErrMoved. After any other error it is not known whether
	// note was kept.
	Swap(ctx context.Context, tag string, note []byte) (string, error)
}

// ErrMoved says that another process has signed meanwhile.
var ErrMoved = errors.New("another checkpoint was signed meanwhile")

// Entries is the log as a database keeps it. The transaction that changes a record appends its
// entries too, so that neither exists without the other. Databases that implement [Records]
// implement it too.
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

	// LogSettled returns nil if the entries that were read before the call are as durable as
	// those of a successful commit. Where commits wait for a replica of the database, a commit
	// may fail because it stopped waiting, and its entries can be read nevertheless.
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

// MaxLater bounds the later entries of a record in an answer: the newest of its statuses, and as
// many of its findings, so that neither displaces the other.
const (
	MaxLater     = 2 * MaxLaterEach
	MaxLaterEach = 50
)

// RecordEntries are the indexes of the log's entries about one record. A client that relies on
// them reads the entries themselves, with proofs. It cannot tell whether the registry leaves one
// out: monitors find that.
type RecordEntries struct {
	Index int64   `json:"index" doc:"Of the entry that published it"`
	Later []int64 `json:"later" doc:"Of its statuses and findings, in ascending order; the newest 50 of each"`
}
