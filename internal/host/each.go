package host

import (
	"sync"
	"sync/atomic"
)

// ForEach calls f with 0 to n-1 from up to width goroutines. It stops when a call fails, and
// returns that error. It keeps its goroutines: starting one for each call grows a stack each
// time, which takes as long as checking a small entry of a lock does.
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
