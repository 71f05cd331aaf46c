package hallmark

import (
	"context"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/monitor"
	"github.com/hallmark-mcp/hallmark/internal/trail"
)

// MonitorOptions say which log is audited, and how.
type MonitorOptions struct {
	Machine Machine
	URL     string        // base URL of a registry, or
	From    string        // directory with a copy of a log's files: checkpoint, tile/…
	LogKey  string        // verifier key of the log; "" is the one that this machine knows, if URL is given
	State   string        // file that keeps what was read; "" reads everything each time
	Follow  time.Duration // between rounds; 0 is one round
	Reread  int           // in how many rounds all that was read before is read again; 0 is never

	// Round gets the result of each round; its error ends the audit. May be nil.
	Round func(*Monitored) error
}

// Monitored is what is known about a log after a round.
type Monitored struct {
	Origin    string    // the log's name
	Size      int64     // entries that were read, in all rounds
	Root      string    // as rebuilt from them
	Records   int64     // that were compared with their entries, in this round
	Archives  int64     // that were downloaded and recomputed, in this round
	Anomalies []Anomaly // in all rounds
}

// An Anomaly is something that an honest registry never shows.
type Anomaly struct {
	What     string // such as "rewritten"
	Index    *int64 // of the entry, if it is about one
	Subject  string // such as "server io.github.acme/notes@1.4.0"
	Path     string // of a tile
	Expected string
	Actual   string
	Detail   string // more, such as two checkpoints in full
}

// Monitor reads every entry of a registry's log, rebuilds its tree, compares tiles, checkpoint and
// every record that the registry serves with the entries, and reports what an honest registry never
// shows. If it finds an anomaly, the error is of class Integrity. The result is nil if nothing was
// read.
func Monitor(ctx context.Context, o MonitorOptions) (*Monitored, error) {
	h, err := o.Machine.open(".", fetch.Limits{})
	if err != nil {
		return nil, err
	}
	options := monitor.Options{
		URL: o.URL, From: o.From, Log: trail.Options{Key: o.LogKey}, State: o.State, Follow: o.Follow, Reread: o.Reread,
	}
	if o.Round != nil {
		options.Round = func(r *monitor.Result) error { return o.Round(describeAudit(r)) }
	}
	r, err := monitor.Monitor(ctx, h, options)
	if r == nil {
		return nil, err
	}
	return describeAudit(r), err
}

func describeAudit(r *monitor.Result) *Monitored {
	out := &Monitored{Origin: r.Origin, Size: r.Size, Root: r.Root, Records: r.Records, Archives: r.Archives}
	for _, a := range r.Found {
		out.Anomalies = append(out.Anomalies, Anomaly(a))
	}
	return out
}
