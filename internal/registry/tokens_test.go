package registry

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/auth"
)

// apiToken makes a token that may publish under resources.
func apiToken(t testing.TB, f *fixture, resources ...string) string {
	t.Helper()
	var permissions []auth.Permission
	for _, r := range resources {
		permissions = append(permissions, auth.Permission{Action: auth.Publish, Resource: r})
	}
	token, text, hash, err := NewToken("for a test", permissions, epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Tokens.Add(context.Background(), token, hash); err != nil {
		t.Fatal(err)
	}
	return text
}

// testTokens is the conformance suite of Tokens. Open gives an empty one.
func testTokens(t *testing.T, open func(*testing.T) Tokens) {
	ctx := context.Background()
	s := open(t)
	permissions := []auth.Permission{{Action: auth.Publish, Resource: "com.example/*"}, {Action: auth.Edit, Resource: "com.example/a"}}
	forever, _, hash1, err := NewToken("release é", permissions, epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	short, _, hash2, err := NewToken("", permissions[:1], epoch.Add(time.Second), epoch.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(ctx, hash1); !errors.Is(err, ErrNotFound) {
		t.Errorf("found %v in the empty store", err)
	}
	for token, hash := range map[*Token]string{&forever: hash1, &short: hash2} {
		if err := s.Add(ctx, *token, hash); err != nil {
			t.Fatal(err)
		}
		got, err := s.Find(ctx, hash)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "found", got, token)
	}
	if err := s.Add(ctx, short, hash1); err == nil {
		t.Error("a hash was added twice")
	}
	all, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "list", all, []Token{forever, short})

	if _, err := s.Revoke(ctx, "0000", epoch); !errors.Is(err, ErrNotFound) {
		t.Errorf("revoked a stranger: %v", err)
	}
	at := epoch.Add(time.Minute)
	for range 2 { // the second changes nothing
		revoked, err := s.Revoke(ctx, forever.ID, at)
		if err != nil || !revoked.RevokedAt.Equal(epoch.Add(time.Minute)) {
			t.Errorf("revoked at %v: %v", revoked.RevokedAt, err)
		}
		at = at.Add(time.Hour)
	}
	got, err := s.Find(ctx, hash1)
	if err != nil || got.Valid(epoch) {
		t.Errorf("valid after it was revoked: %v", err)
	}
	if got, err := s.Find(ctx, hash2); err != nil || !got.Valid(epoch.Add(59*time.Minute)) || got.Valid(epoch.Add(time.Hour)) {
		t.Errorf("%+v: %v", got, err)
	}
}

func TestSQLiteTokens(t *testing.T) {
	testTokens(t, func(t *testing.T) Tokens {
		return openTest(t, filepath.Join(t.TempDir(), "registry.db")).Tokens()
	})
}

func TestNewToken(t *testing.T) {
	ok := []auth.Permission{{Action: auth.Publish, Resource: "com.example/*"}}
	_, a, hash, err := NewToken("", ok, epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	_, b, _, _ := NewToken("", ok, epoch, time.Time{})
	if a == b || len(a) != tokenLength || !strings.HasPrefix(a, "hlmk_") {
		t.Errorf("tokens %q and %q", a, b)
	}
	if strings.Contains(hash, a) || len(hash) != 64 {
		t.Errorf("hash %q", hash)
	}
	for name, c := range map[string]struct {
		note        string
		permissions []auth.Permission
		expires     time.Time
	}{
		"no permissions": {"", nil, time.Time{}},
		"bad resource":   {"", []auth.Permission{{Action: auth.Publish, Resource: "com.example*"}}, time.Time{}},
		"long note":      {strings.Repeat("é", 201), ok, time.Time{}},
		"many":           {"", make([]auth.Permission, 101), time.Time{}},
		"expired":        {"", ok, epoch},
	} {
		if _, _, _, err := NewToken(c.note, c.permissions, epoch, c.expires); err == nil {
			t.Errorf("%s: a token", name)
		}
	}
}

// What a token permits, and from when to when, decides about a publish.
func TestTokenPublishes(t *testing.T) {
	f := serve(t, evidence.Report{matching(npmID)}, func(c *Config) { c.AllowAnonymous = false })
	ctx := context.Background()
	mine := document("io.github.o/notes", "1.0.0")

	_, err := f.Publish(ctx, mine, apiToken(t, f, "io.github.other/*", "com.example/x"))
	wantProblem(t, err, 403, "io.github.other/*, com.example/x", "io.github.o/notes")
	_, err = f.Publish(ctx, mine, apiToken(t, f, "io.github.o/note"))
	wantProblem(t, err, 403)
	if f.Checks.Load() != 0 {
		t.Error("packages were fetched for a stranger")
	}
	edit, text, hash, err := NewToken("", []auth.Permission{{Action: auth.Edit, Resource: "*"}}, epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Tokens.Add(ctx, edit, hash); err != nil {
		t.Fatal(err)
	}
	_, err = f.Publish(ctx, mine, text)
	wantProblem(t, err, 403, "nothing")

	good := apiToken(t, f, "io.github.o/*")
	if _, err := f.Publish(ctx, mine, good); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{good + "A", good[:len(good)-1], good[:len(good)-1] + "-", "hlmk_", strings.ToUpper(good)} {
		_, err := f.Publish(ctx, mine, wrong)
		wantProblem(t, err, 401)
	}
	all, err := f.Config.Tokens.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range all {
		if _, err := f.Config.Tokens.Revoke(ctx, token.ID, epoch); err != nil {
			t.Fatal(err)
		}
	}
	_, err = f.Publish(ctx, mine, good)
	wantProblem(t, err, 401, "revoked")
	if log := f.Log(); strings.Contains(log, good) || strings.Contains(log, good[:20]) {
		t.Error("a token is in the log")
	}
}
