package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// The plan of a list is chosen here, as it is for SQLite: a filter that few records
// pass is read from its own index and sorted, any other one is tried on the records
// in order. At these numbers the two cost about the same.
const (
	postgresFewNames   = 2_000
	postgresFewUpdates = 10_000
)

// List implements [registry.Records].
func (p *DB) List(ctx context.Context, q registry.Query) ([]registry.Record, string, error) {
	keys, args, ok, err := p.list(ctx, q)
	if err != nil || !ok {
		return nil, "", err
	}
	query := "SELECT " + original + " FROM (" + keys +
		") k JOIN servers s ON s.name = k.name AND s.version = k.version" + withOriginals + "ORDER BY s.name, s.version"
	return p.page(ctx, query, args, q.PageLimit())
}

// AppendPage implements [registry.Records].
func (p *DB) AppendPage(
	ctx context.Context, dst []byte, q registry.Query,
) (answer []byte, count int, next string, err error) {
	query, args, ok, err := p.list(ctx, q)
	if err != nil || !ok {
		return dst, 0, "", err
	}
	limit := q.PageLimit()
	err = p.read(ctx, func(ctx context.Context) error {
		answer, count, next = dst, 0, ""
		rows, err := p.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		var name, version []byte
		for rows.Next() {
			row := rows.RawValues() // valid until the next row
			if count == 0 && len(row) > 3 && string(row[3]) == "true" {
				p.common.add(registry.LowerASCII(q.Search))
			}
			if count == limit || count > 0 && len(answer)-len(dst)+len(row[2]) > registry.PageBytes {
				next = registry.Cursor{Name: string(name), Version: string(version)}.String()
				return nil
			}
			name, version = append(name[:0], row[0]...), append(version[:0], row[1]...)
			if count > 0 {
				answer = append(answer, ',')
			}
			answer = append(answer, row[2]...)
			count++
		}
		return rows.Err()
	})
	if err != nil {
		return dst, 0, "", err
	}
	return answer, count, next, nil
}

// list returns the query of one page, which gives name, version and answer in order and one row
// more than the page may hold if there are more. A fourth column, if there is one, says whether
// many names hold what is searched for. ok is false if no record can match.
func (p *DB) list(ctx context.Context, q registry.Query) (query string, args []any, ok bool, err error) {
	at, err := registry.ParseCursor(q.Cursor)
	if err != nil {
		return "", nil, false, err
	}
	if !registry.Storable(q.Search, q.Version) {
		return "", nil, false, nil
	}
	l := selection{columns: "name, version, answer", from: "servers", order: "name, version",
		where: []string{"(name, version) > ($1, $2)"}, args: []any{at.Name, at.Version}}
	switch q.Version {
	case "":
	case registry.Latest:
		// Each name has one latest version, so that the index's order is the list's.
		l.where, l.order = append(l.where, "name >= $1", "is_latest"), "name"
	default:
		l.where, l.order = append(l.where, "name >= $1", "version = "+l.arg(q.Version)), "name"
	}
	if !q.Deleted {
		l.where = append(l.where, "status <> 'deleted'")
	}
	if q.Search != "" {
		p.selectNames(&l, registry.LowerASCII(q.Search))
	}
	var first []any
	if !q.UpdatedSince.IsZero() {
		if err := p.selectUpdated(ctx, &l, q.UpdatedSince.UnixMicro()); err != nil {
			return "", nil, false, err
		}
		// How many records are selected depends on the time, so each query is planned anew.
		first = []any{pgx.QueryExecModeCacheDescribe}
	}
	query = fmt.Sprintf("%sSELECT %s FROM %s WHERE %s ORDER BY %s LIMIT %d",
		l.with, l.columns, l.from, strings.Join(l.where, " AND "), l.order, q.PageLimit()+1)
	return query, append(first, l.args...), true, nil
}

// selection is a query that is being put together: its clauses, and the arguments of its parameters.
type selection struct {
	with, columns, from, order string
	where                      []string
	args                       []any
}

// arg adds an argument, and returns its parameter.
func (l *selection) arg(v any) string {
	l.args = append(l.args, v)
	return fmt.Sprintf("$%d", len(l.args))
}

// selectNames selects the names that hold a text.
func (p *DB) selectNames(l *selection, text string) {
	holds := "strpos(lower(name), " + l.arg(text) + ") > 0"
	// An index over three bytes cannot find shorter texts. common holds the texts that many
	// names held at the last search.
	p.gramCounts.refresh(p.pool)
	if len(text) >= 3 && p.fewNames > 0 && !p.common.has(text) {
		l.with = "WITH n AS MATERIALIZED (SELECT name FROM names WHERE grams @> " +
			l.arg(p.gramCounts.rarest(grams(text))) + " AND " + holds + " AND name >= $1) "
		l.columns += fmt.Sprintf(", (SELECT (count(*) >= %d)::text FROM n)", p.fewNames)
		l.from = "n JOIN servers USING (name)"
	} else {
		l.where = append(l.where, holds)
	}
}

// selectUpdated selects the records that were updated since a time, in microseconds.
func (p *DB) selectUpdated(ctx context.Context, l *selection, since int64) error {
	few, err := p.few(ctx, p.fewUpdates, "SELECT 1 FROM servers WHERE updated_at >= $1", since)
	if err != nil {
		return err
	}
	if few {
		// OFFSET 0 keeps the ORDER BY outside of this query: otherwise PostgreSQL would try
		// its index first.
		l.from += " JOIN (SELECT name, version FROM servers WHERE updated_at >= " + l.arg(since) +
			" OFFSET 0) u USING (name, version)"
	} else {
		l.where = append(l.where, "updated_at >= "+l.arg(since))
	}
	return nil
}

// few reports whether query gives fewer than most rows, without counting the rest.
func (p *DB) few(ctx context.Context, most int, query string, args ...any) (few bool, err error) {
	err = p.read(ctx, func(ctx context.Context) error {
		var n int
		err := p.pool.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM (%s LIMIT %d) few", query, most),
			args...).Scan(&n)
		few = n < most
		return err
	})
	return few, err
}

// grams are the runs of three bytes of text, each once, as numbers.
func grams(text string) []int32 {
	text = registry.LowerASCII(text)
	seen := map[int32]bool{}
	out := []int32{}
	for i := range len(text) - 2 {
		g := int32(text[i])<<16 | int32(text[i+1])<<8 | int32(text[i+2])
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}
