package program

import (
	"bufio"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/tool"
	"github.com/hallmark-mcp/hallmark/surface"
)

const (
	maxMessage  = 4 << 10 // bytes of one line that are shown at once
	maxMessages = 1 << 14 // lines that are remembered
	lastMessage = 500 * time.Millisecond
	maxLast     = 5 // lines that the error of a server that died repeats, of at most tailSize bytes
)

// messages collects what the processes of one capture print, and shows it to a person. It shows
// each line once, because ten starts of a server that lacks a key print ten equal lines. It escapes
// lines and puts the server's name before them: nobody has consented to the server yet, so its
// output must neither alter Hallmark's own nor look like it.
type messages struct {
	name  string   // of the server
	child *os.File // for the processes
	read  *os.File
	ended chan struct{}

	mu   sync.Mutex // guards last
	last tail
}

// newMessages passes the lines of a server on to w until close.
func newMessages(w io.Writer, server string) (*messages, error) {
	read, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the server's messages: %w", err)
	}
	m := &messages{name: server, child: child, read: read, ended: make(chan struct{})}
	go m.relay(w)
	return m, nil
}

// relay prints each line once, until the pipe is closed.
func (m *messages) relay(w io.Writer) {
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
			// an error here could not be reported anywhere
			fmt.Fprintf(w, "  %s says: %s\n", surface.Escape(m.name), surface.Escape(text))
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// close waits for the last lines of processes that have ended. It does not wait for their
// descendants, which may hold the pipe open.
func (m *messages) close() {
	m.child.Close()
	m.read.SetReadDeadline(time.Now().Add(lastMessage)) // where the system cannot, the wait below ends
	select {
	case <-m.ended:
	case <-time.After(2 * lastMessage):
	}
	m.read.Close()
}

// lastLines returns the last lines that the server printed, for the detail of an error. They are
// complete only after close.
func (m *messages) lastLines() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := strings.SplitAfter(strings.TrimRight(string(m.last.kept), "\r\n"), "\n")
	return tool.OutputDetail(m.name, []byte(strings.Join(lines[max(0, len(lines)-maxLast):], "")))
}

// tail keeps the last bytes of what is written to it.
type tail struct{ kept []byte }

const tailSize = 4 << 10

// Write keeps the end of p, and never fails.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-tailSize):]
	t.kept = append(t.kept[max(0, len(t.kept)+len(p)-tailSize):], p...)
	return n, nil
}
