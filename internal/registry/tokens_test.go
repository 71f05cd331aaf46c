package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
)

func TestNewToken(t *testing.T) {
	ok := []registry.Permission{{Action: registry.ActionPublish, Resource: "com.example/*"}}
	_, a, hash, err := registry.NewToken("", ok, registrytest.Epoch, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	_, b, _, _ := registry.NewToken("", ok, registrytest.Epoch, time.Time{})
	if a == b || len(a) != registry.TokenLength || !strings.HasPrefix(a, "hlmk_") {
		t.Errorf("tokens %q and %q", a, b)
	}
	if strings.Contains(hash, a) || len(hash) != 64 {
		t.Errorf("hash %q", hash)
	}
	for name, c := range map[string]struct {
		note        string
		permissions []registry.Permission
		expires     time.Time
	}{
		"no permissions": {"", nil, time.Time{}},
		"bad resource":   {"", []registry.Permission{{Action: registry.ActionPublish, Resource: "com.example*"}}, time.Time{}},
		"long note":      {strings.Repeat("é", 201), ok, time.Time{}},
		"many":           {"", make([]registry.Permission, 101), time.Time{}},
		"expired":        {"", ok, registrytest.Epoch},
	} {
		if _, _, _, err := registry.NewToken(c.note, c.permissions, registrytest.Epoch, c.expires); err == nil {
			t.Errorf("%s: a token", name)
		}
	}
}
