// Package postgres keeps a registry in a PostgreSQL database, which any number of registries
// may share.
package postgres

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// DB keeps [registry.Records] in a PostgreSQL database, which any number of registries
// share. They keep nothing of it in memory, so that each answers what the database
// says at that moment.
//
// Inserts queue in the process. One transaction takes all that wait, under an
// advisory lock that all processes take in turn, and they return together when it is
// on disk (group commit): the more publish at once, the less each costs.
//
// A connection that breaks is replaced. A read is tried once more; an insert too, if
// its commit was not sent yet. What still fails is ErrUnavailable.
type DB struct {
	sqldb.Shared

	pool *pgxpool.Pool

	inserts chan *insertion
	closed  chan struct{} // closed by Close
	written chan struct{} // closed when nothing takes inserts any more

	readTime, writeTime  time.Duration
	fewNames, fewUpdates int        // see list; smaller in tests
	common               hints      // texts that many names hold
	gramCounts           gramCounts // for the others
}

// postgresConns is how many connections a process uses at most, if the URL does not say
// pool_max_conns. More connections do not make a database faster if it answers within a
// millisecond.
const postgresConns = 8

// Open connects to the database at rawURL (postgres://user@host/database, with
// the parameters of libpq and of pgxpool) and brings its schema up to date. A database
// of another program, or of a newer build, is an error and is left as it is.
func Open(ctx context.Context, rawURL string) (*DB, error) {
	p, err := open(ctx, rawURL)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", redactURL(rawURL), err)
	}
	return p, nil
}

// redactURL returns rawURL without what is secret in it.
func redactURL(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(malformed URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func open(ctx context.Context, rawURL string) (*DB, error) {
	config, err := configure(rawURL)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := migratePostgres(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	p := &DB{pool: pool, readTime: readTime, writeTime: writeTime, fewNames: postgresFewNames,
		fewUpdates: postgresFewUpdates,
		inserts:    make(chan *insertion, maxBatch), closed: make(chan struct{}), written: make(chan struct{})}
	p.Shared = p.shared()
	if err := p.FillLog(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	go p.write()
	return p, nil
}

// configure returns how connections to the database at rawURL are made. What the URL says stays, unless records would
// not be safe so.
func configure(rawURL string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		// The cause may quote a password.
		return nil, evidence.Errorf(evidence.Validation, "", "", errors.New("not a PostgreSQL URL"))
	}
	if config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return nil, evidence.Errorf(evidence.Validation, "", "",
			errors.New("the simple protocol does not do: it changes bytes into text"))
	}
	if !strings.Contains(rawURL, "pool_max_conns") {
		config.MaxConns = postgresConns
	}
	config.MaxConnIdleTime = 30 * time.Minute
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, 5*time.Second)
	set := config.ConnConfig.RuntimeParams
	if set["application_name"] == "" {
		set["application_name"] = "hallmark"
	}
	config.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		// A page is some 100 kB, which by default is read 8 kB at a time.
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, 64<<10), w)
	}
	if config.ConnConfig.ValidateConnect == nil {
		// Connect to the host that takes writes, if the URL names several or the name has
		// moved: on a standby the log may be shorter than the checkpoint that was signed.
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	config.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			conn.CustomData()[warnedKey] = true
		}
	}
	config.AfterConnect = durableCommits
	return config, nil
}

// durableCommits makes a commit wait for the disk where the server's default is not
// to. Stronger defaults, as of a replicated server, stay.
func durableCommits(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx,
		"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	return err
}

// warnedKey is the key of a connection's custom data that is set when the server has sent a
// warning.
const warnedKey = "warned"

// Close lets queued inserts finish and ends the connections.
func (p *DB) Close() error {
	close(p.closed)
	<-p.written
	p.pool.Close()
	return nil
}

// unavailable marks errors of a database that is temporarily unavailable.
func unavailable(err error) error {
	if err == nil || !passing(err) {
		return err
	}
	return fmt.Errorf("%w: %w", registry.ErrUnavailable, err)
}

// passing reports whether err is temporary: one of the connection, or one of the server that
// passes. The codes are from the manual's appendix A.
func passing(err error) bool {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch answer.Code[:min(2, len(answer.Code))] {
		case "08", "40", "53", "57": // connection, rollback, resources, operator
			return true
		}
		return answer.Code == "25006" // a standby, while it is being promoted
	}
	var (
		dial    *pgconn.ConnectError
		network net.Error
	)
	return errors.As(err, &dial) || errors.As(err, &network) || broken(err)
}

// broken reports whether err comes from a connection which ended.
func broken(err error) bool {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(answer.Code, "57P") || strings.HasPrefix(answer.Code, "08")
	}
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &op) || pgconn.SafeToRetry(err) // a connection that is closed already
}

// Timeouts of a read and of a writing transaction. They leave time for an answer if the
// database is silent. A change waits for both.
const (
	readTime  = 20 * time.Second
	writeTime = 30 * time.Second
)

// read runs f, and once more if its connection was broken by a restart of the database, as then
// are all others in the pool.
func (p *DB) read(ctx context.Context, f func(context.Context) error) error {
	reading, cancel := context.WithTimeout(ctx, p.readTime)
	defer cancel()
	err := f(reading)
	if err != nil && reading.Err() == nil && broken(err) {
		p.pool.Reset()
		err = f(reading)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return unavailable(err)
}

// original are the columns of a whole record, of servers s and originals o. The
// document is in the answer after {"server": if it was published without white space.
const original = `s.name, s.version,
	coalesce(o.document, substring(s.answer FROM 11 FOR s.document_size)), s.document_digest,
	s.evidence, s.verified_at, s.build,
	s.status, s.status_message, s.status_changed_at, s.published_at, s.updated_at, s.is_latest,
	s.origin, s.imported_at, s.findings`

const withOriginals = " LEFT JOIN originals o ON o.name = s.name AND o.version = s.version "

const fromBoth = " FROM servers s" + withOriginals

// scanOriginal reads a row of original.
func scanOriginal(scan sqldb.Scan) (registry.Record, error) {
	var (
		rec                         registry.Record
		sum                         string
		verified, imported          *int64
		later                       []byte
		changed, published, updated int64
	)
	err := scan(&rec.Name, &rec.Version, (*[]byte)(&rec.Document), &sum, (*[]byte)(&rec.Evidence), &verified,
		&rec.Build,
		&rec.Status, &rec.StatusMessage, &changed, &published, &updated, &rec.IsLatest,
		&rec.Origin, &imported, &later)
	if err != nil {
		return registry.Record{}, err
	}
	if rec.Digest, err = digest.Parse(sum); err != nil {
		return registry.Record{}, fmt.Errorf("record %+q: %w", rec.Subject(), err)
	}
	rec.VerifiedAt, rec.ImportedAt = sqldb.Time(verified), sqldb.Time(imported)
	if err := rec.ReadFindings(later); err != nil {
		return registry.Record{}, err
	}
	rec.StatusChangedAt = time.UnixMicro(changed).UTC()
	rec.PublishedAt = time.UnixMicro(published).UTC()
	rec.UpdatedAt = time.UnixMicro(updated).UTC()
	return rec, nil
}

// one is the record that a condition selects, or ErrNotFound.
func one(ctx context.Context, q querier, where string, args ...any) (registry.Record, error) {
	return sqldb.One(ctx, statements(q), scanOriginal, "SELECT "+original+fromBoth+"WHERE "+where, args...)
}

// Get implements [registry.Records].
func (p *DB) Get(ctx context.Context, name, version string) (rec registry.Record, err error) {
	if !registry.Storable(name, version) {
		return registry.Record{}, registry.ErrNotFound
	}
	err = p.read(ctx, func(ctx context.Context) error {
		if version == registry.Latest {
			rec, err = one(ctx, p.pool, "s.name = $1 AND s.is_latest", name)
		} else {
			rec, err = one(ctx, p.pool, "s.name = $1 AND s.version = $2", name, version)
		}
		return err
	})
	return rec, err
}

// AppendRecord implements [registry.Records].
func (p *DB) AppendRecord(ctx context.Context, dst []byte, name, version string, deleted bool) ([]byte, error) {
	if !registry.Storable(name, version) {
		return dst, registry.ErrNotFound
	}
	out := dst
	err := p.read(ctx, func(ctx context.Context) error {
		query, args := "SELECT answer FROM servers WHERE name = $1 AND version = $2", []any{name, version}
		if version == registry.Latest {
			query, args = "SELECT answer FROM servers WHERE name = $1 AND is_latest", args[:1]
		}
		if !deleted {
			query += " AND status <> 'deleted'"
		}
		rows, err := p.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		found := rows.Next()
		if found {
			out = append(dst, rows.RawValues()[0]...)
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			return err
		}
		if !found {
			return registry.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	return out, nil
}

// Versions implements [registry.Records].
func (p *DB) Versions(ctx context.Context, name, after string) (page []registry.Record, next string, err error) {
	at, err := registry.ParseCursor(after)
	if err != nil {
		return nil, "", err
	}
	if !registry.Storable(name) {
		return nil, "", registry.ErrNotFound
	}
	query, args := "SELECT "+original+fromBoth+"WHERE s.name = $1", []any{name}
	if after != "" {
		last, err := p.Get(ctx, at.Name, at.Version)
		if errors.Is(err, registry.ErrNotFound) || at.Name != name || at.Version == registry.Latest {
			return nil, "", fmt.Errorf("%w: not one of these versions", registry.ErrCursor)
		}
		if err != nil {
			return nil, "", err
		}
		query += " AND (s.published_at, s.version) < ($2, $3)"
		args = append(args, last.PublishedAt.UnixMicro(), last.Version)
	}
	query += fmt.Sprintf(" ORDER BY s.published_at DESC, s.version DESC LIMIT %d", registry.MaxVersions+1)
	page, next, err = p.page(ctx, query, args, registry.MaxVersions)
	if err == nil && after == "" && len(page) == 0 {
		err = registry.ErrNotFound
	}
	return page, next, err
}

// page runs a query that gives one row more than limit if there are more.
func (p *DB) page(
	ctx context.Context, query string, args []any, limit int,
) (page []registry.Record, next string, err error) {
	err = p.read(ctx, func(ctx context.Context) (err error) {
		page, next, err = sqldb.Page(ctx, statements(p.pool), scanOriginal, limit, query, args...)
		return err
	})
	return page, next, err
}
