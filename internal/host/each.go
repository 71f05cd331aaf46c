package host

import (
	"sync"
	"sync/atomic"
)

// ForEach calls f with 0 to n-1 from up to width goroutines. It stops when a call fails, and
// returns that error. Each goroutine makes many calls: a new goroutine for each call would grow its
// stack anew, which takes as long as checking a small lock entry.
func ForEach(width, n int, f func(i int) error) error {
	var (
		next    atomic.Int64
		workers sync.WaitGroup
		once    sync.Once
		failed  error
	)
	for range min(width, n) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					once.Do(func() { failed = err })
					next.Store(int64(n))
				}
			}
		})
	}
	workers.Wait()
	return failed
}
