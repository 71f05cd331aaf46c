package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// TokenStore gives access to the API tokens of a registry, whether or not it is serving.
type TokenStore struct {
	tokens registry.Tokens
	close  func() error
	now    func() time.Time
}

// OpenTokens opens the tokens of the registry at p. With create it makes a missing database, as a
// token may be wanted before the registry serves for the first time.
func OpenTokens(ctx context.Context, p Place, create bool, now func() time.Time) (*TokenStore, error) {
	db, err := openDatabase(ctx, p, create)
	if err != nil {
		return nil, err
	}
	return &TokenStore{tokens: db.Tokens(), close: db.Close, now: now}, nil
}

// Close closes the database.
func (s *TokenStore) Close() error { return s.close() }

// Create makes a token for permissions and returns its text, which is not kept. It
// expires after a time, or never if that is zero.
func (s *TokenStore) Create(ctx context.Context, note string, permissions []registry.Permission,
	lifetime time.Duration) (registry.Token, string, error) {
	now := s.now()
	var expires time.Time
	if lifetime != 0 {
		expires = now.Add(lifetime)
	}
	t, text, hash, err := registry.NewToken(note, permissions, now, expires)
	if err != nil {
		return registry.Token{}, "", evidence.Errorf(evidence.Validation, "token", "", err)
	}
	if err := s.tokens.Add(ctx, t, hash); err != nil {
		return registry.Token{}, "", evidence.Errorf(evidence.Operation, "token", "", err)
	}
	return t, text, nil
}

// List returns all tokens, oldest first.
func (s *TokenStore) List(ctx context.Context) ([]registry.Token, error) {
	all, err := s.tokens.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the tokens: %w", err)
	}
	return all, nil
}

// Revoke makes the registry refuse a token from now on. If there is none with that id the error
// points at listCommand, the command line that lists tokens in the program that runs.
func (s *TokenStore) Revoke(ctx context.Context, id, listCommand string) (registry.Token, error) {
	t, err := s.tokens.Revoke(ctx, id, s.now())
	if errors.Is(err, registry.ErrNotFound) {
		return t, evidence.Errorf(evidence.Validation, "token", "see '"+listCommand+"'",
			fmt.Errorf("there is none with the id %+.100q", id))
	}
	if err != nil {
		return t, fmt.Errorf("revoke the token %+.100q: %w", id, err)
	}
	return t, nil
}
