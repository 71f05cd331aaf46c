package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Tokens implements [registry.Tokens] in a database with the table tokens. Its statements are
// those that SQLite and PostgreSQL have in common.
type Tokens struct{ Write, Read *sql.DB }

const tokenColumns = "id, note, permissions, created_at, expires_at, revoked_at"

// Add implements [registry.Tokens].
func (s Tokens) Add(ctx context.Context, t registry.Token, hash string) error {
	permissions, err := json.Marshal(t.Permissions)
	if err != nil {
		return err
	}
	_, err = s.Write.ExecContext(ctx, "INSERT INTO tokens (hash, "+tokenColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
		hash, t.ID, t.Note, string(permissions), t.CreatedAt.UnixMicro(), Micros(t.ExpiresAt), Micros(t.RevokedAt))
	return err
}

// Find implements [registry.Tokens].
func (s Tokens) Find(ctx context.Context, hash string) (registry.Token, error) {
	return scanToken(s.Read.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE hash = $1", hash))
}

// List implements [registry.Tokens].
func (s Tokens) List(ctx context.Context) ([]registry.Token, error) {
	rows, err := s.Read.QueryContext(ctx, "SELECT "+tokenColumns+" FROM tokens ORDER BY created_at, id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []registry.Token
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// Revoke implements [registry.Tokens].
func (s Tokens) Revoke(ctx context.Context, id string, at time.Time) (registry.Token, error) {
	if _, err := s.Write.ExecContext(ctx, "UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
		at.UnixMicro(), id); err != nil {
		return registry.Token{}, err
	}
	return scanToken(s.Write.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE id = $1", id))
}

func scanToken(row interface{ Scan(...any) error }) (registry.Token, error) {
	var (
		t                registry.Token
		permissions      string
		created          int64
		expires, revoked sql.NullInt64
	)
	err := row.Scan(&t.ID, &t.Note, &permissions, &created, &expires, &revoked)
	if errors.Is(err, sql.ErrNoRows) {
		return registry.Token{}, registry.ErrNotFound
	}
	if err != nil {
		return registry.Token{}, err
	}
	if err := json.Unmarshal([]byte(permissions), &t.Permissions); err != nil {
		return registry.Token{}, fmt.Errorf("token %s: %w", t.ID, err)
	}
	t.CreatedAt = time.UnixMicro(created).UTC()
	if expires.Valid {
		t.ExpiresAt = time.UnixMicro(expires.Int64).UTC()
	}
	if revoked.Valid {
		t.RevokedAt = time.UnixMicro(revoked.Int64).UTC()
	}
	return t, nil
}

// Micros is a time as it is stored: microseconds since 1970, null for the zero time.
func Micros(t time.Time) sql.NullInt64 {
	if t.IsZero() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: true}
}
