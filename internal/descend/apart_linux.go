package descend

import (
	"os"
	"runtime"
	"sync"
	"syscall"
)

// apart gives a first process a session of its own, and an end when this process is killed.
func apart(sys *syscall.SysProcAttr) *syscall.SysProcAttr {
	with := syscall.SysProcAttr{}
	if sys != nil {
		with = *sys
	}
	with.Setsid, with.Setpgid, with.Foreground = true, false, false
	with.Pdeathsig = syscall.SIGKILL
	return &with
}

var brokenPipe = []os.Signal{syscall.SIGPIPE}

var (
	begins     = make(chan func())
	beginsOnce sync.Once
)

// onThread calls f on the one thread that starts processes.
func onThread(f func()) {
	beginsOnce.Do(func() {
		go func() {
			runtime.LockOSThread() // for ever: a thread ends with the goroutine that locked it
			for f := range begins {
				f()
			}
		}()
	})
	done := make(chan struct{})
	begins <- func() {
		defer close(done)
		f()
	}
	<-done
}
