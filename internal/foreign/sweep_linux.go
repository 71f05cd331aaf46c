package foreign

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Processes that a family left in sessions of their own get time to end by themselves, then
// SIGTERM, then SIGKILL.
const (
	graceAlone = 100 * time.Millisecond
	graceTerm  = 150 * time.Millisecond
	patience   = 2 * time.Second // after which a process that cannot be killed is left running
	reapPause  = 2 * time.Second // in which a parent waits for its process, on a busy machine too
)

// protectedSessions are the sessions in which no process is signalled or reaped: this process's own,
// and those of the descendants that it had before the first family.
var protectedSessions map[int]bool

// prepareReaping makes this process the parent of every descendant whose parent ends. The
// registry's lock is held.
var prepareReaping = sync.OnceValue(func() error {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // before Linux 3.4 there is none
	protectedSessions = map[int]bool{}
	if own, err := unix.Getsid(0); err == nil {
		protectedSessions[own] = true
	}
	if !hasNoChildren() {
		for _, tree := range descendants(os.Getpid(), listProcesses()) {
			for _, p := range tree {
				protectedSessions[p.session] = true
			}
		}
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			time.Sleep(reapPause)
			registry.Lock()
			if hasUnreaped() {
				for _, tree := range descendants(os.Getpid(), listProcesses()) {
					tree[0].reap()
				}
			}
			registry.Unlock()
		}
	}()
	return nil
})

// hasUnreaped reports whether a child has ended that nobody has waited for.
func hasUnreaped() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err == nil && info.Signo != 0
}

// isAdopted reports whether a child of this process descends from a family and lost its parent. The
// registry's lock is held.
func (p process) isAdopted() bool {
	return registry.families[p.pid] == nil && !protectedSessions[p.session]
}

// reap waits for a child if it is adopted and has ended. The registry's lock is held.
func (p process) reap() {
	if p.zombie && p.isAdopted() {
		unix.Wait4(p.pid, nil, unix.WNOHANG|unix.WALL, nil)
	}
}

// endRest ends what is left of f, and what is left of all families if none is alive.
func (f *Family) endRest() {
	f.mu.Lock()
	killed := f.killed
	f.mu.Unlock()
	endSession(f.pid, killed)
}

// endAll ends at once all families, and what they left.
func endAll() { endSession(0, true) }

// endSession ends what a family left behind when its first process, whose id is session, ended:
// processes in that session are killed at once. While no family is alive it also ends all other
// leftovers, which get time to end by themselves unless killed is set. Session 0 means every
// family, alive or not.
func endSession(session int, killed bool) {
	asked := map[int]bool{}
	for began, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		since := time.Since(began)
		if left := endOnce(session, killed, since, asked); !left || since > patience {
			return
		}
		time.Sleep(pause)
	}
}

// endOnce is one round of endSession, and reports whether something is left. asked holds the
// processes that were sent SIGTERM.
func endOnce(session int, killed bool, since time.Duration, asked map[int]bool) (left bool) {
	registry.Lock()
	defer registry.Unlock()
	if protectedSessions == nil || hasNoChildren() {
		return false
	}
	// As the first process of a container this one is the parent of what others left there.
	rest := (registry.alive == 0 || session == 0) && os.Getpid() != 1
	for _, tree := range descendants(os.Getpid(), listProcesses()) {
		first := tree[0]
		switch {
		case registry.families[first.pid] != nil:
			if session != 0 {
				continue
			}
		case !first.isAdopted() || first.session != session && !rest:
			continue
		}
		for _, p := range tree {
			if p.zombie {
				continue
			}
			left = true
			switch {
			case killed || first.session == session || since >= graceAlone+graceTerm:
				p.signal(syscall.SIGKILL)
			case since >= graceAlone && !asked[p.pid]:
				asked[p.pid] = true
				p.signal(syscall.SIGTERM)
			}
		}
		if first.isAdopted() {
			first.reap()
			left = left || first.zombie // what it leaves is seen by the next round
		}
	}
	return left
}
