package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var background = context.Background()

func withTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(background, d)
}

// BenchmarkAudit audits 3,000 files of 27 MB, alternating with plain reading and
// hashing of the same files on all processors.
func BenchmarkAudit(b *testing.B) {
	s := newStore(b)
	r := rand.New(rand.NewPCG(3, 4))
	files := map[string]string{}
	for i := range 3000 {
		content := make([]byte, 4500+r.IntN(9000))
		for j := range content {
			content[j] = byte(r.Uint32())
		}
		files[fmt.Sprintf("node_modules/package-%d/lib/file-%d.js", i/20, i)] = string(content)
	}
	slot := put(b, s, files)
	var ours, reference []time.Duration
	for b.Loop() {
		start := time.Now()
		if got, report, err := s.Audit(b.Context(), subject, slot.Digest); got == nil {
			b.Fatal(report, err)
		}
		ours = append(ours, time.Since(start))
		start = time.Now()
		var next atomic.Int64
		var wg sync.WaitGroup
		names := make([]string, 0, len(files))
		for name := range files {
			names = append(names, name)
		}
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
					data, err := os.ReadFile(filepath.Join(slot.Dir(), names[i]))
					if err != nil {
						b.Error(err)
					}
					sha256.Sum256(data)
				}
			})
		}
		wg.Wait()
		reference = append(reference, time.Since(start))
	}
	slices.Sort(ours)
	slices.Sort(reference)
	n := len(ours) / 2
	b.ReportMetric(float64(ours[n].Microseconds())/1000, "audit-ms")
	b.ReportMetric(float64(reference[n].Microseconds())/1000, "plain-ms")
	b.ReportMetric(float64(ours[n])/float64(reference[n]), "audit/plain")
}
