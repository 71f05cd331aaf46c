package sqldb

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// Tokens are the API tokens of the same database.
func (s Shared) Tokens() registry.Tokens { return tokens{s} }

// tokens implements [registry.Tokens] in a database with the table tokens.
type tokens struct{ Shared }

const tokenColumns = "id, note, permissions, created_at, expires_at, revoked_at"

// Add implements [registry.Tokens].
func (s tokens) Add(ctx context.Context, t registry.Token, hash string) error {
	permissions, err := json.Marshal(t.Permissions)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(ctx context.Context, db Statements) error {
		return db.Exec(ctx, "INSERT INTO tokens (hash, "+tokenColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
			hash, t.ID, t.Note, string(permissions), t.CreatedAt.UnixMicro(), Micros(t.ExpiresAt), Micros(t.RevokedAt))
	})
}

// Find implements [registry.Tokens].
func (s tokens) Find(ctx context.Context, hash string) (registry.Token, error) {
	return reading(ctx, s.Shared, func(ctx context.Context, db Statements) (registry.Token, error) {
		return One(ctx, db, scanToken, "SELECT "+tokenColumns+" FROM tokens WHERE hash = $1", hash)
	})
}

// List implements [registry.Tokens].
func (s tokens) List(ctx context.Context) ([]registry.Token, error) {
	return reading(ctx, s.Shared, func(ctx context.Context, db Statements) ([]registry.Token, error) {
		return All(ctx, db, scanToken, "SELECT "+tokenColumns+" FROM tokens ORDER BY created_at, id")
	})
}

// Revoke implements [registry.Tokens].
func (s tokens) Revoke(ctx context.Context, id string, at time.Time) (revoked registry.Token, err error) {
	if !registry.Storable(id) {
		return registry.Token{}, registry.ErrNotFound
	}
	err = s.Write(ctx, func(ctx context.Context, db Statements) (err error) {
		if err := db.Exec(ctx, "UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL",
			at.UnixMicro(), id); err != nil {
			return err
		}
		revoked, err = One(ctx, db, scanToken, "SELECT "+tokenColumns+" FROM tokens WHERE id = $1", id)
		return err
	})
	return revoked, err
}

func scanToken(scan Scan) (t registry.Token, err error) {
	var (
		permissions      string
		created          int64
		expires, revoked *int64
	)
	if err := scan(&t.ID, &t.Note, &permissions, &created, &expires, &revoked); err != nil {
		return registry.Token{}, err
	}
	if err := json.Unmarshal([]byte(permissions), &t.Permissions); err != nil {
		return registry.Token{}, fmt.Errorf("token %s: %w", t.ID, err)
	}
	t.CreatedAt = time.UnixMicro(created).UTC()
	t.ExpiresAt, t.RevokedAt = Time(expires), Time(revoked)
	return t, nil
}
