package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// Publishers that are no subject of a login.
const (
	anonymous = "anonymous" // published without a token
	operator  = "operator"  // a command beside the registry
)

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

// leaf is the entry that says that rec was inserted.
func (r Record) leaf() ledger.Leaf {
	l := ledger.Leaf{Kind: ledger.Server, Name: r.Name, Version: r.Version, Document: r.Digest, Publisher: subject(cmp.Or(r.Publisher, anonymous)), At: second(r.PublishedAt)}
	if !r.ImportedAt.IsZero() {
		l.Publisher, l.At = subject("import:"+r.Origin), second(r.ImportedAt)
	}
	return l
}

// leaves are the entries of a record that is inserted: a status that is not the one
// that every record begins with has one of its own.
func (r Record) leaves() ([]ledger.Leaf, error) {
	leaves := []ledger.Leaf{r.leaf()}
	if r.Status == Active && r.StatusMessage == "" {
		return leaves, nil
	}
	status, err := r.statusLeaf(leaves[0].Publisher, leaves[0].At)
	return append(leaves, status), err
}

// statusLeaf is the entry that says which status rec has from now on.
func (r Record) statusLeaf(by string, at time.Time) (ledger.Leaf, error) {
	document, err := ledger.StatusDocument(string(r.Status), r.StatusMessage)
	return ledger.Leaf{Kind: ledger.Status, Of: ledger.Server, Name: r.Name, Version: r.Version, Document: document,
		Status: string(r.Status), Publisher: subject(cmp.Or(by, operator)), At: second(at)}, err
}

// followed is the entry that says that an imported record took over the status of rec.
func (r Record) followed() (ledger.Leaf, error) {
	return r.statusLeaf("import:"+r.Origin, cmp.Or(r.ImportedAt, r.StatusChangedAt))
}

// leaf is the entry of a finding. Its document is the canonical form of what was found.
func (f Finding) leaf() (ledger.Leaf, error) {
	canonical, err := serverjson.Canonical(f.Evidence)
	if err != nil {
		return ledger.Leaf{}, fmt.Errorf("finding of %+q: %w", f.Name+"@"+f.Version, err)
	}
	return ledger.Leaf{Kind: ledger.Finding, Of: cmp.Or(f.Kind, ledger.Server), Name: f.Name, Version: f.Version,
		Document: digest.FromBytes(canonical), Publisher: operator, At: second(f.At)}, nil
}

// second is t as an entry can say it. What claims to be of before 1970 came with an
// export from elsewhere.
func second(t time.Time) time.Time {
	if t.Year() < 1970 || t.Year() > 9999 {
		return time.Unix(0, 0).UTC()
	}
	return t.UTC().Truncate(time.Second)
}

// subject is s as an entry can name it: issuers of tokens and names of files may have
// anything in them.
func subject(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	for len(s) > ledger.MaxPublisher {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s
}

// addition is what appending leaves to a log writes.
type addition struct {
	first  int64         // index of the first
	leaves []ledger.Leaf //
	texts  [][]byte      // their encodings
	hashes []tlog.Hash   // of texts
	nodes  []node
	edge   ledger.Edge // of the log after it
}

// node is a complete subtree of 256^level entries.
type node struct {
	level int
	index int64
	hash  tlog.Hash
}

// extend appends leaves to the log with that edge. Before gives hashes that the log
// has, as [Entries].LogHashes does in the same transaction; it is asked once for 256
// entries.
func extend(edge ledger.Edge, leaves []ledger.Leaf, before func(level int, first int64, n int) ([]tlog.Hash, error)) (*addition, error) {
	a := &addition{first: edge.Size, leaves: leaves, edge: edge}
	added := map[int][]tlog.Hash{} // by level, those of this addition
	for _, l := range leaves {
		text, err := l.Marshal()
		if err != nil {
			return nil, fmt.Errorf("entry of %+q: %w", l.Subject(), err)
		}
		h := tlog.RecordHash(text)
		a.texts, a.hashes = append(a.texts, text), append(a.hashes, h)
		a.edge.Add(h)
		size := a.edge.Size
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
					return nil, fmt.Errorf("log: %d hashes of level %d before %d, not %d", len(old), level, size, missing)
				}
				tile = append(old, tile...)
			}
			var top ledger.Edge
			for _, t := range tile {
				top.Add(t)
			}
			size /= ledger.TileWidth
			h = top.Root()
			a.nodes = append(a.nodes, node{level + 1, size - 1, h})
			added[level] = nil
		}
	}
	return a, nil
}

// toHash is a hash as a database gives it.
func toHash(b []byte) (tlog.Hash, error) {
	if len(b) != tlog.HashSize {
		return tlog.Hash{}, errors.New("log: a hash of the database has another length")
	}
	return tlog.Hash(b), nil
}

// readHashes reads rows of an index and a hash, by index from first on.
func readHashes(rows interface {
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

// beforeTheLog is the publisher of records of before the log: nobody kept who it was.
const beforeTheLog = "before the log"

// fillAtOnce is how many records of before the log get their entries in a transaction.
const fillAtOnce = 1000

// unlogged are the columns of a record of before the log that its entries need.
const unlogged = `s.name, s.version, s.document_digest, s.status, s.status_message, s.published_at, s.origin, s.imported_at`

// unloggedLeaves are the entries of a row of unlogged, to which at is moved.
func unloggedLeaves(row interface{ Scan(...any) error }, at *cursor) ([]ledger.Leaf, error) {
	rec := Record{Publisher: beforeTheLog}
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
	at.name, at.version = rec.Name, rec.Version
	return rec.leaves()
}
