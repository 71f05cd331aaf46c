package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Token is an API token without its text, which is not kept.
type Token struct {
	ID          string       `json:"id"` // 16 hexadecimal digits, of no use to log in with
	Note        string       `json:"note"`
	Permissions []Permission `json:"permissions"`
	CreatedAt   time.Time    `json:"created_at"`
	ExpiresAt   time.Time    `json:"expires_at,omitzero"` // zero: never
	RevokedAt   time.Time    `json:"revoked_at,omitzero"` // zero: not revoked
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
	TokenPrefix = "hlmk_" // lets people, and programs that look for secrets, recognize a token
	TokenLength = 48      // bytes of text
	maxNote     = 200     // characters
	maxGrants   = 100     // permissions of a token
)

// NewToken makes a token from random bytes. Its text is shown once and never kept; its
// hash is for [Tokens].Add. Expires may be zero.
func NewToken(
	note string, permissions []Permission, now, expires time.Time,
) (t Token, text, hash string, err error) {
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
		if err := CheckResource(p.Resource); err != nil {
			return Token{}, "", "", err
		}
	}
	id, secret := make([]byte, 8), make([]byte, 32)
	rand.Read(id) // never fails
	rand.Read(secret)
	text = TokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	t = Token{ID: hex.EncodeToString(id), Note: note, Permissions: permissions,
		CreatedAt: now.UTC().Truncate(time.Microsecond), ExpiresAt: expires.UTC().Truncate(time.Microsecond)}
	if expires.IsZero() {
		t.ExpiresAt = time.Time{}
	}
	return t, text, TokenHash(text), nil
}

// TokenHash returns the hash under which a token is kept. It needs no salt and no stretching, because
// the text has 256 random bits.
func TokenHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
