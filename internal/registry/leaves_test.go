package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Whatever an issuer, a file or an export says, there is an entry.
func TestEntriesOfOddRecords(t *testing.T) {
	for _, rec := range []registry.Record{
		{Name: "a/b", Version: strings.Repeat("\U0001F600", 255), Digest: registrytest.Sum("x"),
			Publisher: "oidc:a\nb\xff\x00c"},
		{Name: strings.Repeat("a", 200), Version: "1", Digest: registrytest.Sum("x"),
			Publisher: strings.Repeat("é", 600)},
		{Name: "a/b", Version: "1", Digest: registrytest.Sum("x"), Origin: "file:\x1b[31m.json",
			ImportedAt: registrytest.Epoch, Status: registry.Deleted, StatusMessage: "x\ny"},
		{Name: "a/b", Version: "1", Digest: registrytest.Sum("x"),
			PublishedAt: time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("x", 3600)), Status: registry.Active},
	} {
		leaves, err := rec.Normal().Leaves()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range leaves {
			text, err := l.Marshal()
			if err != nil {
				t.Error(err)
			}
			if _, err := ledger.ParseLeaf(text); err != nil {
				t.Error(err)
			}
		}
	}
	if got := registry.Subject("a\nb\xff"); got != "a\ufffdb\ufffd" {
		t.Errorf("%q", got)
	}
	if got := registry.Subject(strings.Repeat("é", 600)); len(got) != ledger.MaxPublisher {
		t.Errorf("%d bytes", len(got))
	}
}
