package foreign

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a process as /proc shows it.
type process struct {
	pid, parent, group, session int
	start                       uint64 // in ticks since the system began
	zombie                      bool
}

// readProcess reads /proc/PID/stat; ok is false if there is no such process.
func readProcess(pid int) (process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The second member is the name in parentheses, with any characters in it.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return process{}, false
	}
	members := bytes.Fields(data[end+1:]) // from the third on
	if len(members) < 20 {
		return process{}, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(string(members[i]))
		return n
	}
	start, err := strconv.ParseUint(string(members[19]), 10, 64)
	p := process{
		pid: pid, parent: number(1), group: number(2), session: number(3),
		start: start, zombie: members[0][0] == 'Z' || members[0][0] == 'X',
	}
	return p, err == nil
}

// listProcesses returns all processes that this one may see, by process id.
func listProcesses() map[int]process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	found := make(map[int]process, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				found[pid] = p
			}
		}
	}
	return found
}

// descendants returns the trees of processes below pid, one for each of its children, which is the
// first element of its tree.
func descendants(pid int, of map[int]process) (families [][]process) {
	children := map[int][]process{}
	for _, p := range of {
		children[p.parent] = append(children[p.parent], p)
	}
	for _, child := range children[pid] {
		tree := []process{child}
		for i := 0; i < len(tree) && len(tree) <= len(of); i++ {
			tree = append(tree, children[tree[i].pid]...)
		}
		families = append(families, tree)
	}
	return families
}

// signal sends s to a process that descends from this one. The registry's lock is held, so
// that no child is reaped meanwhile.
func (p process) signal(s syscall.Signal) {
	if p.zombie {
		return
	}
	if p.parent == os.Getpid() {
		syscall.Kill(p.pid, s)
		if p.group == p.pid {
			syscall.Kill(-p.pid, s)
		}
		return
	}
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && err != unix.ENOSYS {
		return
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := readProcess(p.pid); !ok || now.start != p.start {
		return
	}
	if err == nil {
		unix.PidfdSendSignal(fd, s, nil, 0)
	} else { // before Linux 5.3
		syscall.Kill(p.pid, s)
	}
}

// hasNoChildren reports whether this process has no children, and so no descendants.
func hasNoChildren() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if err != unix.EINTR {
			return err == unix.ECHILD
		}
	}
}
