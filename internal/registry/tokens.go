package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
)

// Token is what is kept of an API token.
type Token struct {
	ID          string            `json:"id"` // 16 hexadecimal digits, of no use to log in with
	Note        string            `json:"note"`
	Permissions []auth.Permission `json:"permissions"`
	CreatedAt   time.Time         `json:"created_at"`
	ExpiresAt   time.Time         `json:"expires_at,omitzero"` // zero: never
	RevokedAt   time.Time         `json:"revoked_at,omitzero"` // zero: not revoked
}

// Valid reports whether t can be used at now.
func (t Token) Valid(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// Tokens keeps API tokens. It is safe for concurrent use by several processes: a token
// that one of them revoked is refused by all at the next request.
type Tokens interface {
	// Add keeps a new token under the hash of its text.
	Add(ctx context.Context, t Token, hash string) error
	// Find returns the token with a hash, valid or not, or ErrNotFound.
	Find(ctx context.Context, hash string) (Token, error)
	// List returns all tokens, oldest first.
	List(context.Context) ([]Token, error)
	// Revoke revokes a token at a time, or returns ErrNotFound. A token that was
	// revoked before keeps its time.
	Revoke(ctx context.Context, id string, at time.Time) (Token, error)
}

const (
	tokenPrefix = "hlmk_" // by which people, and programs that look for secrets, know it
	tokenLength = 48      // bytes of text
	maxNote     = 200     // characters
	maxGrants   = 100     // permissions of a token
)

// NewToken makes a token from random bytes. Its text is shown once and never kept; its
// hash is for [Tokens].Add. Expires may be zero.
func NewToken(note string, permissions []auth.Permission, now, expires time.Time) (t Token, text, hash string, err error) {
	switch {
	case utf8.RuneCountInString(note) > maxNote:
		return Token{}, "", "", fmt.Errorf("note: longer than %d characters", maxNote)
	case len(permissions) == 0:
		return Token{}, "", "", errors.New("a token needs at least one name that it permits")
	case len(permissions) > maxGrants:
		return Token{}, "", "", fmt.Errorf("a token has at most %d permissions", maxGrants)
	case !expires.IsZero() && !expires.After(now):
		return Token{}, "", "", errors.New("the token would have expired already")
	}
	for _, p := range permissions {
		if err := auth.CheckResource(p.Resource); err != nil {
			return Token{}, "", "", err
		}
	}
	id, secret := make([]byte, 8), make([]byte, 32)
	rand.Read(id) // never fails
	rand.Read(secret)
	text = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	t = Token{ID: hex.EncodeToString(id), Note: note, Permissions: permissions,
		CreatedAt: now.UTC().Truncate(time.Microsecond), ExpiresAt: expires.UTC().Truncate(time.Microsecond)}
	if expires.IsZero() {
		t.ExpiresAt = time.Time{}
	}
	return t, text, tokenHash(text), nil
}

// tokenHash needs no salt and no stretching, as the text has 256 random bits.
func tokenHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// sqlTokens is Tokens in a database with the table tokens. Its statements are those
// that SQLite and PostgreSQL have in common.
type sqlTokens struct{ write, read *sql.DB }

// Tokens are the API tokens of the same database.
func (s *SQLite) Tokens() Tokens { return sqlTokens{s.write, s.read} }

const tokenColumns = "id, note, permissions, created_at, expires_at, revoked_at"

func (s sqlTokens) Add(ctx context.Context, t Token, hash string) error {
	permissions, err := json.Marshal(t.Permissions)
	if err != nil {
		return err
	}
	_, err = s.write.ExecContext(ctx, "INSERT INTO tokens (hash, "+tokenColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
		hash, t.ID, t.Note, string(permissions), t.CreatedAt.UnixMicro(), micros(t.ExpiresAt), micros(t.RevokedAt))
	return err
}

func (s sqlTokens) Find(ctx context.Context, hash string) (Token, error) {
	return scanToken(s.read.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE hash = $1", hash))
}

func (s sqlTokens) List(ctx context.Context) ([]Token, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+tokenColumns+" FROM tokens ORDER BY created_at, id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Token
	for rows.Next() {
		t, err := scanToken(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

func (s sqlTokens) Revoke(ctx context.Context, id string, at time.Time) (Token, error) {
	if _, err := s.write.ExecContext(ctx, "UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", at.UnixMicro(), id); err != nil {
		return Token{}, err
	}
	return scanToken(s.write.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE id = $1", id))
}

func scanToken(row interface{ Scan(...any) error }) (Token, error) {
	var (
		t                Token
		permissions      string
		created          int64
		expires, revoked sql.NullInt64
	)
	err := row.Scan(&t.ID, &t.Note, &permissions, &created, &expires, &revoked)
	if errors.Is(err, sql.ErrNoRows) {
		return Token{}, ErrNotFound
	}
	if err != nil {
		return Token{}, err
	}
	if err := json.Unmarshal([]byte(permissions), &t.Permissions); err != nil {
		return Token{}, fmt.Errorf("token %s: %w", t.ID, err)
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

// micros is a time as it is kept, null if it is zero.
func micros(t time.Time) sql.NullInt64 {
	if t.IsZero() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: true}
}
