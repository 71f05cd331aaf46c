package hallmark

import (
	"bufio"
	"hash/maphash"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/surface"
)

const (
	maxMessage  = 4 << 10 // bytes of one line that are shown at once
	maxMessages = 1 << 14 // lines that are remembered
	lastMessage = 500 * time.Millisecond
	maxLast     = 5 // lines that the error of a server that died repeats, of at most tailSize bytes
)

// messages is what the processes of one capture print for a person. Each line is passed on
// once, as ten starts of a server that lacks a key would say so ten times, and escaped, as
// nobody has consented to the server yet: what it prints must not touch what is shown of it.
type messages struct {
	child *os.File // for the processes
	read  *os.File
	ended chan struct{}

	mu   sync.Mutex // guards last
	last tail
}

// newMessages passes lines on to w until close.
func newMessages(w io.Writer) (*messages, error) {
	read, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	m := &messages{child: child, read: read, ended: make(chan struct{})}
	go m.pass(w)
	return m, nil
}

func (m *messages) pass(w io.Writer) {
	defer close(m.ended)
	seed, seen := maphash.MakeSeed(), map[uint64]bool{}
	for in := bufio.NewReaderSize(m.read, maxMessage); ; {
		line, err := in.ReadSlice('\n')
		if id := maphash.Bytes(seed, line); len(line) > 0 && !seen[id] {
			if len(seen) < maxMessages {
				seen[id] = true
			}
			m.mu.Lock()
			m.last.Write(line)
			m.mu.Unlock()
			text := strings.ReplaceAll(strings.TrimRight(string(line), "\r\n"), "\t", "    ")
			io.WriteString(w, surface.Escape(text)+"\n") // nobody could be told of an error
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// close waits for the last lines of processes that have ended. What they left running
// may hold the pipe open, and is not waited for.
func (m *messages) close() {
	m.child.Close()
	m.read.SetReadDeadline(time.Now().Add(lastMessage)) // where the system cannot, the wait below ends
	select {
	case <-m.ended:
	case <-time.After(2 * lastMessage):
	}
	m.read.Close()
}

// lastLines are the last that program printed, for the detail of an error. They are all
// there once m is closed.
func (m *messages) lastLines(program string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := strings.SplitAfter(strings.TrimRight(string(m.last.kept), "\r\n"), "\n")
	return spoken(program, []byte(strings.Join(lines[max(0, len(lines)-maxLast):], "")))
}
