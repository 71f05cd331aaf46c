package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Hashes is LogHashes of [registry.Entries].
func (s Statements) Hashes(ctx context.Context, level int, first int64, n int) (hashes []tlog.Hash, err error) {
	statement, args := "SELECT idx, hash FROM log_entries WHERE idx >= $1 AND idx < $2 ORDER BY idx",
		[]any{first, first + int64(n)}
	if level > 0 {
		statement, args = "SELECT idx, hash FROM log_nodes WHERE idx >= $1 AND idx < $2 AND level = $3 ORDER BY idx",
			append(args, level)
	}
	err = s.Query(ctx, statement, args, func(scan Scan) (bool, error) {
		var index int64
		var raw []byte
		if err := scan(&index, &raw); err != nil {
			return false, err
		}
		if index != first+int64(len(hashes)) {
			return false, nil // a gap ends the log
		}
		if len(raw) != tlog.HashSize {
			return false, errors.New("log: a hash of the database has another length")
		}
		hashes = append(hashes, tlog.Hash(raw))
		return true, nil
	})
	return hashes, err
}

// LogHashes implements [registry.Entries].
func (s Shared) LogHashes(ctx context.Context, level int, first int64, n int) ([]tlog.Hash, error) {
	return reading(ctx, s, func(ctx context.Context, db Statements) ([]tlog.Hash, error) {
		return db.Hashes(ctx, level, first, n)
	})
}

// LogEntries implements [registry.Entries].
func (s Shared) LogEntries(ctx context.Context, first int64, n int) ([][]byte, error) {
	return reading(ctx, s, func(ctx context.Context, db Statements) ([][]byte, error) {
		return All(ctx, db, column[[]byte], "SELECT leaf FROM log_entries WHERE idx >= $1 AND idx < $2 ORDER BY idx",
			first, first+int64(n))
	})
}

// LogIndex implements [registry.Entries].
func (s Shared) LogIndex(ctx context.Context, kind ledger.Kind, name, version string) (int64, error) {
	if !registry.Storable(name, version) {
		return 0, registry.ErrNotFound
	}
	return reading(ctx, s, func(ctx context.Context, db Statements) (int64, error) {
		return One(ctx, db, column[int64], `SELECT idx FROM log_entries
			WHERE name = $1 AND version = $2 AND kind = $3 AND kind NOT IN ('status', 'finding')`,
			name, version, string(kind))
	})
}

// LogLater implements [registry.Entries].
func (s Shared) LogLater(ctx context.Context, of ledger.Kind, name, version string, n int) ([]int64, error) {
	if !registry.Storable(name, version) {
		return nil, nil
	}
	return reading(ctx, s, func(ctx context.Context, db Statements) ([]int64, error) {
		// Both kinds share the index.
		return All(ctx, db, column[int64], `SELECT idx FROM (SELECT idx FROM log_entries
				WHERE name = $1 AND version = $2 AND kind IN ('status', 'finding') AND kind = 'status'
					AND `+db.LeafOf+` = $3 ORDER BY idx DESC LIMIT $4) AS statuses
			UNION ALL SELECT idx FROM (SELECT idx FROM log_entries
				WHERE name = $1 AND version = $2 AND kind IN ('status', 'finding') AND kind = 'finding'
					AND `+db.LeafOf+` = $3 ORDER BY idx DESC LIMIT $4) AS findings
			ORDER BY idx`, name, version, string(of), n)
	})
}

// LogState implements [registry.Entries].
func (s Shared) LogState(ctx context.Context) (registry.LogState, error) {
	return reading(ctx, s, func(ctx context.Context, db Statements) (registry.LogState, error) {
		return logHead(ctx, db, scanLogState, "edge, signed, cosigned")
	})
}

// logHead reads columns of the one row of log_head. A database without it is damaged: nobody may take that for a log
// that does not have what was asked for.
func logHead[T any](ctx context.Context, s Statements, read func(Scan) (T, error), columns string) (T, error) {
	v, err := One(ctx, s, read, "SELECT "+columns+" FROM log_head")
	if errors.Is(err, registry.ErrNotFound) {
		err = errors.New("log: the row of the table log_head is gone; restore the database from a backup")
	}
	return v, err
}

func scanLogState(scan Scan) (state registry.LogState, err error) {
	var raw []byte
	if err := scan(&raw, &state.Signed, &state.Cosigned); err != nil {
		return registry.LogState{}, err
	}
	edge, err := ParseEdge(raw)
	state.Size = edge.Size
	return state, err
}

// ParseEdge reads the edge of the log as it is stored.
func ParseEdge(raw []byte) (ledger.Edge, error) {
	edge, err := ledger.ParseEdge(raw)
	if err != nil {
		return ledger.Edge{}, fmt.Errorf("log: %w", err)
	}
	return edge, nil
}

// fillAtOnce is how many records that are older than the log get their entries in one
// transaction.
const fillAtOnce = 1000

// FillLog gives records that are older than the log their entries, by name and version.
func (s Shared) FillLog(ctx context.Context) error {
	var at registry.Cursor
	for done := false; !done; {
		err := s.Alone(ctx, func(ctx context.Context, db Statements) (err error) {
			done, err = db.fillSome(ctx, &at)
			return err
		})
		if err != nil {
			return fmt.Errorf("enter older records into the log: %w", err)
		}
	}
	return nil
}

// fillSome gives the next records after at their entries.
func (s Statements) fillSome(ctx context.Context, at *registry.Cursor) (done bool, err error) {
	if done, err = logHead(ctx, s, column[bool], "complete"); err != nil || done {
		return done, err
	}
	of, err := All(ctx, s, func(scan Scan) ([]ledger.Leaf, error) { return unloggedLeaves(scan, at) },
		"SELECT "+unloggedColumns+` FROM servers s
		WHERE (s.name, s.version) > ($1, $2)
			AND NOT EXISTS (SELECT 1 FROM log_entries l WHERE l.name = s.name AND l.version = s.version
				AND l.kind = 'server' AND l.kind NOT IN ('status', 'finding'))
		ORDER BY s.name, s.version LIMIT $3`, at.Name, at.Version, fillAtOnce)
	if err != nil {
		return false, err
	}
	if len(of) == 0 {
		return true, s.Exec(ctx, "UPDATE log_head SET complete = true")
	}
	_, err = s.Append(ctx, slices.Concat(of...)...)
	return false, err
}

// unloggedColumns are the columns of a record, older than the log, that its entries are made
// of.
const unloggedColumns = `s.name, s.version, s.document_digest, s.status, s.status_message, s.published_at, s.origin, ` +
	`s.imported_at`

// unloggedLeaves returns the entries for a row of unloggedColumns, and moves at to that row.
func unloggedLeaves(scan Scan, at *registry.Cursor) ([]ledger.Leaf, error) {
	rec := registry.Record{Publisher: registry.BeforeTheLog}
	var (
		sum       string
		published int64
		imported  *int64
	)
	err := scan(&rec.Name, &rec.Version, &sum, &rec.Status, &rec.StatusMessage, &published, &rec.Origin, &imported)
	if err != nil {
		return nil, err
	}
	if rec.Digest, err = digest.Parse(sum); err != nil {
		return nil, fmt.Errorf("record %+q: %w", rec.Subject(), err)
	}
	rec.PublishedAt = time.UnixMicro(published)
	rec.ImportedAt = Time(imported)
	at.Name, at.Version = rec.Name, rec.Version
	return rec.Leaves()
}
