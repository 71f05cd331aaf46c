package sqlite

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
)

// How a list stays as fast at a million records as at a thousand: the order of the list is that
// of the primary key, so a page without a filter, or with one that most records pass, is read
// from the cursor on. A filter that few records pass has an index from which they are read and
// then sorted. The first rows of that index tell which of the two to choose: up to these
// numbers reading and sorting the keys takes some milliseconds.
const (
	fewNames   = 5_000
	fewUpdates = 50_000
)

// The indexes hold whether a record is deleted: in a row this column lies after the document,
// which may be large.

// List implements [registry.Records].
func (s *DB) List(ctx context.Context, q registry.Query) ([]registry.Record, string, error) {
	keys, args, err := s.list(ctx, q)
	if err != nil {
		return nil, "", err
	}
	// The keys of the page are found first, so that nothing sorts documents.
	return sqldb.Page(ctx, statements(s.read), scan, q.PageLimit(),
		"SELECT "+columns+" FROM ("+keys+") JOIN servers ON servers.rowid = key ORDER BY name, version",
		append(args, q.PageLimit()+1)...)
}

// list returns the query of the keys of one page, whose last argument, how many, is not
// among args.
func (s *DB) list(ctx context.Context, q registry.Query) (query string, args []any, err error) {
	at, err := registry.ParseCursor(q.Cursor)
	if err != nil {
		return "", nil, err
	}
	l := selection{where: []string{"(name, version) > (?, ?)"}, args: []any{at.Name, at.Version}}
	switch q.Version {
	case "":
	case registry.Latest:
		l.add("is_latest = 1")
	default:
		l.add("version = ?", q.Version)
	}
	if !q.Deleted {
		l.add("status <> 'deleted'")
	}
	if q.Search != "" {
		if err := s.selectNames(ctx, &l, q); err != nil {
			return "", nil, err
		}
	}
	if !q.UpdatedSince.IsZero() {
		since := q.UpdatedSince.UnixMicro()
		l.add("updated_at >= ?", since)
		few, err := s.few(ctx, s.fewUpdates, "SELECT 1 FROM servers INDEXED BY servers_updated WHERE updated_at >= ?",
			since)
		if err != nil {
			return "", nil, err
		}
		if few {
			l.hint = " INDEXED BY servers_updated"
		}
	}
	return "SELECT rowid AS key FROM servers" + l.hint + " WHERE " + strings.Join(l.where, " AND ") +
		" ORDER BY name, version LIMIT ?", l.args, nil
}

// selection is a query that is being put together: its conditions, their arguments, and the index that it uses.
type selection struct {
	hint  string
	where []string
	args  []any
}

// add adds a condition with its arguments.
func (l *selection) add(condition string, arg ...any) {
	l.where, l.args = append(l.where, condition), append(l.args, arg...)
}

// selectNames selects the names that hold what q searches for.
func (s *DB) selectNames(ctx context.Context, l *selection, q registry.Query) error {
	l.add(`name LIKE ? ESCAPE '\'`, "%"+sqldb.LikeEscaper.Replace(q.Search)+"%")
	// A quoted string matches the names that hold it. An index of three characters cannot
	// find shorter texts.
	phrase := `"` + strings.ReplaceAll(q.Search, `"`, `""`) + `"`
	if utf8.RuneCountInString(q.Search) < 3 || strings.Contains(q.Search, "\x00") {
		return nil
	}
	few, err := s.few(ctx, s.fewNames, "SELECT 1 FROM server_names WHERE server_names MATCH ?", phrase)
	if err != nil || !few {
		return err
	}
	l.add("name IN (SELECT name FROM server_names WHERE server_names MATCH ?)", phrase)
	if q.Version == registry.Latest && !q.Deleted {
		l.hint = " INDEXED BY servers_listed_latest" // not the unique one, of names alone
	}
	return nil
}

// few reports whether query gives fewer than most rows, without counting the rest.
func (s *DB) few(ctx context.Context, most int, query string, args ...any) (bool, error) {
	var n int
	err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM ("+query+" LIMIT ?)", append(args, most)...).Scan(&n)
	return n < most, err
}
