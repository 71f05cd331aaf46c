package obtain

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/store"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/project"
)

// The lock claims the contents of an archive and each of its files; for a new entry the registry
// claims the contents, and the lock nothing.
func TestClaimsOfArchive(t *testing.T) {
	sum, other := digest.FromBytes([]byte("contents")), digest.FromBytes([]byte("recorded"))
	entry := project.FacetLock{Version: "1.0.0", Integrity: sum,
		Assets: map[string]digest.Digest{"b.md": sum, "a.md": other}}
	locked := claims{name: "kit", entry: entry, locked: &entry}
	if c := locked.contents(); c.Subject != "kit@1.0.0" || c.Authority != evidence.Lock || !evidence.Same(c.Want[0], sum) {
		t.Errorf("locked: %+v", c)
	}
	all := locked.ofLock()
	if len(all) != 3 || all[1].Subject != "kit@1.0.0/a.md" || all[2].Subject != "kit@1.0.0/b.md" {
		t.Errorf("of the lock: %+v", all)
	}
	fresh := claims{name: "kit", entry: project.FacetLock{Version: "1.0.0"},
		record: &registry.ArchiveRecord{ContentIntegrity: other}}
	if c := fresh.contents(); c.Authority != evidence.Record || !evidence.Same(c.Want[0], other) {
		t.Errorf("new: %+v", c)
	}
	if all := fresh.ofLock(); len(all) != 0 {
		t.Errorf("the lock claims of a new archive: %+v", all)
	}
}

// A slot gives an entry its digests. The list of files in the lock is compared with the slot; the
// lock has none of a server.
func TestAcceptSlot(t *testing.T) {
	sum, other := digest.FromBytes([]byte("contents")), digest.FromBytes([]byte("other"))
	slot := &store.Slot{Digest: sum, Assets: map[string]digest.Digest{"a.md": sum}}
	entry := project.FacetLock{Version: "1.0.0", Integrity: sum, Assets: map[string]digest.Digest{"a.md": other}}
	q := &inquiry{}
	found := claims{name: "kit", entry: entry, locked: &entry}.accept(slot, q)
	if !evidence.Same(found.entry.Integrity, sum) || !evidence.Same(found.entry.Assets["a.md"], sum) || found.slot != slot {
		t.Errorf("entry: %+v", found.entry)
	}
	if q.report.Count(evidence.Mismatch) != 1 {
		t.Errorf("report: %v", q.report)
	}
	if !evidence.Same(entry.Assets["a.md"], other) {
		t.Error("the entry of the lock was changed")
	}
	q = &inquiry{}
	server := claims{kind: ledger.Artifact, name: "srv", entry: entry}
	if server.accept(slot, q); len(q.report) != 0 {
		t.Errorf("report of a server: %v", q.report)
	}
}

// A judgement is about all evidence so far, also about what was added before without one.
func TestInquiryJudgesAll(t *testing.T) {
	sum, other := digest.FromBytes([]byte("contents")), digest.FromBytes([]byte("other"))
	compare := func(now digest.Digest) evidence.Evidence {
		return evidence.Compare(evidence.Claim{Subject: "kit@1.0.0", Scheme: evidence.FacetTar, Authority: evidence.Lock,
			Want: []digest.Digest{sum}, Where: project.LockFile},
			evidence.Observed{Digests: []digest.Digest{now}, From: "the contents"})
	}
	q := &inquiry{}
	adm, err := q.judge(compare(sum))
	if err != nil || adm.Permits("kit@1.0.0", sum, policy.Materialize) != nil {
		t.Errorf("%v", err)
	}
	q.add(compare(other))
	if _, err := q.judge(compare(sum)); evidence.ClassOf(err) != evidence.Integrity || len(q.report) != 3 {
		t.Errorf("%v of %v", err, q.report)
	}
}
