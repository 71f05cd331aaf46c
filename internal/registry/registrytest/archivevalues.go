package registrytest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
)

// NewArchiveRecord makes a record that is published at minutes after epoch.
func NewArchiveRecord(kind ledger.Kind, name, version string, minutes int) registry.ArchiveRecord {
	at := Epoch.Add(time.Duration(minutes) * time.Minute)
	sum := func(what string) digest.Digest { return digest.FromBytes([]byte(what + name + version)) }
	return registry.ArchiveRecord{
		Kind: string(kind), Name: name, Version: version, ContentIntegrity: sum("tar"), ContentHash: sum("file"),
		Size:      4096,
		Manifest:  json.RawMessage(fmt.Sprintf(`{"version": %q, "name": %q, "x": "a <b> & c"}`, version, name)),
		Assets:    map[string]digest.Digest{"facet.json": sum("manifest"), "skills/ü/SKILL.md": sum("skill")},
		Publisher: "github-at:acme", Build: "test", PublishedAt: at, UpdatedAt: at, StatusChangedAt: at,
	}
}

// archiveAdmission allows to publish rec with the digests.
func archiveAdmission(t testing.TB, rec registry.ArchiveRecord, omit evidence.Scheme) policy.Admitted {
	t.Helper()
	document, err := rec.Document()
	if err != nil {
		t.Fatal(err)
	}
	var report evidence.Report
	for _, e := range []struct {
		scheme evidence.Scheme
		who    evidence.Authority
		got    digest.Digest
	}{{evidence.Document, evidence.Publisher, document}, {evidence.File, evidence.Publisher, rec.ContentHash},
		{evidence.FacetTar, evidence.Manifest, rec.ContentIntegrity}} {
		if e.scheme != omit {
			report = append(report,
				evidence.Compare(
					evidence.Claim{Subject: rec.Subject(), Scheme: e.scheme, Authority: e.who,
						Want: []digest.Digest{e.got}},
					evidence.Observed{Digests: []digest.Digest{e.got}}))
		}
	}
	return policy.Judge(policy.Accept, policy.Settings{}, report).Admitted()
}

// Shelve inserts the record of an archive.
func Shelve(t testing.TB, db registry.ArchiveRecords, rec registry.ArchiveRecord) registry.ArchiveRecord {
	t.Helper()
	got, err := db.InsertArchive(context.Background(), archiveAdmission(t, rec, ""), rec)
	if err != nil {
		t.Fatalf("insert %s: %v", rec.Subject(), err)
	}
	return got
}

// FormatArchive returns a record as it is answered, for comparison.
func FormatArchive(t testing.TB, rec registry.ArchiveRecord) string {
	t.Helper()
	text, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ArchiveSubjects names records.
func ArchiveSubjects(records []registry.ArchiveRecord) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.Subject())
	}
	return out
}
