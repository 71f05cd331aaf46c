package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

// What a token permits, and from when to when, decides about a publish.
func TestTokenPublishes(t *testing.T) {
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, func(c *api.Config) {
		c.AllowAnonymous = false
	})
	ctx := context.Background()
	mine := registrytest.Document("io.github.o/notes", "1.0.0")

	_, err := f.Publish(ctx, mine, servertest.NewToken(t, f, "io.github.other/*", "com.example/x"))
	registrytest.WantProblem(t, err, 403, "io.github.other/*, com.example/x", "io.github.o/notes")
	_, err = f.Publish(ctx, mine, servertest.NewToken(t, f, "io.github.o/note"))
	registrytest.WantProblem(t, err, 403)
	if f.Checks.Load() != 0 {
		t.Error("packages were fetched for a stranger")
	}
	edit, text, hash, err := registry.NewToken("", []registry.Permission{{Action: registry.ActionEdit, Resource: "*"}},
		registrytest.Epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Tokens.Add(ctx, edit, hash); err != nil {
		t.Fatal(err)
	}
	_, err = f.Publish(ctx, mine, text)
	registrytest.WantProblem(t, err, 403, "nothing")

	good := servertest.NewToken(t, f, "io.github.o/*")
	if _, err := f.Publish(ctx, mine, good); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{good + "A", good[:len(good)-1], good[:len(good)-1] + "-", "hlmk_",
		strings.ToUpper(good)} {
		_, err := f.Publish(ctx, mine, wrong)
		registrytest.WantProblem(t, err, 401)
	}
	all, err := f.Config.Tokens.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range all {
		if _, err := f.Config.Tokens.Revoke(ctx, token.ID, registrytest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	_, err = f.Publish(ctx, mine, good)
	registrytest.WantProblem(t, err, 401, "revoked")
	if log := f.Log(); strings.Contains(log, good) || strings.Contains(log, good[:20]) {
		t.Error("a token is in the log")
	}
}
