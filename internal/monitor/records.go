package monitor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// listedRecord is a record as the registry's list shows it.
type listedRecord struct {
	kind          ledger.Kind
	name, version string
	document      digest.Digest // see recordDigest
	digests       string        // the digests, for people
	status        registry.Status
}

// comparePause times the duration of a comparison is the pause before the next one, so that
// following a log does not keep a registry busy.
const comparePause = 10

// A record that differs is compared again up to settleTries times, settleWait apart: the log may
// not have signed its entry yet.
const (
	settleTries = 10
	settleWait  = 500 * time.Millisecond
)

// maxUnsettled bounds the records that one comparison compares again.
const maxUnsettled = 10_000

// comparison is one pass over the lists of a registry.
type comparison struct {
	*monitor
	size      int64  // entries that are compared; later ones may belong to records that were listed too early
	seen      []byte // a bit for each entry whose record was listed
	unsettled []listedRecord
}

// compareRecords reads the registry's lists page by page, compares each record with its entry, and
// adds an anomaly for each entry whose record was not listed.
func (m *monitor) compareRecords(ctx context.Context) error {
	size := m.state.replay.Size()
	c := &comparison{monitor: m, size: size, seen: make([]byte, (size+7)/8)}
	if err := c.compareServers(ctx); err != nil {
		return err
	}
	for _, kind := range []ledger.Kind{ledger.Artifact, ledger.Facet, ledger.Plugin} {
		if err := c.compareArchives(ctx, kind); err != nil {
			return err
		}
	}
	if err := m.recheckRecords(ctx, c.unsettled); err != nil {
		return err
	}
	for index := range size {
		if m.state.statuses[index] != noRecord && c.seen[index/8]&(1<<(index%8)) == 0 {
			if err := m.addMissing(ctx, index); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareServers compares the records of the list of servers.
func (c *comparison) compareServers(ctx context.Context) error {
	return c.eachPage(func(q registry.Query) (int, string, error) {
		page, err := c.source.listRecords(ctx, q)
		if err != nil {
			return 0, "", err
		}
		for _, envelope := range page.Servers {
			c.compare(parseListed(envelope))
		}
		return len(page.Servers), page.Metadata.NextCursor, nil
	})
}

// compareArchives compares the records of the list of one kind of archive, and recomputes the archives
// of those that match.
func (c *comparison) compareArchives(ctx context.Context, kind ledger.Kind) error {
	return c.eachPage(func(q registry.Query) (int, string, error) {
		page, err := c.source.listArchives(ctx, string(kind), q)
		if trail.IsNotFound(err) {
			return 0, "", nil // a registry that has none of the kind
		}
		if err != nil {
			return 0, "", err
		}
		for _, rec := range page.Archives {
			if !c.compare(parseListedArchive(rec)) {
				continue
			}
			if err := c.recomputeArchive(ctx, rec); err != nil {
				return 0, "", err
			}
		}
		return len(page.Archives), page.Metadata.NextCursor, nil
	})
}

// compare compares a listed record with its entry, and reports whether they match. err comes from
// reading the record.
func (c *comparison) compare(r listedRecord, err error) bool {
	c.records++
	if err != nil {
		c.addAnomaly(Anomaly{What: AnomalyRecord, Subject: surface.Escape(r.name + "@" + r.version),
			Actual: err.Error()})
		return false
	}
	if index, ok := c.state.replay.Find(r.kind, r.name, r.version); ok && index < c.size {
		c.seen[index/8] |= 1 << (index % 8)
	}
	a := c.compareRecord(r)
	if a != nil && len(c.unsettled) < maxUnsettled {
		c.unsettled = append(c.unsettled, r)
	}
	return a == nil
}

// eachPage asks for page after page while there is a cursor. A list that is longer than the log
// allows is an error: a registry could give cursors forever.
func (m *monitor) eachPage(page func(registry.Query) (count int, next string, err error)) error {
	most := 2*m.state.replay.Size() + maxUnsettled
	for q := (registry.Query{Limit: 100, Deleted: true}); ; {
		count, next, err := page(q)
		switch {
		case err != nil:
			return evidence.Errorf(evidence.Operation, m.name, "", err)
		case next == "":
			return nil
		case count == 0 || next == q.Cursor || most < int64(count):
			return evidence.Errorf(evidence.Operation, m.name, "", fmt.Errorf("the list of records does not end"))
		}
		most -= int64(count)
		q.Cursor = next
	}
}

// parseListed reads a server's record from its envelope.
func parseListed(envelope registry.Envelope) (r listedRecord, err error) {
	r.kind = ledger.Server
	if r.name, r.version, err = registry.ReadName(envelope.Server); err != nil {
		return r, err
	}
	if o := envelope.Meta.Official; o != nil {
		r.status = o.Status
	}
	canonical, err := serverjson.Canonical(envelope.Server)
	if err != nil {
		return r, err
	}
	r.document = digest.FromBytes(canonical)
	r.digests = "document " + r.document.String()
	return r, nil
}

// parseListedArchive reads the record of an archive.
func parseListedArchive(rec registry.ArchiveRecord) (listedRecord, error) {
	r := listedRecord{kind: ledger.Kind(rec.Kind), name: rec.Name, version: rec.Version, status: rec.Status}
	document, err := rec.Document()
	if err != nil {
		return r, err
	}
	r.document = recordDigest(ledger.Leaf{Kind: r.kind, Document: document, ContentIntegrity: rec.ContentIntegrity,
		APISurface: rec.APISurface})
	r.digests = fmt.Sprintf("document %s, content_integrity %s", document, rec.ContentIntegrity)
	if !rec.APISurface.IsZero() {
		r.digests += ", api_surface " + rec.APISurface.String()
	}
	return r, nil
}

// recheckRecords compares records that differ once more, as their entries may be signed by now, and
// adds anomalies for those that still differ.
func (m *monitor) recheckRecords(ctx context.Context, unsettled []listedRecord) error {
	for try := 0; len(unsettled) > 0; try++ {
		if err := m.followLog(ctx); err != nil || !m.consistent {
			return err
		}
		var left []listedRecord
		for _, r := range unsettled {
			// A document never changes, so that waiting cannot mend one that differs.
			if a := m.compareRecord(r); a != nil && (a.What == AnomalyRecord || try == settleTries) {
				m.addAnomaly(*a)
			} else if a != nil {
				left = append(left, r)
			}
		}
		if unsettled = left; len(left) == 0 || try == settleTries {
			return nil
		}
		if err := m.host.Pause(ctx, settleWait); err != nil {
			return err
		}
	}
	return nil
}

// compareRecord compares a record with its entry, and returns the anomaly or nil.
func (m *monitor) compareRecord(r listedRecord) *Anomaly {
	subject := ledger.Leaf{Kind: r.kind, Name: r.name, Version: r.version}.Subject()
	index, ok := m.state.replay.Find(r.kind, r.name, r.version)
	if !ok {
		return &Anomaly{What: AnomalyUnlogged, Subject: subject, Expected: "an entry of the log", Actual: r.digests}
	}
	if want := m.state.document(index); !evidence.Same(want, r.document) {
		a := &Anomaly{What: AnomalyRecord, Index: &index, Subject: subject, Expected: "document " + want.String(),
			Actual: r.digests}
		if r.kind != ledger.Server {
			a.Expected = "what the entry says of the document, content_integrity and api_surface"
		}
		return a
	}
	if want := statusNames[m.state.statuses[index]]; string(r.status) != want {
		return &Anomaly{What: AnomalyStatus, Index: &index, Subject: subject, Expected: want,
			Actual: cmp.Or(string(r.status), "none")}
	}
	return nil
}

// addMissing adds the anomaly of an entry whose record was not listed.
func (m *monitor) addMissing(ctx context.Context, index int64) error {
	leaves, err := m.readBundle(ctx, index/ledger.TileWidth, m.state.head.Size)
	if err != nil {
		return err
	}
	leaf, err := ledger.ParseLeaf(leaves[index%ledger.TileWidth])
	if err != nil {
		return evidence.Errorf(evidence.Integrity, m.name, "", err)
	}
	m.addAnomaly(Anomaly{What: AnomalyMissing, Index: &index, Subject: leaf.Subject(),
		Expected: "document " + leaf.Document.String(), Actual: "not served: no such record is listed"})
	return nil
}
