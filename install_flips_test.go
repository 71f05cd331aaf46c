package hallmark

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// Every change of one bit in the lock, the store or an installed file is noticed by check
// (R2, in small): it refuses, or it warns of a file that somebody edited.
func TestFacetFlips(t *testing.T) {
	w := newFacetWorld(t)
	w.must(w.install(FacetOptions{}))
	var all []string
	for _, root := range []string{w.path("tools"), filepath.Join(w.host.Places.Cache, "store", "sha256")} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				all = append(all, path)
			}
			return nil
		})
	}
	all = append(all, w.path(project.LockFile), w.path(project.LockFile)) // the lock is where the most can go wrong
	if len(all) != 6 {
		t.Fatal(all)
	}
	for range 1000 {
		path := all[rand.N(len(all))]
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at, bit := rand.N(len(data)), byte(1)<<rand.N(8)
		w.overwrite(path, func(b []byte) []byte { b[at] ^= bit; return b })
		v, err := Check(t.Context(), w.host, w.dir, CheckOptions{Offline: true})
		if err == nil && v.Report().Count(evidence.Match) == len(v.Findings) {
			t.Errorf("byte %d of %s, %q ^ %#x: not noticed", at, path, data[at], bit)
		}
		w.overwrite(path, func([]byte) []byte { return data })
	}
	v, err := Check(t.Context(), w.host, w.dir, CheckOptions{Offline: true})
	if err != nil || v.Err() != nil || v.Report().Count(evidence.Match) != len(v.Findings) {
		t.Fatal(err, v.Err(), v.Report())
	}
}
