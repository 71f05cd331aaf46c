package guard

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

// notes writes the guard's own lines to standard error.
type notes struct {
	w      io.Writer
	server string

	mu sync.Mutex
	n  int
}

// printf writes one line. Arguments from outside must be escaped.
func (n *notes) printf(format string, args ...any) {
	if n.w == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n++
	switch {
	case n.n < maxNotes:
		fmt.Fprintf(n.w, "hallmark: %s: %s\n", showText(n.server), fmt.Sprintf(format, args...))
	case n.n == maxNotes:
		fmt.Fprintf(n.w, "hallmark: %s: further lines are left out\n", showText(n.server))
	}
}

// auditLine is one call in the log. It holds neither arguments nor results.
type auditLine struct {
	Time    time.Time `json:"time"`
	Server  string    `json:"server"`
	Method  string    `json:"method"`
	Name    string    `json:"name,omitempty"`
	Outcome string    `json:"outcome"` // "forwarded", "refused", "cancelled"
	Reason  string    `json:"reason,omitempty"`
}

// audit writes one line to the log, if there is one.
func (r *relay) audit(method, name, outcome, reason string) {
	if r.o.Log == nil {
		return
	}
	method, name = method[:min(len(method), maxName)], name[:min(len(name), maxName)]
	line, err := json.Marshal(auditLine{time.Now().UTC(), r.o.Server, method, name, outcome, reason})
	if err != nil {
		return
	}
	r.notes.mu.Lock()
	defer r.notes.mu.Unlock()
	r.o.Log.Write(append(ascii(line), '\n'))
}

// ascii is the JSON text b with everything else than printable ASCII as \u escapes: a log
// is read in a terminal.
func ascii(b []byte) []byte {
	hidden := func(r rune) bool { return r > '~' }
	if !bytes.ContainsFunc(b, hidden) {
		return b
	}
	return surface.EscapeJSON(b, hidden)
}
