//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package foreign

import "golang.org/x/sys/unix"

// waitUnreaped waits until the child pid has ended and leaves it to be reaped, so that
// the number stays its own. ended is false if that cannot be told.
func waitUnreaped(pid int) (ended bool) {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	unix.CloseOnExec(queue)
	watch := make([]unix.Kevent_t, 1)
	unix.SetKevent(&watch[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch[0].Fflags = unix.NOTE_EXIT
	for changes := watch; ; {
		got := make([]unix.Kevent_t, 1)
		n, err := unix.Kevent(queue, changes, got, nil)
		switch {
		case err == unix.EINTR:
			changes = nil // they have been made
		case err == unix.ESRCH:
			return true // it had ended before
		case err != nil || n != 1:
			return false
		default:
			return got[0].Flags&unix.EV_ERROR == 0 || got[0].Data == int64(unix.ESRCH)
		}
	}
}
