// Package monitor replays a log, and compares it with what its registry shows; or it cosigns logs, as a witness.
package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// Options say what to monitor and how.
type Options struct {
	URL    string        // base URL of a registry, or
	From   string        // directory with a copy of a log's files: checkpoint, tile/…
	Log    trail.Options // a directory needs a key
	State  string        // file that keeps what was read; "" reads everything in each run
	Follow time.Duration // pause between rounds; 0 is one round
	Reread int           // rounds in which all older entries are read once more; 0 is never
	// Round gets the result of each round; may be nil.
	Round func(*Result) error
}

// Result is the result of a round.
type Result struct {
	Origin  string `json:"origin"`
	Size    int64  `json:"size"`    // entries of the log that were read, in all rounds
	Root    string `json:"root"`    // as rebuilt from them
	Read    int64  `json:"read"`    // entries in this round
	Again   int64  `json:"again"`   // entries that were read before, and read again in this round
	Began   bool   `json:"began"`   // there was no file with what was read before
	Records int64  `json:"records"` // that were compared with their entries, in this round
	// Archives counts those downloaded and recomputed in this round; a monitor does so once for
	// each archive.
	Archives int64     `json:"archives"`
	Found    []Anomaly `json:"found"` // in all rounds
}

// Anomaly is something that an honest registry never shows.
type Anomaly struct {
	What     string `json:"what"`
	Index    *int64 `json:"index,omitempty"`   // of the entry
	Subject  string `json:"subject,omitempty"` // "server io.github.acme/notes@1.4.0"
	Path     string `json:"path,omitempty"`    // of a tile
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	Detail   string `json:"detail,omitempty"` // more, such as two checkpoints in full
}

// The values of Anomaly.What: what is wrong with a log, or with what a registry serves.
const (
	AnomalyDuplicate  = "duplicate"         // a name and version twice
	AnomalyUnreadable = "unreadable entry"  // the text of an entry is not a leaf
	AnomalyEntry      = "entry differs"     // an entry differs from what was read before
	AnomalyTile       = "tile differs"      // a tile does not hold the hashes of the entries
	AnomalyRoot       = "root differs"      // the entries do not have the root of the checkpoint
	AnomalyFork       = "fork"              // two checkpoints that cannot be of one log
	AnomalyCheckpoint = "checkpoint"        // not signed as it must be, or unreadable
	AnomalyRecord     = "record differs"    // the record is not the one of its entry
	AnomalyMissing    = "record missing"    // an entry whose record is not served
	AnomalyUnlogged   = "record not logged" // a record without an entry
	AnomalyStatus     = "status differs"    // the record's status is not that of its newest entry
	AnomalyArchive    = "archive differs"   // the archive is not the one of its record, or is missing
	AnomalyWithheld   = "entry withheld"    // a status or finding that the registry leaves out of a record's entries
)

// maxAnomalies bounds the anomalies that are kept.
const maxAnomalies = 1000

// Monitor replays a log from its first entry, or from where an earlier run stopped, rebuilds its
// tree, and compares what the registry serves with it. An anomaly stays in the state once it was
// found. The error has the class Integrity if there is any.
//
// It holds 24 bytes for each name and version and 33 bytes for each entry, and one tile of
// each level: the process takes 215 MB for 1,000,000 entries, and 345 MB with a state.
func Monitor(ctx context.Context, h *host.Host, o Options) (*Result, error) {
	if o.State != "" {
		unlock, err := durable.TryLock(o.State+".lock", "the monitor's state")
		if err != nil {
			return nil, evidence.Errorf(evidence.Operation, o.State, "", err)
		}
		defer unlock()
	}
	m, err := openMonitor(ctx, h, o)
	if err != nil {
		return nil, err
	}
	for {
		done, err := m.runRound(ctx)
		if err != nil && (o.Follow == 0 || ctx.Err() != nil) {
			return done, err
		}
		if err != nil {
			h.Logger.Warn("the round was not finished", "error", err)
		} else if o.Round != nil {
			if err := o.Round(done); err != nil {
				return done, err
			}
		}
		if o.Follow == 0 {
			return done, m.err()
		}
		select {
		case <-ctx.Done():
			return done, errors.Join(m.err(), context.Cause(ctx))
		case <-time.After(o.Follow):
		}
	}
}

// monitor is a running [Monitor].
type monitor struct {
	host    *host.Host
	options Options
	name    string // of what is monitored
	source  logSource
	log     *trail.Log // nil for a directory
	trust   ledger.Trust
	state   *State

	// What this round found.
	consistent    bool  // the newest checkpoint fits what was read
	read, records int64 // entries and records
	reread        int64 // entries that were read before
	archives      int64 // that were read

	nextCompare  time.Time      // of the records
	recomputed   map[int64]bool // entries whose archives were read
	laterEntries laterEntries   // that were read since the last comparison
}

// logSource is where a log is read.
type logSource struct {
	checkpoint    func(context.Context) ([]byte, error)
	tile          func(context.Context, string) ([]byte, error)
	listRecords   func(context.Context, registry.Query) (*registry.Page, error) // nil: there are none
	listArchives  func(ctx context.Context, kind string, q registry.Query) (*registry.ArchivePage, error)
	openArchive   func(ctx context.Context, kind, name, version string) (io.ReadCloser, int64, error)
	recordEntries func(ctx context.Context, kind ledger.Kind, name, version string) (*registry.RecordEntries, error)
}

// openMonitor opens the log and the kept state, and chooses the key that the log must be signed with.
func openMonitor(ctx context.Context, h *host.Host, o Options) (*monitor, error) {
	m := &monitor{host: h, options: o, recomputed: map[int64]bool{}, laterEntries: laterEntries{}}
	var key string
	if o.From != "" {
		m.name, m.source, key = o.From, directorySource(o.From), o.Log.Key
		if key == "" {
			return nil, evidence.Errorf(evidence.Refused, m.name, "give the log's key with --log-key",
				errors.New("nobody said whose log this is"))
		}
	} else {
		client := &client.Client{Base: o.URL}
		l := &trail.Log{Host: h, Client: client, Rules: project.Registry{URL: o.URL}}
		l.Name = l.Rules.Name()
		m.log = l
		m.name, m.source = l.Name, logSource{client.Checkpoint, func(ctx context.Context, path string) ([]byte, error) {
			return l.TileFetcher(ctx)(path)
		}, client.List, client.ListArchives, client.OpenArchive, client.LogOf}
		logs, err := trail.KnownLogs(h)
		if err != nil {
			return nil, err
		}
		if !l.ChooseKey(logs, o.Log) {
			if err := l.AskFirstUse(ctx, o.Log); err != nil {
				return nil, err
			}
		}
		if err := policy.Judge(policy.Check, policy.Settings{}, l.Report).Err(); err != nil {
			return nil, err
		}
		key = l.Key
	}
	var err error
	if m.trust, err = ledger.NewTrust(key, nil, 0); err != nil {
		return nil, evidence.Errorf(evidence.Validation, m.name, "", err)
	}
	if m.log != nil {
		m.log.Trust = m.trust
	}
	m.state, err = ReadState(o.State, key)
	return m, err
}

// addAnomaly adds an anomaly unless it was found before.
func (m *monitor) addAnomaly(a Anomaly) {
	for _, old := range m.state.Found {
		if old.What == a.What && old.Subject == a.Subject && old.Path == a.Path && old.Actual == a.Actual &&
			(old.Index == nil) == (a.Index == nil) && (a.Index == nil || *old.Index == *a.Index) {
			return
		}
	}
	if len(m.state.Found) < maxAnomalies {
		m.state.Found = append(m.state.Found, a)
	}
}

// err returns an error of class Integrity if there is an anomaly.
func (m *monitor) err() error {
	if n := len(m.state.Found); n > 0 {
		return evidence.Errorf(evidence.Integrity, m.name,
			"an honest registry shows none of this: see docs/ledger.md, Incident",
			fmt.Errorf("SECURITY ERROR: %d anomalies", n))
	}
	return nil
}

// runRound reads the new entries, compares, and writes the state.
func (m *monitor) runRound(ctx context.Context) (*Result, error) {
	m.read, m.reread, m.records, m.archives = 0, 0, 0, 0
	before, began := m.state.replay.Size(), m.host.Now()
	var missingErr error // the state is written in spite of it
	err := m.followLog(ctx)
	if err == nil && m.consistent && !began.Before(m.nextCompare) {
		if m.source.listRecords != nil {
			err = m.compareRecords(ctx)
		}
		if err == nil {
			missingErr = m.rereadSample(ctx, before)
		}
		if err == nil && m.source.listRecords != nil {
			err = m.compareLater(ctx)
		}
		m.nextCompare = m.host.Now().Add(comparePause * m.host.Now().Sub(began))
	}
	if err == nil {
		err = errors.Join(missingErr, m.state.Write(m.options.State))
	}
	return &Result{
		Origin: m.trust.Log.Name(), Size: m.state.replay.Size(), Root: m.state.replay.Root().String(),
		Read: m.read, Again: m.reread, Began: m.state.isNew && m.options.State != "", Records: m.records,
		Archives: m.archives, Found: append([]Anomaly{}, m.state.Found...),
	}, err
}

// restoreState returns to the state that was verified last, but keeps the anomalies.
func (m *monitor) restoreState() error {
	state, err := ReadState(m.options.State, m.state.Key)
	if err != nil {
		return err
	}
	state.Found, m.state = m.state.Found, state
	return nil
}

// followLog reads the log up to its newest checkpoint, and sets consistent if the entries that
// were read fit the checkpoint.
func (m *monitor) followLog(ctx context.Context) error {
	m.consistent = false
	signed, err := m.source.checkpoint(ctx)
	if err != nil {
		return evidence.Errorf(evidence.Operation, m.name, "", err)
	}
	head, err := m.trust.Open(signed)
	if err != nil {
		m.addAnomaly(Anomaly{What: AnomalyCheckpoint, Expected: "signed by " + m.trust.Log.Name(), Actual: err.Error(),
			Detail: string(signed)})
		return nil
	}
	switch done := m.state.replay.Size(); {
	case head.Size < done:
		// Another replica may be behind; its tree must be the beginning of ours.
		if err := m.checkExtends(ctx, m.state.head, head.Checkpoint); err != nil {
			if !errors.Is(err, ledger.ErrFork) && !trail.IsNotFound(err) {
				return evidence.Errorf(evidence.Operation, m.name, "", err)
			}
			m.addFork(m.state.head, head, err)
			return nil
		}
	case head.Size == done && head.Root != m.state.replay.Root():
		m.addFork(m.state.head, head, nil)
		return m.addFirstDifference(ctx, head, done)
	case head.Size > done:
		if err := m.replayTo(ctx, head); err != nil {
			return errors.Join(err, m.restoreState())
		}
		if m.state.head.Size != head.Size {
			return nil // an anomaly was added
		}
	}
	m.consistent = true
	if m.log == nil {
		return m.checkSeen(ctx, head)
	}
	// Other clients on this machine must have been shown the same log.
	if _, err := m.log.AcceptCheckpoint(ctx, head.Note); evidence.ClassOf(err) == evidence.Integrity {
		m.addAnomaly(Anomaly{What: AnomalyFork, Expected: "the log that this machine was shown before",
			Actual: "another one", Detail: err.Error()})
		m.consistent = false
		return nil
	} else if err != nil {
		return err
	}
	return nil
}

// checkSeen compares a copy of a log with the newest checkpoint that this machine accepted, if the
// copy is as long.
func (m *monitor) checkSeen(ctx context.Context, head ledger.Signed) error {
	logs, err := trail.KnownLogs(m.host)
	if err != nil {
		return err
	}
	kept, ok := logs.Newest(m.state.Key)
	if !ok || kept.Size > head.Size {
		return nil
	}
	if err := m.checkExtends(ctx, head, kept.Checkpoint); errors.Is(err, ledger.ErrFork) {
		m.addFork(kept, head, err)
		m.consistent = false
	} else if err != nil {
		return evidence.Errorf(evidence.ClassOf(err), m.name, "", err)
	}
	return nil
}

// addFork adds the anomaly of two checkpoints that no one log has.
func (m *monitor) addFork(kept, head ledger.Signed, err error) {
	a := Anomaly{
		What:     AnomalyFork,
		Expected: fmt.Sprintf("a log that has, or begins with, %d entries of root %s", kept.Size, kept.Root),
		Actual:   fmt.Sprintf("%d entries of root %s", head.Size, head.Root),
		Detail:   string(kept.Note) + "\n" + string(head.Note),
	}
	if err != nil {
		a.Actual += ": " + err.Error()
	}
	m.addAnomaly(a)
}
