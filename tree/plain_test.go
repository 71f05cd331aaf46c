package tree

import (
	"crypto/sha256"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// plain reads and hashes each file for itself, on all processors.
func plain(b *testing.B, dir string, names []string) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(names) {
					return
				}
				data, err := os.ReadFile(dir + "/" + names[i])
				if err != nil {
					b.Error(err)
					return
				}
				sha256.Sum256(data)
			}
		})
	}
	wg.Wait()
}
