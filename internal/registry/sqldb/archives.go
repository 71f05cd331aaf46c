package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// ArchiveColumns are the columns of a record when it is inserted.
const ArchiveColumns = `kind, name, version, content_integrity, content_hash, size, manifest,
	document_digest, assets, api_surface, publisher, build, status, status_message, status_entry, status_changed_at,
	published_at, updated_at, is_latest`

// archiveRow is a whole record: its columns, and what was found later.
const archiveRow = ArchiveColumns + ", findings"

// scanArchive reads an archiveRow.
func scanArchive(scan Scan) (registry.ArchiveRecord, error) {
	var (
		r                                      registry.ArchiveRecord
		integrity, hash, document, api, status string
		manifest, assets, found                string
		changed, published, updated            int64
	)
	err := scan(&r.Kind, &r.Name, &r.Version, &integrity, &hash, &r.Size, &manifest, &document, &assets, &api,
		&r.Publisher, &r.Build, &status, &r.StatusMessage, &r.StatusEntry, &changed, &published, &updated, &r.IsLatest,
		&found)
	if err != nil {
		return r, err
	}
	if r.Findings, err = registry.FindingsOf(ledger.Kind(r.Kind), r.Name, r.Version, []byte(found)); err != nil {
		return r, err
	}
	for _, d := range []struct {
		text string
		to   *digest.Digest
	}{{integrity, &r.ContentIntegrity}, {hash, &r.ContentHash}, {document, &r.DocumentDigest}, {api, &r.APISurface}} {
		if err := d.to.UnmarshalText([]byte(d.text)); err != nil {
			return r, fmt.Errorf("%s %+q: %w", r.Kind, r.Subject(), err)
		}
	}
	if err := json.Unmarshal([]byte(assets), &r.Assets); err != nil {
		return r, fmt.Errorf("%s %+q: assets: %w", r.Kind, r.Subject(), err)
	}
	r.Manifest, r.Status = json.RawMessage(manifest), registry.Status(status)
	r.StatusChangedAt = time.UnixMicro(changed).UTC()
	r.PublishedAt = time.UnixMicro(published).UTC()
	r.UpdatedAt = time.UnixMicro(updated).UTC()
	return r, nil
}

// archive reads one record; the version may be latest.
func (s Statements) archive(
	ctx context.Context, kind ledger.Kind, name, version string,
) (registry.ArchiveRecord, error) {
	where, args := "kind = $1 AND name = $2 AND version = $3", []any{string(kind), name, version}
	if version == registry.Latest {
		where, args = "kind = $1 AND name = $2 AND is_latest", args[:2]
	}
	if !registry.Storable(name, version) {
		return registry.ArchiveRecord{}, registry.ErrNotFound
	}
	return One(ctx, s, scanArchive, "SELECT "+archiveRow+" FROM archives WHERE "+where, args...)
}

// insertArchive inserts a record in the transaction of s.
func (s Statements) insertArchive(ctx context.Context, rec registry.ArchiveRecord) (registry.ArchiveRecord, error) {
	first, err := s.archive(ctx, ledger.Kind(rec.Kind), rec.Name, rec.Version)
	if err == nil {
		return first, registry.ErrExists
	}
	if !errors.Is(err, registry.ErrNotFound) {
		return registry.ArchiveRecord{}, err
	}
	all, err := s.archiveStates(ctx, rec.Kind, rec.Name)
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	if len(all) >= registry.MaxVersions {
		return registry.ArchiveRecord{}, registry.ErrTooMany
	}
	was, _ := registry.LatestOf(all)
	rec.IsLatest = was < 0 || registry.Supersedes(rec.AsRecord(), all[was])
	if len(all) == 0 {
		if err := s.Noted(ctx, rec.Kind, rec.Name); err != nil {
			return registry.ArchiveRecord{}, err
		}
	}
	leaves, err := insertLeaves(rec)
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	if rec.Entry, err = s.Append(ctx, leaves...); err != nil {
		return registry.ArchiveRecord{}, err
	}
	if len(leaves) > 1 {
		rec.StatusEntry = new(rec.Entry + 1)
	}
	if rec.IsLatest && was >= 0 {
		if err := s.clearLatest(ctx, rec.Kind, rec.Name); err != nil {
			return registry.ArchiveRecord{}, err
		}
	}
	return s.insertRow(ctx, rec)
}

// insertLeaves returns the entries of the log for a record that is inserted: its own, and one of its status, if it was
// exported with one.
func insertLeaves(rec registry.ArchiveRecord) ([]ledger.Leaf, error) {
	leaf, err := rec.Leaf()
	if err != nil {
		return nil, err
	}
	if rec.Status == registry.Active && rec.StatusMessage == "" {
		return []ledger.Leaf{leaf}, nil
	}
	status, err := rec.StatusLeaf(leaf.Publisher, leaf.At)
	if err != nil {
		return nil, err
	}
	return []ledger.Leaf{leaf, status}, nil
}

// clearLatest makes no version of a name the latest.
func (s Statements) clearLatest(ctx context.Context, kind, name string) error {
	return s.Exec(ctx, "UPDATE archives SET is_latest = $1 WHERE kind = $2 AND name = $3 AND is_latest", false, kind,
		name)
}

// insertRow stores a record that does not exist, and returns it with the digest of its document.
func (s Statements) insertRow(ctx context.Context, rec registry.ArchiveRecord) (registry.ArchiveRecord, error) {
	assets, err := json.Marshal(rec.Assets)
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	document, err := rec.Document()
	if err != nil {
		return registry.ArchiveRecord{}, err
	}
	rec.DocumentDigest = document
	return rec, s.Exec(ctx, "INSERT INTO archives ("+ArchiveColumns+`) VALUES
		($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
		rec.Kind, rec.Name, rec.Version, rec.ContentIntegrity.String(), rec.ContentHash.String(), rec.Size,
		string(rec.Manifest), document.String(),
		string(assets), rec.APISurface.String(), rec.Publisher, rec.Build, string(rec.Status), rec.StatusMessage,
		rec.StatusEntry,
		rec.StatusChangedAt.UnixMicro(), rec.PublishedAt.UnixMicro(), rec.UpdatedAt.UnixMicro(), rec.IsLatest)
}

// archiveStates are the [Statements.States] of the versions of an archive.
func (s Statements) archiveStates(ctx context.Context, kind, name string) ([]registry.Record, error) {
	return s.States(ctx, name, "archives WHERE kind = $1 AND name = $2", kind, name)
}

// States reads, for every version of a name that a table has where a condition holds, newest first, what decides its
// status and which version is the latest.
func (s Statements) States(ctx context.Context, name, tableWhere string, args ...any) ([]registry.Record, error) {
	return All(ctx, s, func(scan Scan) (registry.Record, error) {
		rec := registry.Record{Name: name}
		var published int64
		err := scan(&rec.Version, &rec.Status, &rec.StatusMessage, &published, &rec.IsLatest)
		rec.PublishedAt = time.UnixMicro(published).UTC()
		return rec, err
	}, "SELECT version, status, status_message, published_at, is_latest FROM "+tableWhere+
		" ORDER BY published_at DESC, version DESC", args...)
}

// setArchiveStatus changes the status of one version, or with version "" of all, in the transaction of s.
func (s Statements) setArchiveStatus(
	ctx context.Context, kind ledger.Kind, name, version string, c registry.Change,
) (int, []registry.ArchiveRecord, error) {
	all, err := s.archiveStates(ctx, string(kind), name)
	if err != nil {
		return 0, nil, err
	}
	altered, err := c.Apply(all, version)
	if err != nil {
		return 0, nil, err
	}
	leaves := make([]ledger.Leaf, len(altered))
	for n, i := range altered {
		rec := registry.ArchiveRecord{Kind: string(kind), Name: name, Version: all[i].Version, Status: c.Status,
			StatusMessage: c.Message}
		if leaves[n], err = rec.StatusLeaf(c.By, c.At); err != nil {
			return 0, nil, err
		}
	}
	first, err := s.Append(ctx, leaves...)
	if err != nil {
		return 0, nil, err
	}
	for n, i := range altered {
		if err := s.Exec(ctx, `UPDATE archives SET
			status_changed_at = CASE WHEN status = $1 THEN status_changed_at ELSE $2 END,
			updated_at = $3, status = $4, status_message = $5, status_entry = $6
			WHERE kind = $7 AND name = $8 AND version = $9`,
			string(c.Status), c.At.UnixMicro(), c.At.UnixMicro(), string(c.Status), c.Message, first+int64(n),
			string(kind), name, all[i].Version); err != nil {
			return 0, nil, err
		}
	}
	if err := s.moveLatest(ctx, string(kind), name, all); err != nil {
		return 0, nil, err
	}
	records, err := Changed(altered, func(i int) (registry.ArchiveRecord, error) {
		return s.archive(ctx, kind, name, all[i].Version)
	})
	if err != nil {
		return 0, nil, err
	}
	return len(altered), records, nil
}

// Changed reads the records that were changed, as many as an answer has room for.
func Changed[T Record](altered []int, read func(int) (T, error)) (records []T, err error) {
	size := 0
	for _, i := range altered {
		rec, err := read(i)
		if err != nil {
			return nil, err
		}
		if size += rec.PageSize(); len(records) > 0 && size > registry.PageBytes {
			break
		}
		records = append(records, rec)
	}
	return records, nil
}

// moveLatest stores which of all versions of a name is the latest, if that has changed.
func (s Statements) moveLatest(ctx context.Context, kind, name string, all []registry.Record) error {
	was, is := registry.LatestOf(all)
	if is == was {
		return nil
	}
	if err := s.clearLatest(ctx, kind, name); err != nil {
		return err
	}
	return s.Exec(ctx, "UPDATE archives SET is_latest = $1 WHERE kind = $2 AND name = $3 AND version = $4", true,
		kind, name, all[is].Version)
}

// archiveVersions reads a page of the versions of a name, newest first.
func (s Statements) archiveVersions(
	ctx context.Context, kind ledger.Kind, name, after string, deleted bool,
) ([]registry.ArchiveRecord, string, error) {
	at, err := registry.ParseCursor(after)
	if err != nil {
		return nil, "", err
	}
	if !registry.Storable(name) {
		return nil, "", registry.ErrNotFound
	}
	statement, args := "SELECT "+archiveRow+" FROM archives WHERE kind = $1 AND name = $2", []any{string(kind), name}
	if after != "" {
		// Records are never removed and keep their time of publishing.
		last, err := s.archive(ctx, kind, at.Name, at.Version)
		if errors.Is(err, registry.ErrNotFound) || at.Name != name || at.Version == registry.Latest {
			return nil, "", fmt.Errorf("%w: not one of these versions", registry.ErrCursor)
		}
		if err != nil {
			return nil, "", err
		}
		statement += " AND (published_at, version) < ($3, $4)"
		args = append(args, last.PublishedAt.UnixMicro(), last.Version)
	}
	if !deleted {
		statement += " AND status <> 'deleted'"
	}
	statement += fmt.Sprintf(" ORDER BY published_at DESC, version DESC LIMIT %d", registry.MaxLimit+1)
	page, next, err := Page(ctx, s, scanArchive, registry.MaxLimit, statement, args...)
	if err == nil && after == "" && len(page) == 0 {
		_, err = s.archive(ctx, kind, name, registry.Latest) // if all are deleted there are versions, and none is shown
	}
	return page, next, err
}

// listArchives reads a page of the records of a kind.
func (s Statements) listArchives(
	ctx context.Context, kind ledger.Kind, q registry.Query,
) ([]registry.ArchiveRecord, string, error) {
	at, err := registry.ParseCursor(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	if !registry.Storable(q.Search, q.Version) {
		return nil, "", nil
	}
	args := []any{string(kind), at.Name, at.Version}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	where := []string{"kind = $1", "(name, version) > ($2, $3)"}
	switch q.Version {
	case "":
	case registry.Latest:
		where = append(where, "is_latest")
	default:
		where = append(where, "version = "+arg(q.Version))
	}
	if !q.Deleted {
		where = append(where, "status <> 'deleted'")
	}
	if q.Search != "" {
		// An index of three characters cannot find shorter texts. A name has no capitals.
		text := registry.LowerASCII(q.Search)
		where = append(where, "name LIKE "+arg("%"+LikeEscaper.Replace(text)+"%")+` ESCAPE '\'`)
		if utf8.RuneCountInString(text) >= 3 {
			where = append(where, s.Holds(text, arg))
		}
	}
	if !q.UpdatedSince.IsZero() {
		where = append(where, "updated_at >= "+arg(q.UpdatedSince.UnixMicro()))
	}
	return Page(ctx, s, scanArchive, q.PageLimit(), fmt.Sprintf(
		"SELECT %s FROM archives WHERE %s ORDER BY name, version LIMIT %d",
		archiveRow, strings.Join(where, " AND "), q.PageLimit()+1), args...)
}

// InsertArchive implements [registry.ArchiveRecords].
func (s Shared) InsertArchive(
	ctx context.Context, a policy.Admitted, rec registry.ArchiveRecord,
) (out registry.ArchiveRecord, err error) {
	if err := rec.Admit(a); err != nil {
		return registry.ArchiveRecord{}, err
	}
	if rec = rec.Normal(); !registry.Storable(rec.Name, rec.Version, string(rec.Manifest), rec.StatusMessage,
		rec.Build) {
		return registry.ArchiveRecord{}, errors.New(rec.Kind + " " + rec.Subject() + ": not UTF-8 without NUL")
	}
	err = s.Alone(ctx, func(ctx context.Context, db Statements) (err error) {
		out, err = db.insertArchive(ctx, rec)
		return err
	})
	return out, err
}

// Archive implements [registry.ArchiveRecords].
func (s Shared) Archive(
	ctx context.Context, kind ledger.Kind, name, version string,
) (registry.ArchiveRecord, error) {
	return reading(ctx, s, func(ctx context.Context, db Statements) (registry.ArchiveRecord, error) {
		return db.archive(ctx, kind, name, version)
	})
}

// ArchiveVersions implements [registry.ArchiveRecords].
func (s Shared) ArchiveVersions(
	ctx context.Context, kind ledger.Kind, name, cursor string, deleted bool,
) (page []registry.ArchiveRecord, next string, err error) {
	err = s.Read(ctx, func(ctx context.Context, db Statements) (err error) {
		page, next, err = db.archiveVersions(ctx, kind, name, cursor, deleted)
		return err
	})
	return page, next, err
}

// ListArchives implements [registry.ArchiveRecords].
func (s Shared) ListArchives(
	ctx context.Context, kind ledger.Kind, q registry.Query,
) (page []registry.ArchiveRecord, next string, err error) {
	err = s.Read(ctx, func(ctx context.Context, db Statements) (err error) {
		page, next, err = db.listArchives(ctx, kind, q)
		return err
	})
	return page, next, err
}

// SetArchiveStatus implements [registry.ArchiveRecords].
func (s Shared) SetArchiveStatus(
	ctx context.Context, kind ledger.Kind, name, version string, c registry.Change,
) (n int, records []registry.ArchiveRecord, err error) {
	if !registry.Storable(name, version) {
		return 0, nil, registry.ErrNotFound
	}
	if !registry.Storable(c.Message) {
		return 0, nil, errors.New("status message: not UTF-8 without NUL")
	}
	err = s.Alone(ctx, func(ctx context.Context, db Statements) (err error) {
		n, records, err = db.setArchiveStatus(ctx, kind, name, version, c)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return n, records, nil
}

// LikeEscaper makes text stand for itself in a pattern of LIKE.
var LikeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
