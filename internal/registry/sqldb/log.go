package sqldb

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// LogAddition is what appending leaves to a log writes.
type LogAddition struct {
	First  int64         // index of the first
	Leaves []ledger.Leaf //
	Texts  [][]byte      // their encodings
	Hashes []tlog.Hash   // of texts
	Nodes  []LogNode
	Edge   ledger.Edge // of the log after it
}

// LogNode is a complete subtree of 256^level entries.
type LogNode struct {
	Level int
	Index int64
	Hash  tlog.Hash
}

// ExtendLog appends leaves to the log with that edge. Before gives hashes that the log
// has, as [registry.Entries].LogHashes does in the same transaction; it is asked once for 256
// entries.
func ExtendLog(
	edge ledger.Edge, leaves []ledger.Leaf, before func(level int, first int64, n int) ([]tlog.Hash, error),
) (*LogAddition, error) {
	a := &LogAddition{First: edge.Size, Leaves: leaves, Edge: edge}
	added := map[int][]tlog.Hash{} // by level, those of this addition
	for _, l := range leaves {
		text, err := l.Marshal()
		if err != nil {
			return nil, fmt.Errorf("entry of %+q: %w", l.Subject(), err)
		}
		h := tlog.RecordHash(text)
		a.Texts, a.Hashes = append(a.Texts, text), append(a.Hashes, h)
		a.Edge.Add(h)
		size := a.Edge.Size
		for level := 0; ; level++ {
			// The last of size hashes of this level is h.
			added[level] = append(added[level], h)
			if size%ledger.TileWidth != 0 {
				break
			}
			tile := added[level]
			if missing := ledger.TileWidth - len(tile); missing > 0 {
				old, err := before(level, size-ledger.TileWidth, missing)
				if err != nil {
					return nil, err
				}
				if len(old) != missing {
					return nil, fmt.Errorf("log: %d hashes of level %d before %d, not %d", len(old), level, size,
						missing)
				}
				tile = append(old, tile...)
			}
			var top ledger.Edge
			for _, t := range tile {
				top.Add(t)
			}
			size /= ledger.TileWidth
			h = top.Root()
			a.Nodes = append(a.Nodes, LogNode{level + 1, size - 1, h})
			added[level] = nil
		}
	}
	return a, nil
}

// toHash converts a hash that a database returned.
func toHash(b []byte) (tlog.Hash, error) {
	if len(b) != tlog.HashSize {
		return tlog.Hash{}, errors.New("log: a hash of the database has another length")
	}
	return tlog.Hash(b), nil
}

// ReadHashes reads rows of an index and a hash, by index from first on.
func ReadHashes(rows interface {
	Next() bool
	Scan(...any) error
}, first int64) ([]tlog.Hash, error) {
	var hashes []tlog.Hash
	for rows.Next() {
		var index int64
		var raw []byte
		if err := rows.Scan(&index, &raw); err != nil {
			return nil, err
		}
		if index != first+int64(len(hashes)) {
			break // a gap ends the log
		}
		h, err := toHash(raw)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return hashes, nil
}

// FillAtOnce is how many records that are older than the log get their entries in one
// transaction.
const FillAtOnce = 1000

// UnloggedColumns are the columns of a record, older than the log, that its entries are made
// of.
const UnloggedColumns = `s.name, s.version, s.document_digest, s.status, s.status_message, s.published_at, s.origin, ` +
	`s.imported_at`

// UnloggedLeaves returns the entries for a row of UnloggedColumns, and moves at to that row.
func UnloggedLeaves(row interface{ Scan(...any) error }, at *registry.Cursor) ([]ledger.Leaf, error) {
	rec := registry.Record{Publisher: registry.BeforeTheLog}
	var (
		sum       string
		published int64
		imported  *int64
	)
	err := row.Scan(&rec.Name, &rec.Version, &sum, &rec.Status, &rec.StatusMessage, &published, &rec.Origin, &imported)
	if err != nil {
		return nil, err
	}
	if rec.Digest, err = digest.Parse(sum); err != nil {
		return nil, fmt.Errorf("record %+q: %w", rec.Subject(), err)
	}
	rec.PublishedAt = time.UnixMicro(published)
	if imported != nil {
		rec.ImportedAt = time.UnixMicro(*imported)
	}
	at.Name, at.Version = rec.Name, rec.Version
	return rec.Leaves()
}
