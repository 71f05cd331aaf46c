package log

import (
	"context"
	"net/http"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/ledger"
)

// Feeder is what asks witnesses, one round at a time.
type Feeder struct{ feeder }

// NewFeeder asks witnesses to cosign the checkpoints of l.
func NewFeeder(l *Log, trust ledger.Trust, witnesses ...Witness) *Feeder {
	for _, w := range witnesses {
		trust.Witnesses = append(trust.Witnesses, w.Key)
	}
	return &Feeder{
		feeder{log: l, witnesses: witnesses, trust: trust, client: http.DefaultClient,
			known: make([]int64, len(witnesses))}}
}

// Round asks every witness once.
func (f *Feeder) Round(ctx context.Context, head ledger.Signed) error { return f.askAll(ctx, head) }

// Serve serves the better one of cosigned and of what the database has.
func (f *Feeder) Serve(ctx context.Context, cosigned ledger.Signed) error {
	return f.serve(ctx, cosigned)
}

// Open reads a checkpoint with the witnesses of the feeder.
func (f *Feeder) Open(note []byte) (ledger.Signed, error) { return f.trust.Open(note) }

// EdgeAt is the right edge of the tree of the first size entries.
func (l *Log) EdgeAt(ctx context.Context, size int64) (ledger.Edge, tlog.Hash, error) {
	return l.edgeAt(ctx, size)
}
