package registrytest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqldb"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// OldSchema is the number of the schema that had findings of servers only.
const OldSchema = 7

// TestFindingsMigration fills a database as it was before archives had findings, and opens
// it: all that was there stays, and archives get findings.
func TestFindingsMigration(t *testing.T, steps []sqldb.Migration, exec func(string) error, open func() LogStore) {
	ctx := context.Background()
	for _, step := range steps[:OldSchema] {
		if err := exec(step.Text); err != nil {
			t.Fatalf("%s: %v", step.Name, err)
		}
	}
	rec := NewArchiveRecord(ledger.Facet, "notes", "1.0.0", 0)
	document, err := rec.Document()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec(fmt.Sprintf(`INSERT INTO archives (`+sqldb.ArchiveColumns+`) VALUES
		('facet', 'notes', '1.0.0', '%s', '%s', 4096, '{}', '%s', '{}', '', 'me', 'v1', 'active', '', NULL,
		1, 1, 1, %s)`,
		rec.ContentIntegrity, rec.ContentHash, document, "1=1")); err != nil {
		t.Fatal(err)
	}
	db := open()
	archives := db.(registry.ArchiveRecords)
	kept, err := archives.Archive(ctx, ledger.Facet, "notes", "1.0.0")
	if err != nil || kept.Size != 4096 || kept.Publisher != "me" || kept.Findings != nil {
		t.Fatalf("%+v, %v", kept, err)
	}
	f := registry.Finding{Kind: ledger.Facet, Name: "notes", Version: "1.0.0", At: Epoch, Build: "v9",
		Evidence: json.RawMessage(`[{"n":1}]`)}
	if err := archives.AddArchiveFinding(ctx, f); err != nil {
		t.Fatal(err)
	}
	if kept, err = archives.Archive(ctx, ledger.Facet, "notes", "1.0.0"); err != nil || len(kept.Findings) != 1 {
		t.Fatalf("%+v, %v", kept.Findings, err)
	}
	Equal(t, "finding", kept.Findings[0], f)
	// Servers have theirs as before.
	Insert(t, db, Record(t, "io.github.o/a", "1.0.0", 0))
	if err := db.AddFinding(ctx, registry.Finding{Name: "io.github.o/a", Version: "1.0.0", At: Epoch}); err != nil {
		t.Error(err)
	}
	logged := Entries(t, db)
	if n := len(logged); n != 3 || logged[0].Of != ledger.Facet || logged[2].Of != ledger.Server {
		t.Errorf("%d entries: %+v", n, logged)
	}
}
