package registrytest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
)

// TestTokens is the conformance suite of Tokens. Open gives an empty one.
func TestTokens(t *testing.T, open func(*testing.T) registry.Tokens) {
	ctx := context.Background()
	s := open(t)
	permissions := []registry.Permission{{Action: registry.ActionPublish, Resource: "com.example/*"},
		{Action: registry.ActionEdit, Resource: "com.example/a"}}
	forever, _, hash1, err := registry.NewToken("release é", permissions, Epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	short, _, hash2, err := registry.NewToken("", permissions[:1], Epoch.Add(time.Second), Epoch.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(ctx, hash1); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("found %v in the empty store", err)
	}
	for token, hash := range map[*registry.Token]string{&forever: hash1, &short: hash2} {
		if err := s.Add(ctx, *token, hash); err != nil {
			t.Fatal(err)
		}
		got, err := s.Find(ctx, hash)
		if err != nil {
			t.Fatal(err)
		}
		Equal(t, "found", got, token)
	}
	if err := s.Add(ctx, short, hash1); err == nil {
		t.Error("a hash was added twice")
	}
	all, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "list", all, []registry.Token{forever, short})
	revokeToken(t, s, forever.ID)
	got, err := s.Find(ctx, hash1)
	if err != nil || got.Valid(Epoch) {
		t.Errorf("valid after it was revoked: %v", err)
	}
	if got, err := s.Find(ctx, hash2); err != nil || !got.Valid(Epoch.Add(59*time.Minute)) ||
		got.Valid(Epoch.Add(time.Hour)) {
		t.Errorf("%+v: %v", got, err)
	}
}

// revokeToken revokes a token twice, and checks that the second time changes nothing; a token that does not exist is
// not found.
func revokeToken(t *testing.T, s registry.Tokens, id string) {
	t.Helper()
	ctx := context.Background()
	if _, err := s.Revoke(ctx, "0000", Epoch); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("revoked a stranger: %v", err)
	}
	at := Epoch.Add(time.Minute)
	for range 2 { // the second changes nothing
		revoked, err := s.Revoke(ctx, id, at)
		if err != nil || !revoked.RevokedAt.Equal(Epoch.Add(time.Minute)) {
			t.Errorf("revoked at %v: %v", revoked.RevokedAt, err)
		}
		at = at.Add(time.Hour)
	}
}
