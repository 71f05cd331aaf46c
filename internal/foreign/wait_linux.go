package foreign

import "golang.org/x/sys/unix"

// waitUnreaped waits until the child pid has ended and leaves it to be reaped, so that
// the number stays its own. ended is false if that cannot be told.
func waitUnreaped(pid int) (ended bool) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
