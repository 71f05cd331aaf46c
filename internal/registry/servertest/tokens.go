package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

// NewToken makes a token that may publish under resources.
func NewToken(t testing.TB, f *Fixture, resources ...string) string {
	t.Helper()
	var permissions []registry.Permission
	for _, r := range resources {
		permissions = append(permissions, registry.Permission{Action: registry.ActionPublish, Resource: r})
	}
	token, text, hash, err := registry.NewToken("for a test", permissions, registrytest.Epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Config.Tokens.Add(context.Background(), token, hash); err != nil {
		t.Fatal(err)
	}
	return text
}
