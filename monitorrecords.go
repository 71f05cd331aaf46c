package hallmark

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// listed is a record as a page of the registry's list has it.
type listedRecord struct {
	name, version string
	document      digest.Digest
	status        registry.Status
}

// Between two comparisons of all records lies ten times as long as one takes, so that
// following a log does not keep a registry busy.
const comparePause = 10

// How often, and how far apart, a record is looked at again whose entry has not been
// signed yet.
const (
	settleTries = 10
	settleWait  = 500 * time.Millisecond
)

// maxUnsettled bounds the records of one comparison that are looked at again.
const maxUnsettled = 10_000

// compareRecords reads the registry's list, page by page, and compares each record with
// its entry, and each entry with what was listed.
func (m *monitor) compareRecords(ctx context.Context) error {
	if m.host.Now().Before(m.nextCompare) {
		return nil
	}
	began := m.host.Now()
	size := m.state.replay.Size() // entries after it may belong to records that were listed too early
	seen := make([]byte, (size+7)/8)
	var (
		unsettled []listedRecord
		listed    int64
	)
	query := registry.Query{Limit: 100, Deleted: true}
	for {
		page, err := m.source.records(ctx, query)
		if err != nil {
			return evidence.Errorf(evidence.Operation, m.name, "", err)
		}
		for _, envelope := range page.Servers {
			m.records++
			r, err := readListed(envelope)
			if err != nil {
				m.found(Anomaly{What: AnomalyRecord, Subject: surface.Escape(r.name + "@" + r.version), Actual: err.Error()})
				continue
			}
			if index, ok := m.state.replay.Find(ledger.Server, r.name, r.version); ok && index < size {
				seen[index/8] |= 1 << (index % 8)
			}
			if m.compareRecord(r) != nil && len(unsettled) < maxUnsettled {
				unsettled = append(unsettled, r)
			}
		}
		next := page.Metadata.NextCursor
		if next == "" {
			break
		}
		// A list of which each page has another cursor may not end either.
		if listed += int64(len(page.Servers)); len(page.Servers) == 0 || next == query.Cursor || listed > 2*size+maxUnsettled {
			return evidence.Errorf(evidence.Operation, m.name, "", fmt.Errorf("the list of records does not end"))
		}
		query.Cursor = next
	}
	if err := m.settle(ctx, unsettled); err != nil {
		return err
	}
	for index := range size {
		if m.state.statuses[index] != notServer && seen[index/8]&(1<<(index%8)) == 0 {
			if err := m.missing(ctx, index); err != nil {
				return err
			}
		}
	}
	m.nextCompare = m.host.Now().Add(comparePause * m.host.Now().Sub(began))
	return nil
}

func readListed(envelope registry.Envelope) (r listedRecord, err error) {
	var named struct{ Name, Version string }
	if err := json.Unmarshal(envelope.Server, &named); err != nil {
		return r, err
	}
	r.name, r.version = named.Name, named.Version
	if o := envelope.Meta.Official; o != nil {
		r.status = o.Status
	}
	canonical, err := serverjson.Canonical(envelope.Server)
	if err != nil {
		return r, err
	}
	r.document = digest.FromBytes(canonical)
	return r, nil
}

// settle looks again at records that differ: their entries may have been signed since.
func (m *monitor) settle(ctx context.Context, unsettled []listedRecord) error {
	for try := 0; len(unsettled) > 0; try++ {
		if err := m.follow(ctx); err != nil || !m.good {
			return err
		}
		var left []listedRecord
		for _, r := range unsettled {
			// What differs in its document was differing when it was published.
			if a := m.compareRecord(r); a != nil && (a.What == AnomalyRecord || try == settleTries) {
				m.found(*a)
			} else if a != nil {
				left = append(left, r)
			}
		}
		if unsettled = left; len(left) == 0 || try == settleTries {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(settleWait):
		}
	}
	return nil
}

// compareRecord is what is wrong with a record, or nil.
func (m *monitor) compareRecord(r listedRecord) *Anomaly {
	subject := ledger.Leaf{Kind: ledger.Server, Name: r.name, Version: r.version}.Subject()
	index, ok := m.state.replay.Find(ledger.Server, r.name, r.version)
	if !ok {
		return &Anomaly{What: AnomalyUnlogged, Subject: subject, Expected: "an entry of the log", Actual: "document " + r.document.String()}
	}
	if want := m.state.document(index); !sameDigest(want, r.document) {
		return &Anomaly{What: AnomalyRecord, Index: &index, Subject: subject, Expected: "document " + want.String(), Actual: "document " + r.document.String()}
	}
	if want := statusNames[m.state.statuses[index]]; string(r.status) != want {
		return &Anomaly{What: AnomalyStatus, Index: &index, Subject: subject, Expected: want, Actual: cmp.Or(string(r.status), "none")}
	}
	return nil
}

// missing names an entry whose record was not listed.
func (m *monitor) missing(ctx context.Context, index int64) error {
	leaves, err := m.bundle(ctx, index/ledger.TileWidth, m.state.head.Size)
	if err != nil {
		return err
	}
	leaf, err := ledger.ParseLeaf(leaves[index%ledger.TileWidth])
	if err != nil {
		return evidence.Errorf(evidence.Integrity, m.name, "", err)
	}
	m.found(Anomaly{What: AnomalyMissing, Index: &index, Subject: leaf.Subject(),
		Expected: "document " + leaf.Document.String(), Actual: "no such record is listed"})
	return nil
}
