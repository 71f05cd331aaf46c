package clients

import (
	"os"
	"path/filepath"
	"testing"
)

// The file that each client gets for one server of a facet, where it has none yet, is one of
// testdata/entries: a reviewer compares it with the client's documentation, whose page docs/facets.md
// links to.
func TestEntriesGolden(t *testing.T) {
	seen := 0
	for _, row := range table {
		if row.install == nil {
			continue
		}
		seen++
		f := seatedFile(t, row.id)
		data, _, err := Insert(f, nil, "clock", "hallmark", []string{"run", "clock"})
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", "entries", row.id, filepath.FromSlash(row.install.files[0])))
		if err != nil || string(data) != string(want) {
			t.Errorf("%s: %s\nwant\n%s\n%v", row.id, data, want, err)
		}
		if found, err := Parse(f, data); err != nil || len(found) != 1 || found[0].Name != "clock" ||
			found[0].Command != "hallmark" {
			t.Errorf("%s: %v, %v", row.id, found, err)
		}
	}
	if files, err := filepath.Glob(filepath.Join("testdata", "entries", "*")); err != nil || len(files) != seen {
		t.Errorf("%d files of %d clients: %v", len(files), seen, err)
	}
}
