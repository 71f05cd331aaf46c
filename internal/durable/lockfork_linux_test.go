package durable

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// A lock that was released is free at once, whatever processes are being started meanwhile.
func TestUnlockWhileProcessesStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	stop := make(chan struct{})
	var starting sync.WaitGroup
	for range 4 {
		starting.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command("true").Run()
				}
			}
		})
	}
	for range 3000 {
		unlock, err := TryLock(path, "the test")
		if err != nil {
			t.Error(err)
			break
		}
		unlock()
	}
	close(stop)
	starting.Wait()
}
