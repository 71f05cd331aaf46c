package operate_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/operate"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Archives are recomputed from what the registry keeps: one that was damaged is a finding,
// once, and a finding more when it is whole again. One that is not there says nothing, as the
// place may be the wrong one.
func TestReverifyArchives(t *testing.T) {
	for name, kind := range map[string]struct {
		publish func(*hosttest.LoggedRegistry) registry.ArchiveRecord
		subject string
		scheme  evidence.Scheme
	}{
		"facet": {func(r *hosttest.LoggedRegistry) registry.ArchiveRecord { return r.Facets("1.0.0")[0] },
			"facet review@1.0.0",
			evidence.FacetTar},
		"plugin": {func(r *hosttest.LoggedRegistry) registry.ArchiveRecord { return r.Plugin("notes") }, "plugin notes@1.0.0",
			evidence.Tree},
	} {
		t.Run(name, func(t *testing.T) {
			r := hosttest.NewLoggedRegistry(t, "")
			rec := kind.publish(r)
			path := filepath.Join(r.Dir, "blobs", "sha256", rec.ContentHash.Hex()[:2], rec.ContentHash.Hex())
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			keep := func(data []byte) {
				t.Helper()
				if err := os.Chmod(path, 0o600); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			flipped := slices.Clone(whole)
			flipped[len(flipped)/2] ^= 1
			findings := 0
			for _, step := range []struct {
				name  string
				do    func()
				class evidence.Class
				found bool
				says  []string
			}{
				{"whole", func() {}, evidence.OK, false, nil},
				{"flipped", func() { keep(flipped) }, evidence.Integrity, true,
					[]string{"mismatch", digest.FromBytes(flipped).String()}},
				{"flipped still", func() {}, evidence.Integrity, false, nil},
				{"truncated", func() { keep(whole[:len(whole)-1]) }, evidence.Integrity, true,
					[]string{"mismatch", digest.FromBytes(whole[:len(whole)-1]).String()}},
				{"empty", func() { keep(nil) }, evidence.Integrity, true,
					[]string{"mismatch", digest.FromBytes(nil).String()}},
				{"not there", func() { os.Remove(path) }, evidence.Operation, false, nil},
				{"whole again", func() { keep(whole) }, evidence.OK, true, nil},
				{"still whole", func() {}, evidence.OK, false, nil},
			} {
				step.do()
				out, err := operate.Reverify(t.Context(),
					operate.ReverifyOptions{Place: operate.Place{Data: r.Dir}, Version: "v9"})
				if evidence.ClassOf(err) != step.class {
					t.Fatalf("%s: %v %+v", step.name, err, out.Found)
				}
				if failing := step.class == evidence.Integrity; out.Records != 1 || out.Claimed != 1 ||
					slices.Equal(out.Failing, []string{kind.subject}) != failing {
					t.Errorf("%s: %+v", step.name, out)
				}
				if (out.Unreached == 1) != (step.class == evidence.Operation) {
					t.Errorf("%s: %d not there", step.name, out.Unreached)
				}
				if (len(out.Found) == 1) != step.found {
					t.Errorf("%s: found %+v", step.name, out.Found)
				}
				if !step.found {
					continue
				}
				findings++
				shown, err := (&client.Client{Base: r.URL}).ArchiveRecord(t.Context(), rec.Kind, rec.Name, rec.Version)
				if err != nil || len(shown.Findings) != findings || shown.Findings[0].Build != "v9" {
					t.Fatalf("%s: %d findings, %v", step.name, len(shown.Findings), err)
				}
				for _, part := range step.says {
					if !strings.Contains(string(shown.Findings[0].Evidence), part) {
						t.Errorf("%s: %s lacks %s", step.name, shown.Findings[0].Evidence, part)
					}
				}
				if len(step.says) == 0 && string(shown.Findings[0].Evidence) != "[]" {
					t.Errorf("%s: %s", step.name, shown.Findings[0].Evidence)
				}
			}
			// A record that says something else than its archive is one too.
			db := hosttest.OpenRecords(t, r.Dir)
			lie := func(integrity digest.Digest) {
				t.Helper()
				raw, err := sql.Open("sqlite", r.DB())
				if err != nil {
					t.Fatal(err)
				}
				defer raw.Close()
				if _, err := raw.ExecContext(t.Context(), "UPDATE archives SET content_integrity = ?",
					integrity.String()); err != nil {
					t.Fatal(err)
				}
			}
			lie(digest.FromBytes([]byte("right")))
			again := operate.ReverifyOptions{Place: operate.Place{Data: r.Dir}, Version: "v9"}
			out, err := operate.Reverify(t.Context(), again)
			if evidence.ClassOf(err) != evidence.Integrity || len(out.Found) != 1 || len(out.Found[0].Evidence) != 1 ||
				out.Found[0].Evidence[0].Scheme != kind.scheme {
				t.Errorf("%+v, %v", out, err)
			}
			lie(rec.ContentIntegrity)
			if out, err := operate.Reverify(t.Context(), again); err != nil || len(out.Found) != 1 {
				t.Errorf("%+v, %v", out, err)
			}
			findings += 2
			// Deleted versions, and those of before, are not looked at.
			if out, err := operate.Reverify(t.Context(),
				operate.ReverifyOptions{Place: operate.Place{Data: r.Dir}, Since: time.Now().Add(time.Hour)}); err !=
				nil || out.Records != 0 {
				t.Errorf("%+v, %v", out, err)
			}
			if _, _, err := db.SetArchiveStatus(t.Context(), ledger.Kind(rec.Kind), rec.Name, rec.Version,
				registry.Change{Status: registry.Deleted, At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			if out, err := operate.Reverify(t.Context(),
				operate.ReverifyOptions{Place: operate.Place{Data: r.Dir}}); err != nil || out.Records != 0 {
				t.Errorf("%+v, %v", out, err)
			}
			// An export has all findings, and a restore takes them.
			dump, to := filepath.Join(t.TempDir(), "dump.jsonl"), t.TempDir()
			if n, err := operate.ExportFile(t.Context(), operate.Place{Data: r.Dir}, dump); err != nil || n != 1 {
				t.Fatalf("%d, %v", n, err)
			}
			if i, err := operate.Import(t.Context(),
				operate.ImportOptions{Place: operate.Place{Data: to}, From: dump, Restore: true}); err != nil ||
				i.Added != 1 {
				t.Fatalf("%+v, %v", i, err)
			}
			restored, err := hosttest.OpenRecords(t, to).ArchiveFindings(t.Context(), ledger.Kind(rec.Kind), rec.Name,
				rec.Version)
			if err != nil || len(restored) != findings || string(restored[0].Evidence) != "[]" {
				t.Errorf("%d findings restored, %v", len(restored), err)
			}
		})
	}
}
