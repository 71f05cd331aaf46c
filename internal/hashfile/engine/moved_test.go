//go:build unix

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// TestMovedBeforeWriting: a directory that was moved away after a call had found it, the allowed one or one below it,
// is not written any more.
func TestMovedBeforeWriting(t *testing.T) {
	for _, moved := range []string{"root", "root/sub", "root/sub/deep"} {
		for _, again := range []bool{false, true} {
			base := dir(t)
			root := filepath.Join(base, "root")
			deep := filepath.Join(root, "sub/deep")
			make := func() {
				must(t, os.MkdirAll(deep, 0o700))
				must(t, os.WriteFile(filepath.Join(deep, "f"), []byte("old\n"), 0o600))
			}
			make()
			source, err := place.NewSource([]string{root}, 0)
			must(t, err)
			defer source.Close()
			sc := source.Configured()
			defer sc.Close()
			at := func(name string) *place.Place {
				p, err := place.Resolve(sc, filepath.Join(deep, name))
				must(t, err)
				t.Cleanup(p.Close)
				must(t, p.CheckUnmoved())
				return p
			}
			f, n := at("f"), at("new")
			old, err := newReader(1<<20).Read(t.Context(), f)
			must(t, err)
			must(t, os.Rename(filepath.Join(base, moved), filepath.Join(base, "away")))
			if again {
				make()
			}
			w := newWriter(t.TempDir(), false)
			_, err = w.Replace(f, old, []byte("new\n"))
			refused(t, moved+" replaced", err, place.IO)
			refused(t, moved+" created", w.Create(n, []byte("new\n")), place.IO)
			found := 0
			must(t, filepath.WalkDir(base, func(path string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				found++
				if text, err := os.ReadFile(path); err != nil || string(text) != "old\n" || e.Name() != "f" {
					t.Errorf("%s: %s holds %q, %v", moved, path, text, err)
				}
				return nil
			}))
			if want := map[bool]int{false: 1, true: 2}[again]; found != want {
				t.Errorf("%s: %d files, want %d", moved, found, want)
			}
		}
	}
}

// TestOtherLocks: servers with different directories of locks, as in containers, lose no edit of one another.
func TestOtherLocks(t *testing.T) {
	const edits = 30
	first := serve(t)
	first.write("f", "begin\n")
	var wg sync.WaitGroup
	for who := range 3 {
		locks := t.TempDir()
		must(t, os.Chmod(locks, 0o700))
		source, err := place.NewSource([]string{first.dir}, 0)
		must(t, err)
		sc := source.Configured()
		t.Cleanup(func() { sc.Close(); source.Close() })
		w := &world{New(Options{Locks: locks, MaxFile: 1 << 20, Anchors: hashline.Options{Width: 2}}), t, first.dir, sc}
		wg.Go(func() {
			for done := 0; done < edits; {
				r, err := w.Read(t.Context(), w.sc, ReadRequest{Path: "f"})
				if err != nil {
					t.Error(err)
					return
				}
				_, err = w.edit(EditRequest{Path: "f", FileHash: Abbreviate(r.Hash), Stale: Reject},
					op("append", "", fmt.Sprintf("%d wrote %d", who, done)))
				if err == nil {
					done++
				}
			}
		})
	}
	wg.Wait()
	lines := map[string]int{}
	for line := range strings.Lines(first.content("f")) {
		lines[line]++
	}
	if len(lines) != 3*edits+1 {
		t.Errorf("%d of %d lines are there", len(lines), 3*edits+1)
	}
	for line, n := range lines {
		if n > 1 {
			t.Errorf("%d times %s", n, line)
		}
	}
}
