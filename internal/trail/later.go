package trail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// LaterEvidence returns what the log holds about a record, of a server or of an archive, since it
// was published: its status, and what was found when its claims were recomputed. The registry names
// these entries, and each is proven to be in the log. Only a monitor can find out whether the
// registry left one out.
func (l *Log) LaterEvidence(ctx context.Context, r project.RecordLock, meta registry.Meta) (evidence.Report, error) {
	p, err := ledger.ParseProof([]byte(r.Proof))
	if err != nil {
		return nil, nil // its own evidence says so
	}
	kind := cmp.Or(r.Kind, ledger.Server)
	entries, err := l.Client.LogOf(ctx, kind, r.Name, r.Version)
	if IsNotFound(err) {
		// The registry proved the record's entry, so it knows the later ones. If it omits them it
		// hides deletions or findings.
		const why = "the registry has the record in its log, and does not say which later entries are about it"
		return evidence.Report{
			evidence.CannotVerify(statusClaim(r, l.Head.Origin), evidence.NotFound, why),
			evidence.CannotVerify(findingClaim(r, l.Head.Origin), evidence.NotFound, why),
		}, nil
	}
	if err != nil {
		return nil, host.NoAnswer(r.Subject(), err)
	}
	if entries.Index != p.Index {
		return evidence.Report{OtherEntryEvidence(r, p.Index, entries.Index, l.Head.Origin)}, nil
	}
	var status, finding *ledger.Leaf
	var statusAt, findingAt int64
	for _, i := range entries.Later {
		if i >= l.Head.Size {
			continue // came after the head
		}
		leaf, err := l.ReadEntry(ctx, i)
		if err != nil {
			return nil, err
		}
		if leaf.Of != kind || leaf.Name != r.Name || leaf.Version != r.Version || i <= p.Index {
			return nil, evidence.Errorf(evidence.Integrity, r.Subject(), "",
				fmt.Errorf("the registry names entry %d of its log as one about it, which is about %+q", i,
					leaf.Subject()))
		}
		switch {
		case leaf.Kind == ledger.Status && i >= statusAt:
			status, statusAt = &leaf, i
		case leaf.Kind == ledger.Finding && i >= findingAt:
			finding, findingAt = &leaf, i
		}
	}
	return evidence.Report{
		l.statusEvidence(r, status, statusAt, meta.Official),
		l.findingEvidence(r, finding, findingAt, meta.Integrity),
	}, nil
}

// ArchiveEvidence returns what the log says about the record of an archive beside its contents: the
// surface that its publisher claims, and later entries. The caller has proven that the record is in
// the log.
func (l *Log) ArchiveEvidence(ctx context.Context, rec registry.ArchiveRecord, proof string) (evidence.Report, error) {
	p, err := ledger.ParseProof([]byte(proof))
	if err != nil {
		return nil, nil // its own evidence says so
	}
	proven, err := p.Verify(ledger.Trust{Log: l.Trust.Log})
	if err != nil {
		return nil, nil
	}
	var report evidence.Report
	if claimed := proven.Leaf.APISurface; !claimed.IsZero() || !rec.APISurface.IsZero() {
		c := evidence.Claim{Subject: rec.Subject(), Scheme: evidence.APISurface, Authority: evidence.Log,
			Where: fmt.Sprintf("entry %d of the log %s", proven.Index, proven.Origin)}
		o := evidence.Observed{From: "the registry's record, api_surface"}
		if !claimed.IsZero() {
			c.Want = []digest.Digest{claimed}
		}
		if !rec.APISurface.IsZero() {
			o.Digests = []digest.Digest{rec.APISurface}
		}
		report = append(report, evidence.Compare(c, o))
	}
	r := project.RecordLock{Kind: ledger.Kind(rec.Kind), Name: rec.Name, Version: rec.Version, Proof: proof}
	later, err := l.LaterEvidence(ctx, r, registry.Meta{
		Official:  &registry.Official{Status: rec.Status, StatusMessage: rec.StatusMessage},
		Integrity: &registry.Integrity{Findings: rec.Findings},
	})
	return append(report, later...), err
}

// OtherEntryEvidence returns evidence that a log has more than one entry for a record, which is
// published only once.
func OtherEntryEvidence(r project.RecordLock, locked, shown int64, origin string) evidence.Evidence {
	c := ProofClaim(r, origin)
	c.Text, c.Where = fmt.Sprintf("entry %d", locked), "the proof"
	e := evidence.Fact(c, fmt.Sprintf("entry %d", shown))
	e.Reason = "the log holds the same name and version twice"
	return e
}

// ReadEntry reads one entry of the tree of the head. It is safe for concurrent use.
func (l *Log) ReadEntry(ctx context.Context, index int64) (ledger.Leaf, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.reader == nil {
		l.reader = &ledger.Reader{At: l.Head.Checkpoint}
	}
	l.reader.Fetch = l.TileFetcher(ctx)
	text, err := l.reader.Entry(index)
	if err != nil {
		return ledger.Leaf{}, l.tileError(err)
	}
	leaf, err := ledger.ParseLeaf(text)
	if err != nil {
		return leaf, evidence.Errorf(evidence.Integrity, l.Name, "", fmt.Errorf("entry %d of its log: %w", index, err))
	}
	return leaf, nil
}

// TileFetcher returns a function that fetches the log's files. It retries a missing one, because a
// replica of a registry may lag behind the replica that signed the checkpoint.
func (l *Log) TileFetcher(ctx context.Context) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		for try := 0; ; try++ {
			data, err := l.Client.Tile(ctx, path)
			if !IsNotFound(err) || try == tileTries {
				return data, err
			}
			if err := l.Host.Pause(ctx, tileWait); err != nil {
				return nil, err
			}
		}
	}
}

// The number of retries for a missing tile, and the pause before each.
const (
	tileTries = 4
	tileWait  = 500 * time.Millisecond
)

func (l *Log) tileError(err error) error {
	if errors.Is(err, ledger.ErrFork) {
		return &evidence.Error{
			Subject: l.Name, Kind: evidence.Integrity, Err: fmt.Errorf("SECURITY ERROR: %w", err),
			Hint: "the registry does not serve what it signed; do not use it until its operator has explained this",
		}
	}
	return evidence.Errorf(evidence.ClassOf(err), l.Name, "", err)
}

func statusClaim(r project.RecordLock, origin string) evidence.Claim {
	return evidence.Claim{Subject: r.Subject(), Scheme: evidence.Status, Authority: evidence.Log,
		Text: string(registry.Active), Where: "the log " + origin}
}

func findingClaim(r project.RecordLock, origin string) evidence.Claim {
	return evidence.Claim{Subject: r.Subject(), Scheme: evidence.Finding, Authority: evidence.Log,
		Text: "the published claims hold", Where: "the log " + origin}
}

// statusEvidence returns what the newest entry about the record's status says. Without an entry the
// record has the status that every record begins with.
func (l *Log) statusEvidence(r project.RecordLock, leaf *ledger.Leaf, index int64,
	shown *registry.Official) evidence.Evidence {
	c := statusClaim(r, l.Head.Origin)
	if leaf == nil {
		return evidence.Fact(c, string(registry.Active))
	}
	e := evidence.Fact(c, leaf.Status)
	if leaf.Status == string(registry.Deprecated) {
		e = evidence.Waive(c, e.Observed, "")
	}
	e.Observed.From = fmt.Sprintf("entry %d, %s", index, leaf.At.Format(time.RFC3339))
	if shown != nil && string(shown.Status) == leaf.Status && shown.StatusMessage != "" {
		if d, err := ledger.StatusDocument(leaf.Status, shown.StatusMessage); err == nil &&
			evidence.Same(d, leaf.Document) {
			e.Reason = shown.StatusMessage
		}
	}
	return e
}

// findingEvidence returns which claims of the record fail according to the newest entry about them,
// if any.
func (l *Log) findingEvidence(r project.RecordLock, leaf *ledger.Leaf, index int64,
	shown *registry.Integrity) evidence.Evidence {
	c := findingClaim(r, l.Head.Origin)
	if leaf == nil || evidence.Same(leaf.Document, digest.FromBytes([]byte("[]"))) {
		e := evidence.Fact(c, c.Text)
		if leaf == nil && shown != nil && len(shown.Findings) > 0 && len(shown.Findings[0].Failing()) > 0 {
			e = evidence.Fact(c, "a claim fails")
			e.Reason = "the registry shows what it found, and names no entry of its log about it: " +
				strings.Join(shown.Findings[0].Failing(), "; ")
		}
		return e
	}
	e := evidence.Fact(c, "a claim fails")
	e.Observed.From = fmt.Sprintf("entry %d, %s", index, leaf.At.Format(time.RFC3339))
	if shown == nil {
		return e
	}
	for _, f := range shown.Findings {
		canonical, err := serverjson.Canonical(f.Evidence)
		if err == nil && evidence.Same(leaf.Document, digest.FromBytes(canonical)) {
			e.Reason = strings.Join(f.Failing(), "; ")
		}
	}
	return e
}
