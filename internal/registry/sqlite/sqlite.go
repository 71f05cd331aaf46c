// Package sqlite keeps a registry in one file, with SQLite.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/policy"
)

// DB keeps [registry.Records] in one file, beside which SQLite keeps a write-ahead log.
//
// There are two pools on the file. The writer has one connection, whose
// transactions take the write lock when they begin: within the process inserts
// queue for the connection and between processes for the lock, and none can fail
// half-way because another got in between. Readers have connections that cannot
// write; in write-ahead mode they see the last commit and never wait for the writer.
//
// A commit is synced to disk before it returns (synchronous FULL).
type DB struct {
	sqldb.Shared

	write *sql.DB // one connection
	read  *sql.DB

	fewNames, fewUpdates int // see List; smaller in tests
}

// sqliteReaders is how many reads run at once; more wait for one to end.
const sqliteReaders = 8

// lockWait is how long a transaction waits for that of another process.
const lockWait = 30 * time.Second

// Open opens the database at path, a file in a directory that exists, creates
// it for this user alone if there is none, and brings its schema up to date. A file
// of another program, or of a newer build, is an error and is left as it is.
func Open(ctx context.Context, path string) (*DB, error) {
	db, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	return db, nil
}

func open(ctx context.Context, path string) (*DB, error) {
	// SQLite itself would create the file readable by everybody; the log beside it
	// inherits the mode.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	// Open the file for reading only: setting the journal's mode would write to it.
	plain, err := sqliteName(path, url.Values{"_query_only": {"on"}})
	if err != nil {
		return nil, err
	}
	if err := patiently(ctx, func() error { return checkSQLite(ctx, plain) }); err != nil {
		return nil, err
	}
	writer, err := sqliteName(path, url.Values{
		"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_foreign_keys": {"on"}, "_txlock": {"immediate"}})
	if err != nil {
		return nil, err
	}
	reader, err := sqliteName(path, url.Values{"_query_only": {"on"}})
	if err != nil {
		return nil, err
	}
	db := &DB{fewNames: fewNames, fewUpdates: fewUpdates}
	db.Shared = db.shared()
	if db.write, err = sql.Open("sqlite", writer); err != nil {
		return nil, err
	}
	db.write.SetMaxOpenConns(1)
	if err := patiently(ctx, func() error { return migrateSQLite(ctx, db.write) }); err != nil {
		return nil, errors.Join(err, db.write.Close())
	}
	if err := db.FillLog(ctx); err != nil {
		return nil, errors.Join(err, db.write.Close())
	}
	if db.read, err = sql.Open("sqlite", reader); err != nil {
		return nil, errors.Join(err, db.write.Close())
	}
	db.read.SetMaxOpenConns(sqliteReaders)
	db.read.SetMaxIdleConns(sqliteReaders)
	return db, nil
}

// patiently repeats f while the file is locked. SQLite does not wait itself where a
// file changes to write-ahead mode, or leaves it with its last connection.
func patiently(ctx context.Context, f func() error) error {
	for end := time.Now().Add(lockWait); ; {
		err := f()
		var locked *sqlite.Error
		if !errors.As(err, &locked) || locked.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sqliteName is the URI of path with the driver's parameters.
func sqliteName(path string, params url.Values) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") { // C:/… on Windows
		slashed = "/" + slashed
	}
	params.Set("mode", "rw") // never create
	params.Set("_busy_timeout", fmt.Sprint(lockWait.Milliseconds()))
	params.Set("_dqs", "0")
	params.Set("_defensive", "1")
	return "file://" + (&url.URL{Path: slashed}).EscapedPath() + "?" + params.Encode(), nil
}

// Close waits for running statements and closes the file.
func (s *DB) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

const columns = `name, version, document, document_digest, evidence, verified_at, build,
	status, status_message, status_changed_at, published_at, updated_at, is_latest,
	origin, imported_at, findings`

// scan reads a row of columns.
func scan(scan sqldb.Scan) (registry.Record, error) {
	var (
		rec                         registry.Record
		document, sum, found, later string
		verified, imported          *int64
		changed, published, updated int64
	)
	err := scan(&rec.Name, &rec.Version, &document, &sum, &found, &verified, &rec.Build,
		&rec.Status, &rec.StatusMessage, &changed, &published, &updated, &rec.IsLatest,
		&rec.Origin, &imported, &later)
	if err != nil {
		return registry.Record{}, err
	}
	rec.Document, rec.Evidence = []byte(document), []byte(found)
	if rec.Digest, err = digest.Parse(sum); err != nil {
		return registry.Record{}, fmt.Errorf("record %+q: %w", rec.Subject(), err)
	}
	if err := rec.ReadFindings([]byte(later)); err != nil {
		return registry.Record{}, err
	}
	rec.VerifiedAt, rec.ImportedAt = sqldb.Time(verified), sqldb.Time(imported)
	rec.StatusChangedAt = time.UnixMicro(changed).UTC()
	rec.PublishedAt = time.UnixMicro(published).UTC()
	rec.UpdatedAt = time.UnixMicro(updated).UTC()
	return rec, nil
}

// one is the record that a condition selects, or ErrNotFound.
func one(ctx context.Context, q querier, where string, args ...any) (registry.Record, error) {
	return sqldb.One(ctx, statements(q), scan, "SELECT "+columns+" FROM servers WHERE "+where, args...)
}

// Insert implements [registry.Records].
func (s *DB) Insert(ctx context.Context, a policy.Admitted, rec registry.Record) (out registry.Record, err error) {
	if err := registry.Admit(a, rec); err != nil {
		return registry.Record{}, err
	}
	err = s.alone(ctx, func(tx *sql.Tx) (err error) {
		out, err = insert(ctx, tx, rec.Normal())
		return err
	})
	return out, err
}

// insert is Insert within its transaction.
func insert(ctx context.Context, tx *sql.Tx, rec registry.Record) (registry.Record, error) {
	first, err := one(ctx, tx, "name = ? AND version = ?", rec.Name, rec.Version)
	if err == nil {
		return first, registry.ErrExists
	}
	if !errors.Is(err, registry.ErrNotFound) {
		return registry.Record{}, err
	}
	var versions int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM servers WHERE name = ?", rec.Name).Scan(&versions); err !=
		nil {
		return registry.Record{}, err
	}
	if versions >= registry.MaxVersions {
		return registry.Record{}, registry.ErrTooMany
	}
	if rec.IsLatest, err = decideLatest(ctx, tx, rec); err != nil {
		return registry.Record{}, err
	}
	if err := insertRow(ctx, tx, rec); err != nil {
		return registry.Record{}, err
	}
	leaves, err := rec.Leaves()
	if err != nil {
		return registry.Record{}, err
	}
	added, err := appendLog(ctx, tx, leaves...)
	if err != nil {
		return registry.Record{}, err
	}
	rec.Entry, rec.EntryText = added.First, added.Texts[0]
	return rec, nil
}

// decideLatest reports whether a record that is being inserted is the latest of its name. The one before is none then.
// A name that is new is entered into the index of names.
func decideLatest(ctx context.Context, tx *sql.Tx, rec registry.Record) (bool, error) {
	latest, err := one(ctx, tx, "name = ? AND is_latest = 1", rec.Name)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		if _, err := tx.ExecContext(ctx, "INSERT INTO server_names (name) VALUES (?)", rec.Name); err != nil {
			return false, err
		}
	case err != nil:
		return false, err
	case !registry.Supersedes(rec, latest):
		return false, nil
	}
	_, err = tx.ExecContext(ctx, "UPDATE servers SET is_latest = 0 WHERE name = ? AND is_latest = 1", rec.Name)
	return true, err
}

// insertRow stores a record that does not exist.
func insertRow(ctx context.Context, tx *sql.Tx, rec registry.Record) error {
	_, err := tx.ExecContext(ctx,
		"INSERT INTO servers ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		rec.Name, rec.Version, string(rec.Document), rec.Digest.String(), string(rec.Evidence),
		sqldb.Micros(rec.VerifiedAt), rec.Build,
		string(rec.Status), rec.StatusMessage, rec.StatusChangedAt.UnixMicro(), rec.PublishedAt.UnixMicro(),
		rec.UpdatedAt.UnixMicro(), rec.IsLatest,
		rec.Origin, sqldb.Micros(rec.ImportedAt), "[]")
	return err
}

// Get implements [registry.Records].
func (s *DB) Get(ctx context.Context, name, version string) (registry.Record, error) {
	if version == registry.Latest {
		return one(ctx, s.read, "name = ? AND is_latest = 1", name)
	}
	return one(ctx, s.read, "name = ? AND version = ?", name, version)
}

// Versions implements [registry.Records].
func (s *DB) Versions(ctx context.Context, name, after string) ([]registry.Record, string, error) {
	at, err := registry.ParseCursor(after)
	if err != nil {
		return nil, "", err
	}
	query, args := "SELECT "+columns+" FROM servers WHERE name = ?", []any{name}
	if after != "" {
		// Records are never removed and keep their time of publishing, so the cursor
		// of a page names a record as long as the database lives.
		last, err := s.Get(ctx, at.Name, at.Version)
		if errors.Is(err, registry.ErrNotFound) || at.Name != name || at.Version == registry.Latest {
			return nil, "", fmt.Errorf("%w: not one of these versions", registry.ErrCursor)
		}
		if err != nil {
			return nil, "", err
		}
		query += " AND (published_at, version) < (?, ?)"
		args = append(args, last.PublishedAt.UnixMicro(), last.Version)
	}
	page, next, err := sqldb.Page(ctx, statements(s.read), scan, registry.MaxVersions,
		query+" ORDER BY published_at DESC, version DESC LIMIT ?", append(args, registry.MaxVersions+1)...)
	if err == nil && after == "" && len(page) == 0 {
		err = registry.ErrNotFound
	}
	return page, next, err
}

// AppendRecord implements [registry.Records].
func (s *DB) AppendRecord(ctx context.Context, dst []byte, name, version string, deleted bool) ([]byte, error) {
	rec, err := s.Get(ctx, name, version)
	if err != nil {
		return dst, err
	}
	if rec.Status == registry.Deleted && !deleted {
		return dst, registry.ErrNotFound
	}
	return registry.AppendEnvelope(dst, rec)
}

// AppendPage implements [registry.Records].
func (s *DB) AppendPage(ctx context.Context, dst []byte, q registry.Query) ([]byte, int, string, error) {
	page, next, err := s.List(ctx, q)
	if err != nil {
		return dst, 0, "", err
	}
	answer, err := registry.AppendEnvelopes(dst, page)
	if err != nil {
		return dst, 0, "", err
	}
	return answer, len(page), next, nil
}
