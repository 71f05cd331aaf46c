package process

import (
	"io"
	"math/bits"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// interrupt ends a read(2) that waits for a pipe, which saves a poll(2) before each read. The pipe
// is made non-blocking, and each thread of the process gets SIGURG, which the runtime sends them
// now and then itself. The kernel restarts the interrupted call, as the runtime asks for all its
// signals, and the call, now on a non-blocking pipe, returns at once. A call that begins later
// returns at once too, so no moment is missed. Nobody else may use the open file.
type interrupt struct {
	fd      int
	threads *os.File    // a directory with an entry for each thread
	reading atomic.Bool // a read may wait
	stopped atomic.Bool
}

// newInterrupt is for the pipe that fd reads. It is nil where SIGURG would not arrive.
func newInterrupt(fd int) *interrupt {
	var blocked unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &blocked); err != nil {
		return nil
	}
	const bit = uint(unix.SIGURG - 1)
	if blocked.Val[bit/bits.UintSize]>>(bit%bits.UintSize)&1 != 0 {
		return nil // the parent of this program blocked it
	}
	threads, err := os.Open("/proc/self/task")
	if err != nil {
		return nil
	}
	return &interrupt{fd: fd, threads: threads}
}

// begin reports whether a read may wait. If so, end must follow it.
func (i *interrupt) begin() bool {
	i.reading.Store(true)
	if i.stopped.Load() {
		i.reading.Store(false)
		return false
	}
	return true
}

func (i *interrupt) end() { i.reading.Store(false) }

// stop ends a read that waits, and keeps later ones from waiting. It is called once.
func (i *interrupt) stop() {
	defer i.threads.Close()
	i.stopped.Store(true)
	if unix.SetNonblock(i.fd, true) != nil {
		return
	}
	for i.reading.Load() {
		i.threads.Seek(0, io.SeekStart)
		names, _ := i.threads.Readdirnames(-1)
		for _, name := range names {
			if id, err := strconv.Atoi(name); err == nil {
				unix.Tgkill(os.Getpid(), id, unix.SIGURG)
			}
		}
		time.Sleep(100 * time.Microsecond)
	}
}
