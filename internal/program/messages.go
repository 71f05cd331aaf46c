package program

import (
	"bufio"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/closure"
	"github.com/hallmark-mcp/hallmark/surface"
)

const (
	maxMessage       = 4 << 10 // bytes of one line that are shown at once
	maxMessages      = 1 << 14 // lines that are remembered
	lastMessage      = 500 * time.Millisecond
	messagesPatience = 10 * time.Second // until what was held back is shown to a person who waits
	maxHeld          = 64 << 10         // bytes of it
	maxLast          = 5                // lines that the error of a server that died has, of at most tailSize bytes
)

// messages collects what the processes of one capture print, and holds it back until show, or for
// messagesPatience: a server complains of what a capture asks, and may say where to log in. It shows
// each line once, because four starts of a server that lacks a key print four equal lines. It escapes
// lines and puts the server's name before them: nobody has consented to the server yet, so its
// output must neither alter Hallmark's own nor look like it.
type messages struct {
	name  string   // of the server
	child *os.File // for the processes
	read  *os.File
	ended chan struct{}

	patience *time.Timer

	mu    sync.Mutex // guards what follows
	last  tail
	out   io.Writer
	held  []byte
	shown bool // nothing is held back any more
}

// newMessages passes the lines of a server on to w until close.
func newMessages(w io.Writer, server string) (*messages, error) {
	read, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the server's messages: %w", err)
	}
	m := &messages{name: server, child: child, read: read, ended: make(chan struct{}), out: w}
	m.patience = time.AfterFunc(messagesPatience, m.show)
	go m.relay()
	return m, nil
}

// show shows what was held back, and from then on each line at once.
func (m *messages) show() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out.Write(m.held) // an error here could not be reported anywhere
	m.held, m.shown = nil, true
}

// relay passes each line on once, until the pipe is closed.
func (m *messages) relay() {
	defer close(m.ended)
	seed, seen := maphash.MakeSeed(), map[uint64]bool{}
	for in := bufio.NewReaderSize(m.read, maxMessage); ; {
		line, err := in.ReadSlice('\n')
		if id := maphash.Bytes(seed, line); len(line) > 0 && !seen[id] {
			if len(seen) < maxMessages {
				seen[id] = true
			}
			text := strings.ReplaceAll(strings.TrimRight(string(line), "\r\n"), "\t", "    ")
			said := fmt.Appendf(nil, "  %s says: %s\n", surface.Escape(m.name), surface.Escape(text))
			m.mu.Lock()
			m.last.Write(line)
			if m.shown {
				m.out.Write(said)
			} else if len(m.held) < maxHeld {
				m.held = append(m.held, said...)
			}
			m.mu.Unlock()
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// close waits for the last lines of processes that have ended. It does not wait for their
// descendants, which may hold the pipe open.
func (m *messages) close() {
	m.patience.Stop()
	m.child.Close()
	m.read.SetReadDeadline(time.Now().Add(lastMessage)) // where the system cannot, the wait below ends
	select {
	case <-m.ended:
	case <-time.After(2 * lastMessage):
	}
	m.read.Close()
}

// lastLines returns the last lines that the server printed, for the detail of an error: without blank ones, and without
// those that are indented, as a traceback is, unless all are. They are complete only after close.
func (m *messages) lastLines() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := slices.DeleteFunc(strings.SplitAfter(string(m.last.kept), "\n"), func(line string) bool {
		return strings.TrimSpace(line) == ""
	})
	indented := func(line string) bool { return line[0] == ' ' || line[0] == '\t' }
	if plain := slices.DeleteFunc(slices.Clone(lines), indented); len(plain) > 0 {
		lines = plain
	}
	return closure.OutputDetail(m.name, []byte(strings.Join(lines[max(0, len(lines)-maxLast):], "")))
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
