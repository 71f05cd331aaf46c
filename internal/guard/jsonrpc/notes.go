package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hallmark-mcp/hallmark/surface"
)

// maxNotes bounds the lines on standard error of one session.
const maxNotes = 1000

// maxAudited bounds a method or name in the log.
const maxAudited = 4 << 10 // bytes

// Notes writes the guard's own lines about one server.
type Notes struct {
	out    io.Writer // lines for the user; nil is none
	log    io.Writer // a JSON line for each call; nil is none
	server string

	mu      sync.Mutex
	n       int             // lines so far
	written map[string]bool // by PrintOnce
}

// NewNotes writes about the server of that name: lines for the user to out, and the log of its
// calls to log. Either may be nil.
func New(out, log io.Writer, server string) *Notes {
	return &Notes{out: out, log: log, server: server, written: map[string]bool{}}
}

// Printf writes one line. Arguments from outside must be escaped.
func (n *Notes) Printf(format string, args ...any) {
	if n.out == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n++
	switch {
	case n.n < maxNotes:
		fmt.Fprintf(n.out, "hallmark: %s: %s\n", ShowText(n.server), fmt.Sprintf(format, args...))
	case n.n == maxNotes:
		fmt.Fprintf(n.out, "hallmark: %s: further lines are left out\n", ShowText(n.server))
	}
}

// PrintOnce writes a line unless it was written before.
func (n *Notes) PrintOnce(line string) {
	n.mu.Lock()
	again := n.written[line]
	if len(n.written) < maxNotes {
		n.written[line] = true
	}
	n.mu.Unlock()
	if !again {
		n.Printf("%s", line)
	}
}

// AuditLine is one call in the log. It holds neither arguments nor results.
type AuditLine struct {
	Time    time.Time `json:"time"`
	Server  string    `json:"server"`
	Method  string    `json:"method"`
	Name    string    `json:"name,omitempty"`
	Outcome string    `json:"outcome"` // "forwarded", "refused", "cancelled"
	Reason  string    `json:"reason,omitempty"`
}

// Audit writes one line to the log, if there is one.
func (n *Notes) Audit(method, name, outcome, reason string) {
	if n.log == nil {
		return
	}
	method, name = method[:min(len(method), maxAudited)], name[:min(len(name), maxAudited)]
	line, err := json.Marshal(AuditLine{time.Now().UTC(), n.server, method, name, outcome, reason})
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log.Write(append(escapeNonASCII(line), '\n'))
}

// escapeNonASCII writes everything but printable ASCII in the JSON text b as \u escapes, because a
// log is read in a terminal.
func escapeNonASCII(b []byte) []byte {
	hidden := func(r rune) bool { return r > '~' }
	if !bytes.ContainsFunc(b, hidden) {
		return b
	}
	return surface.EscapeJSON(b, hidden)
}
