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

// Archives implements the methods of [registry.ArchiveRecords] by statements that both
// databases understand. Unpacking and hashing an archive takes longer than the transaction that
// inserts it, so the optimisations of [registry.Records] would gain nothing here.
type Archives struct {
	// Query calls each for every row of the result, until more is false.
	Query func(ctx context.Context, statement string, args []any,
		each func(scan func(...any) error) (more bool, err error)) error

	// Holds returns the condition that a name contains text; arg adds an argument and returns
	// its placeholder.
	Holds func(text string, arg func(any) string) (condition string)

	// These run within a transaction, beside which no other write runs.
	Exec   func(ctx context.Context, statement string, args ...any) error
	Append func(ctx context.Context, leaves ...ledger.Leaf) (first int64, err error) // to the log
	Noted  func(ctx context.Context, kind, name string) error                        // a new name, for Holds
}

// ArchiveColumns are those of a record when it is inserted.
const ArchiveColumns = `kind, name, version, content_integrity, content_hash, size, manifest,
	document_digest, assets, api_surface, publisher, build, status, status_message, status_entry, status_changed_at,
	published_at, updated_at, is_latest`

// archiveRow is a whole record: its columns, and what was found later.
const archiveRow = ArchiveColumns + ", findings"

// scanArchive reads an archiveRow.
func scanArchive(scan func(...any) error) (registry.ArchiveRecord, error) {
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

// one is the record that a condition selects, or ErrNotFound.
func (s Archives) one(ctx context.Context, where string, args ...any) (rec registry.ArchiveRecord, err error) {
	found := false
	err = s.Query(ctx, "SELECT "+archiveRow+" FROM archives WHERE "+where, args,
		func(scan func(...any) error) (bool, error) {
			found = true
			rec, err = scanArchive(scan)
			return false, err
		})
	if err == nil && !found {
		err = registry.ErrNotFound
	}
	return rec, err
}

// Get reads one record; the version may be latest.
func (s Archives) Get(ctx context.Context, kind ledger.Kind, name, version string) (registry.ArchiveRecord, error) {
	if !registry.Storable(name, version) {
		return registry.ArchiveRecord{}, registry.ErrNotFound
	}
	if version == registry.Latest {
		return s.one(ctx, "kind = $1 AND name = $2 AND is_latest", string(kind), name)
	}
	return s.one(ctx, "kind = $1 AND name = $2 AND version = $3", string(kind), name, version)
}

// Insert inserts a record in the transaction of s.
func (s Archives) Insert(ctx context.Context, rec registry.ArchiveRecord) (registry.ArchiveRecord, error) {
	first, err := s.Get(ctx, ledger.Kind(rec.Kind), rec.Name, rec.Version)
	if err == nil {
		return first, registry.ErrExists
	}
	if !errors.Is(err, registry.ErrNotFound) {
		return registry.ArchiveRecord{}, err
	}
	all, err := s.states(ctx, rec.Kind, rec.Name)
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
func (s Archives) clearLatest(ctx context.Context, kind, name string) error {
	return s.Exec(ctx, "UPDATE archives SET is_latest = $1 WHERE kind = $2 AND name = $3 AND is_latest", false, kind,
		name)
}

// insertRow stores a record that does not exist, and returns it with the digest of its document.
func (s Archives) insertRow(ctx context.Context, rec registry.ArchiveRecord) (registry.ArchiveRecord, error) {
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

// states reads, for every version of a name, newest first, what decides its status and which
// version is the latest.
func (s Archives) states(ctx context.Context, kind, name string) (all []registry.Record, err error) {
	err = s.Query(ctx, `SELECT version, status, status_message, published_at, is_latest
		FROM archives WHERE kind = $1 AND name = $2 ORDER BY published_at DESC, version DESC`, []any{kind, name},
		func(scan func(...any) error) (bool, error) {
			rec := registry.Record{Name: name}
			var published int64
			var status string
			err := scan(&rec.Version, &status, &rec.StatusMessage, &published, &rec.IsLatest)
			rec.Status, rec.PublishedAt = registry.Status(status), time.UnixMicro(published).UTC()
			all = append(all, rec)
			return true, err
		})
	return all, err
}

// SetStatus changes the status of one version, or with version "" of all, in the transaction of s.
func (s Archives) SetStatus(
	ctx context.Context, kind ledger.Kind, name, version string, c registry.Change,
) (int, []registry.ArchiveRecord, error) {
	all, err := s.states(ctx, string(kind), name)
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
	var records []registry.ArchiveRecord
	size := 0
	for _, i := range altered {
		rec, err := s.Get(ctx, kind, name, all[i].Version)
		if err != nil {
			return 0, nil, err
		}
		if size += rec.PageSize(); len(records) > 0 && size > registry.PageBytes {
			break
		}
		records = append(records, rec)
	}
	return len(altered), records, nil
}

// moveLatest stores which of all versions of a name is the latest, if that has changed.
func (s Archives) moveLatest(ctx context.Context, kind, name string, all []registry.Record) error {
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

// page runs a statement, to which a limit of rows is added, for at most limit records and
// about registry.PageBytes bytes. The cursor is that of the last record if there are more.
func (s Archives) page(
	ctx context.Context, statement string, args []any, limit int,
) (page []registry.ArchiveRecord, next string, err error) {
	size := 0
	err = s.Query(ctx, fmt.Sprintf("%s LIMIT %d", statement, limit+1), args,
		func(scan func(...any) error) (bool, error) {
			rec, err := scanArchive(scan)
			if err != nil {
				return false, err
			}
			size += rec.PageSize()
			if n := len(page); n == limit || n > 0 && size > registry.PageBytes {
				next = registry.Cursor{Name: page[n-1].Name, Version: page[n-1].Version}.String()
				return false, nil
			}
			page = append(page, rec)
			return true, nil
		})
	return page, next, err
}

// Versions reads a page of the versions of a name, newest first.
func (s Archives) Versions(
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
		last, err := s.Get(ctx, kind, at.Name, at.Version)
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
	page, next, err := s.page(ctx, statement+" ORDER BY published_at DESC, version DESC", args, registry.MaxLimit)
	if err == nil && after == "" && len(page) == 0 {
		_, err = s.Get(ctx, kind, name, registry.Latest) // if all are deleted there are versions, and none is shown
	}
	return page, next, err
}

// List reads a page of the records of a kind.
func (s Archives) List(
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
	return s.page(ctx,
		"SELECT "+archiveRow+" FROM archives WHERE "+strings.Join(where, " AND ")+" ORDER BY name, version", args,
		q.PageLimit())
}

// InsertArchive is the part of InsertArchive before its transaction.
func InsertArchive(a policy.Admitted, rec registry.ArchiveRecord) (registry.ArchiveRecord, error) {
	if err := rec.Admit(a); err != nil {
		return registry.ArchiveRecord{}, err
	}
	if rec = rec.Normal(); !registry.Storable(rec.Name, rec.Version, string(rec.Manifest), rec.StatusMessage,
		rec.Build) {
		return registry.ArchiveRecord{}, errors.New(rec.Kind + " " + rec.Subject() + ": not UTF-8 without NUL")
	}
	return rec, nil
}

// LikeEscaper makes text stand for itself in a pattern of LIKE.
var LikeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
