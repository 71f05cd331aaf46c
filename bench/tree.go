package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/tree"
)

// benchHash measures P1: hashing a large file that is in the page cache against openssl,
// one alone and two at once. Each side reads the whole file in a loop of its own.
func benchHash(ctx context.Context, o options, t *table) error {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	names := []string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	for _, name := range names {
		if err := writeNoise(name, o.file); err != nil {
			return err
		}
	}
	hash := func(name string) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, n, err := digest.FromReader(f)
		if err == nil && n != int64(o.file) {
			err = fmt.Errorf("%s: %d bytes were hashed", name, n)
		}
		return err
	}
	openssl := func(name string) error {
		return exec.CommandContext(ctx, "openssl", "dgst", "-sha256", name).Run()
	}
	for _, files := range []int{1, 2} {
		var ours, theirs []float64
		for range o.rounds {
			for _, m := range []struct {
				into *[]float64
				hash func(string) error
			}{{&ours, hash}, {&theirs, openssl}} {
				began := time.Now()
				var group errgroup.Group
				for _, name := range names[:files] {
					group.Go(func() error { return m.hash(name) })
				}
				if err := group.Wait(); err != nil {
					return err
				}
				*m.into = append(*m.into, time.Since(began).Seconds())
			}
		}
		gib := func(seconds float64) string { return fmt.Sprintf("%.2f GiB/s", float64(files*o.file)/(1<<30)/seconds) }
		a, b := median(ours), median(theirs)
		t.add(fmt.Sprintf("P1 sha256 of %d MiB, %d at once", o.file>>20, files), gib(a), gib(b)+" openssl",
			fmt.Sprintf("%.2f×", b/a), []string{"≥ 1.0×", "≥ 0.95×"}[files-1])
	}
	return nil
}

// writeNoise writes n bytes that do not repeat.
func writeNoise(name string, n int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	r := rand.NewChaCha8(sha256.Sum256([]byte(name)))
	buf := make([]byte, 1<<20)
	for n > 0 && err == nil {
		p := buf[:min(n, len(buf))]
		r.Read(p)
		_, err = f.Write(p)
		n -= len(p)
	}
	return errors.Join(err, f.Close())
}

// benchTree measures P2: the fingerprints of a directory of many small files, the listing
// of the directory included, against reading and hashing each of them, whose names are
// known, in a loop on all processors.
func benchTree(ctx context.Context, o options, t *table) error {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := writeTree(dir, o.treeFiles, o.treeBytes)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	fsys := root.FS()
	type fingerprint func(context.Context, []tree.File, tree.Open, int) (digest.Digest, int64, error)
	whole := func(f fingerprint) func() error {
		return func() error {
			list, err := tree.Walk(fsys, tree.Limits{})
			if err == nil && len(list) != o.treeFiles {
				err = fmt.Errorf("%d files were found", len(list))
			}
			if err == nil {
				open, done := durable.Opener(root)
				_, _, err = f(ctx, list, open, 0)
				done()
			}
			return err
		}
	}
	loop := func() error { return hashLoop(files) }
	for _, m := range []struct {
		name string
		run  func() error
	}{{"tree", whole(tree.V1)}, {"facet-tar", whole(tree.FacetTar)}} {
		var ours, theirs []float64
		for range o.rounds {
			for _, side := range []struct {
				into *[]float64
				run  func() error
			}{{&ours, m.run}, {&theirs, loop}} {
				began := time.Now()
				if err := side.run(); err != nil {
					return err
				}
				*side.into = append(*side.into, time.Since(began).Seconds())
			}
		}
		a, b := median(ours), median(theirs)
		t.add(fmt.Sprintf("P2 %s of %d files, %d MB", m.name, o.treeFiles, o.treeBytes/1_000_000),
			fmt.Sprintf("%.0f ms", a*1000), fmt.Sprintf("%.0f ms read and hashed", b*1000), fmt.Sprintf("%.2f×", a/b),
			"≤ 1.15×")
	}
	return nil
}

// writeTree writes the files of P2, as deep as installed packages lie.
func writeTree(dir string, count, bytes int) (names []string, err error) {
	r := rand.New(rand.NewPCG(2, uint64(count)))
	data := make([]byte, 2*bytes/count)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for i := range count {
		name := filepath.Join(dir, fmt.Sprintf("node_modules/package-%d/lib/%d/file-%d.js", i/100, i/10%10, i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		// Two files of a pair have twice the mean size together.
		size := bytes / count / 2
		if i%2 == 1 {
			size = bytes/count*2 - size
		}
		if err := os.WriteFile(name, data[i%97:i%97+size], 0o644); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func hashLoop(names []string) error {
	var (
		next    atomic.Int64
		workers sync.WaitGroup
		failed  atomic.Pointer[error]
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				data, err := os.ReadFile(names[i])
				if err != nil {
					failed.Store(&err)
				}
				sha256.Sum256(data)
			}
		})
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
