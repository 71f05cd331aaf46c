package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// Limits of one transaction of inserts.
const (
	maxBatch      = 256
	maxBatchBytes = 16 << 20
)

// postgresLock is the number of the advisory lock that those who write hold, "Hlmk"
// in ASCII.
const postgresLock = sqldb.ApplicationID

// insertion is one Insert that waits for its transaction.
type insertion struct {
	rec  registry.Record
	done chan insertResult // has room for one
}

type insertResult struct {
	rec registry.Record
	err error
}

// Insert implements [registry.Records].
func (p *DB) Insert(ctx context.Context, a policy.Admitted, rec registry.Record) (registry.Record, error) {
	if err := registry.Admit(a, rec); err != nil {
		return registry.Record{}, err
	}
	if !registry.Storable(rec.Name, rec.Version, rec.StatusMessage, rec.Build, rec.Origin) {
		return registry.Record{}, errors.New("record " + rec.Subject() + ": not UTF-8 without NUL")
	}
	if err := ctx.Err(); err != nil {
		return registry.Record{}, err
	}
	i := &insertion{rec: rec.Normal(), done: make(chan insertResult, 1)}
	select {
	case p.inserts <- i:
	case <-ctx.Done():
		return registry.Record{}, ctx.Err()
	case <-p.closed:
		return registry.Record{}, registry.ErrUnavailable
	}
	select {
	case got := <-i.done:
		return got.rec, got.err
	case <-ctx.Done():
		return registry.Record{}, ctx.Err()
	case <-p.written:
	}
	select {
	case got := <-i.done: // before it ended
		return got.rec, got.err
	default:
		return registry.Record{}, registry.ErrUnavailable
	}
}

// write runs the transactions, one after another, until Close.
func (p *DB) write() {
	defer close(p.written)
	for {
		var batch []*insertion
		select {
		case i := <-p.inserts:
			batch = append(batch, i)
		case <-p.closed:
			select {
			case i := <-p.inserts: // queued before
				batch = append(batch, i)
			default:
				return
			}
		}
		size := 0
		for len(batch) < maxBatch && size < maxBatchBytes {
			size += len(batch[len(batch)-1].rec.Document) + len(batch[len(batch)-1].rec.Evidence)
			select {
			case i := <-p.inserts:
				batch = append(batch, i)
				continue
			default:
			}
			break
		}
		p.insert(batch)
	}
}

// insert answers every insertion of a batch.
func (p *DB) insert(batch []*insertion) {
	ctx, cancel := context.WithTimeout(context.Background(), p.writeTime)
	defer cancel()
	var (
		results []insertResult
		err     error
	)
	for range 3 {
		var sent bool
		results, sent, err = p.transact(ctx, batch)
		var answer *pgconn.PgError
		again := errors.As(err, &answer) && (answer.Code == "40001" || answer.Code == "40P01" || answer.Code == "23505")
		if err == nil || sent || !again && !broken(err) {
			break
		}
		if broken(err) {
			p.pool.Reset()
		}
	}
	if err != nil && len(batch) > 1 && !passing(err) {
		// A record that the database refuses must not fail the others.
		for _, i := range batch {
			p.insert([]*insertion{i})
		}
		return
	}
	for n, i := range batch {
		if err != nil {
			i.done <- insertResult{err: unavailable(err)}
			continue
		}
		i.done <- results[n]
	}
}

// transact inserts a batch in one transaction. sent means that the commit was sent before the
// error, so that it is not known whether it was made.
func (p *DB) transact(ctx context.Context, batch []*insertion) (results []insertResult, sent bool, err error) {
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer p.rollback(ctx, tx)
	was, err := load(ctx, tx, batch)
	if err != nil {
		return nil, false, err
	}
	results, now, err := decide(batch, was)
	if err != nil {
		return nil, false, err
	}
	if now.empty() {
		return results, false, nil
	}
	if err := now.store(ctx, tx, was.edge); err != nil {
		return nil, false, err
	}
	for n, rec := range now.added {
		results[n].rec = *rec // with its answer and entry
	}
	return results, true, tx.Commit(ctx)
}

// state is what the database holds about the names of a batch.
type state struct {
	records  map[registry.Cursor]registry.Record // those of the batch's names and versions
	latest   map[string]registry.Record          // by name
	versions map[string]int                      // by name
	edge     ledger.Edge                         // of the log
}

// load takes the lock that lets one process insert at a time, and reads.
func load(ctx context.Context, tx pgx.Tx, batch []*insertion) (*state, error) {
	var names, versions []string
	for _, i := range batch {
		names, versions = append(names, i.rec.Name), append(versions, i.rec.Version)
	}
	was := &state{records: map[registry.Cursor]registry.Record{}, latest: map[string]registry.Record{},
		versions: map[string]int{}}
	var b pgx.Batch
	b.Queue("SELECT pg_advisory_xact_lock($1)", int64(postgresLock))
	// Each statement sees what was committed when it began: after the lock was given.
	queueEdge(&b, &was.edge)
	b.Queue("SELECT name, versions FROM names WHERE name = ANY ($1)", names).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var name string
			var n int
			if err := rows.Scan(&name, &n); err != nil {
				return err
			}
			was.versions[name] = n
		}
		return rows.Err()
	})
	b.Queue("SELECT "+original+fromBoth+"WHERE s.name = ANY ($1) AND s.is_latest",
		names).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			rec, err := scanOriginal(rows.Scan)
			if err != nil {
				return err
			}
			was.latest[rec.Name] = rec
		}
		return rows.Err()
	})
	b.Queue("SELECT "+original+fromBoth+
		"JOIN unnest($1::text[], $2::text[]) AS want (name, version) ON s.name = want.name AND s.version = "+
		"want.version",
		names, versions).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			rec, err := scanOriginal(rows.Scan)
			if err != nil {
				return err
			}
			was.records[registry.Cursor{Name: rec.Name, Version: rec.Version}] = rec
		}
		return rows.Err()
	})
	return was, tx.SendBatch(ctx, &b).Close()
}

// change is what a transaction writes.
type change struct {
	added    map[int]*registry.Record            // by its place in the batch
	changed  map[registry.Cursor]registry.Record // records that were there
	versions map[string]int                      // of the names to which something is added
	fresh    map[string]bool                     // names that were not there
}

func (c *change) empty() bool { return len(c.added) == 0 }

// decide computes the result of each insertion in the order of the batch, and what must be written.
func decide(batch []*insertion, was *state) ([]insertResult, *change, error) {
	now := &change{added: map[int]*registry.Record{}, changed: map[registry.Cursor]registry.Record{},
		versions: map[string]int{}, fresh: map[string]bool{}}
	ours := map[registry.Cursor]*registry.Record{}
	results := make([]insertResult, len(batch))
	for n, i := range batch {
		rec := i.rec
		key := registry.Cursor{Name: rec.Name, Version: rec.Version}
		if first, ok := was.records[key]; ok {
			if latest := was.latest[rec.Name]; first.IsLatest && latest.Version != first.Version {
				first.IsLatest = false // since this batch
			}
			results[n] = insertResult{first, registry.ErrExists}
			continue
		}
		if first, ok := ours[key]; ok {
			results[n] = insertResult{*first, registry.ErrExists}
			continue
		}
		if was.versions[rec.Name] >= registry.MaxVersions {
			results[n] = insertResult{err: registry.ErrTooMany}
			continue
		}
		latest, known := was.latest[rec.Name]
		rec.IsLatest = !known || registry.Supersedes(rec, latest)
		if rec.IsLatest {
			if known {
				latest.IsLatest = false
				if before, ok := ours[registry.Cursor{Name: latest.Name, Version: latest.Version}]; ok {
					before.IsLatest = false
				} else {
					now.changed[registry.Cursor{Name: latest.Name, Version: latest.Version}] = latest
				}
			}
			was.latest[rec.Name] = rec
		}
		if was.versions[rec.Name] == 0 {
			now.fresh[rec.Name] = true
		}
		was.versions[rec.Name]++
		now.versions[rec.Name] = was.versions[rec.Name]
		kept := rec
		ours[key], now.added[n] = &kept, &kept
	}
	return results, now, nil
}

// store writes a change.
func (c *change) store(ctx context.Context, tx pgx.Tx, edge ledger.Edge) error {
	var b pgx.Batch
	c.queueNames(&b)
	// Rewrite existing records before adding new ones: an index allows one latest version for
	// each name.
	for _, rec := range c.changed {
		if err := rewrite(&b, rec); err != nil {
			return err
		}
	}
	var rows newRows
	var leaves []ledger.Leaf
	for _, n := range slices.Sorted(maps.Keys(c.added)) {
		rec := c.added[n]
		answer, err := registry.AppendEnvelope(nil, *rec)
		if err != nil {
			return err
		}
		rec.Answer = answer
		entries, err := rec.Leaves()
		if err != nil {
			return err
		}
		rec.Entry = edge.Size + int64(len(leaves))
		leaves = append(leaves, entries...)
		size, whole := measureEmbedded(answer, rec.Document)
		if !whole {
			b.Queue("INSERT INTO originals (name, version, document) VALUES ($1, $2, $3)", rec.Name, rec.Version,
				[]byte(rec.Document))
		}
		rows.add(rec, size)
	}
	rows.queue(&b)
	a, err := queueLog(ctx, tx, &b, edge, leaves)
	if err != nil {
		return err
	}
	for _, rec := range c.added {
		rec.EntryText = a.Texts[rec.Entry-a.First]
	}
	return tx.SendBatch(ctx, &b).Close()
}

// queueNames queues the statements that count the versions of the names to which something is added.
func (c *change) queueNames(b *pgx.Batch) {
	var (
		names    []string
		versions []int32
	)
	for name, n := range c.versions {
		if c.fresh[name] {
			b.Queue("INSERT INTO names (name, versions, grams) VALUES ($1, $2, $3)", name, n, grams(name))
			continue
		}
		names, versions = append(names, name), append(versions, int32(n))
	}
	if len(names) > 0 {
		b.Queue("UPDATE names n SET versions = u.versions FROM unnest($1::text[], $2::int[]) AS u (name, "+
			"versions) WHERE n.name = u.name", names, versions)
	}
}

// newRows are records that are inserted by one statement, by their columns.
type newRows struct {
	names, versions, statuses, messages, sums, builds []string
	changed, published, updated                       []int64
	sizes                                             []int32
	verified, imported                                []*int64
	origins                                           []string
	latest                                            []bool
	answers, found                                    [][]byte
}

// add adds a record that has its answer, and size bytes of document in it.
func (r *newRows) add(rec *registry.Record, size int) {
	r.names, r.versions = append(r.names, rec.Name), append(r.versions, rec.Version)
	r.sizes = append(r.sizes, int32(size))
	r.statuses, r.messages = append(r.statuses, string(rec.Status)), append(r.messages, rec.StatusMessage)
	r.changed = append(r.changed, rec.StatusChangedAt.UnixMicro())
	r.published = append(r.published, rec.PublishedAt.UnixMicro())
	r.updated = append(r.updated, rec.UpdatedAt.UnixMicro())
	r.latest, r.answers = append(r.latest, rec.IsLatest), append(r.answers, rec.Answer)
	r.found = append(r.found, rec.Evidence)
	r.sums, r.builds = append(r.sums, rec.Digest.String()), append(r.builds, rec.Build)
	r.verified = append(r.verified, sqldb.Micros(rec.VerifiedAt))
	r.imported = append(r.imported, sqldb.Micros(rec.ImportedAt))
	r.origins = append(r.origins, rec.Origin)
}

// queue queues the statement that inserts the rows.
func (r *newRows) queue(b *pgx.Batch) {
	b.Queue(`INSERT INTO servers (name, version, document_size, document_digest, evidence, verified_at, build,
			status, status_message, status_changed_at, published_at, updated_at, is_latest, answer, origin, imported_at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::bytea[], $6::bigint[], $7::text[],
			$8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::boolean[], $14::bytea[],
			$15::text[], $16::bigint[])`,
		r.names, r.versions, r.sizes, r.sums, r.found, r.verified, r.builds,
		r.statuses, r.messages, r.changed, r.published, r.updated, r.latest, r.answers, r.origins, r.imported)
}

// measureEmbedded returns the size of the document in an answer, and whether it is there byte
// by byte as it was published.
func measureEmbedded(answer []byte, document []byte) (size int, whole bool) {
	const head = `{"server":`
	if bytes.HasPrefix(answer[len(head):], document) &&
		bytes.HasPrefix(answer[len(head)+len(document):], []byte(`,"_meta":`)) {
		return len(document), true
	}
	return 0, false
}

// rewrite stores the state of a record that exists. It is the only statement that
// changes one, so that the answer is always that of the columns.
func rewrite(b *pgx.Batch, rec registry.Record) error {
	answer, err := registry.AppendEnvelope(nil, rec)
	if err != nil {
		return err
	}
	findings := []byte("[]")
	if len(rec.Findings) > 0 {
		if findings, err = json.Marshal(rec.Findings); err != nil {
			return err
		}
	}
	b.Queue(`UPDATE servers SET status = $3, status_message = $4, status_changed_at = $5, updated_at = $6,
			is_latest = $7, answer = $8, findings = $9
		WHERE name = $1 AND version = $2`,
		rec.Name, rec.Version, string(rec.Status), rec.StatusMessage, rec.StatusChangedAt.UnixMicro(),
		rec.UpdatedAt.UnixMicro(), rec.IsLatest, answer, findings)
	return nil
}
