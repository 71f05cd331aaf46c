package foreign

import (
	"runtime"
	"sync"
	"syscall"
)

// inNewSession gives a first process a session of its own, and an end when this process is killed.
func inNewSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

var (
	toStart     = make(chan func())
	starterOnce sync.Once
)

// runOnStarter calls f on the one thread that starts processes.
func runOnStarter(f func()) {
	starterOnce.Do(func() {
		go func() {
			runtime.LockOSThread() // for ever: a thread ends with the goroutine that locked it
			for f := range toStart {
				f()
			}
		}()
	})
	done := make(chan struct{})
	toStart <- func() {
		defer close(done)
		f()
	}
	<-done
}
