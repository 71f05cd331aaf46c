package guard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/internal/guard/guardtest"
	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

func TestMain(m *testing.M) { guardtest.Main(m) }

// Servers that tests start, and what they say.
var (
	admit     = guardtest.Admit
	image     = guardtest.Open
	startSelf = guardtest.StartSelf
	startPeer = guardtest.StartPeer
	dial      = guardtest.Dial
	served    = guardtest.Serve
	base      = guardtest.Base
	result    = guardtest.Result
	tools     = guardtest.Tools
	versions  = guardtest.Versions
	heap      = guardtest.HeapInUse
)

type rules = guardtest.Rules

// What clients and servers say.
const (
	helloAnswer = guardtest.HelloAnswer
	addTool     = guardtest.AddTool
	mulTool     = `{"name":"mul","description":"Multiplies.","inputSchema":{"type":"object"}}`
	hello       = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listTools   = `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`
)

// approve is the approval of items, each after its kind.
func approve(t testing.TB, kindAndItem ...string) Approved {
	return Approved{Items: guardtest.Approve(t, kindAndItem...)}
}

// client is the test's end of a relay.
type client struct {
	t      testing.TB
	in     *os.File // to the relay
	out    *os.File // from the relay
	lines  chan string
	notes  *buffer
	audit  *buffer
	done   chan struct{}
	code   int
	err    error
	cancel context.CancelFunc
	sorted []string // lines that come before those of the channel

	mu      sync.Mutex
	reports []Report
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// relayTo starts a relay to p, with pipes to the test as its client.
func relayTo(t testing.TB, p *process.Process, o Options) *client {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, in: inW, out: outR, lines: make(chan string, 100000), notes: &buffer{}, audit: &buffer{},
		done: make(chan struct{})}
	o.Server = "srv"
	o.Stderr, o.Log = c.notes, c.audit
	if o.Observed == nil {
		o.Observed = func(r Report) {
			c.mu.Lock()
			c.reports = append(c.reports, r)
			c.mu.Unlock()
		}
	}
	if o.grace == 0 {
		o.grace = 2 * time.Second
	}
	if o.term == 0 {
		o.term = time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		c.code, c.err = Relay(ctx, inR, outW, p, o)
		inR.Close()
		outW.Close()
		close(c.done)
	}()
	go func() {
		defer close(c.lines)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		c.wait()
		outR.Close()
	})
	return c
}

// send writes lines to the relay.
func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// next is the next line from the relay, line feed included.
func (c *client) next() string {
	c.t.Helper()
	if len(c.sorted) > 0 {
		line := c.sorted[0]
		c.sorted = c.sorted[1:]
		return line
	}
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatalf("the relay ended; notes:\n%s", c.notes)
		}
		return line
	case <-time.After(hang.Long):
		c.t.Fatalf("no line; notes:\n%s", c.notes)
		return ""
	}
}

// sortNext makes the next n lines come in the order of their bytes.
func (c *client) sortNext(n int) {
	c.t.Helper()
	var sorted []string
	for range n {
		sorted = append(sorted, c.next())
	}
	slices.Sort(sorted)
	c.sorted = sorted
}

// want checks the next line.
func (c *client) want(line string) {
	c.t.Helper()
	if got := c.next(); got != line+"\n" {
		c.t.Fatalf("got  %q\nwant %q\nnotes:\n%s", got, line+"\n", c.notes)
	}
}

// wantError checks that the next line answers id with an error that has text in it.
func (c *client) wantError(id string, code int, text string) {
	c.t.Helper()
	line := c.next()
	var got struct {
		ID    json.RawMessage
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.Error == nil {
		c.t.Fatalf("got %q, want an error with %q; notes:\n%s", line, text, c.notes)
	}
	if string(got.ID) != id || got.Error.Code != code || !strings.Contains(got.Error.Message, text) {
		c.t.Fatalf("got %q, want id %s, code %d, %q", line, id, code, text)
	}
}

// quiet checks that nothing comes for a moment.
func (c *client) quiet() {
	c.t.Helper()
	select {
	case line := <-c.lines:
		c.t.Fatalf("got %q, want nothing", line)
	case <-time.After(80 * time.Millisecond):
	}
}

// wait waits for the end of the relay and returns its exit code.
func (c *client) wait() int {
	c.t.Helper()
	select {
	case <-c.done:
		return c.code
	case <-time.After(hang.Long):
		buf := make([]byte, 1<<16)
		c.t.Fatalf("the relay does not end\n%s", buf[:runtime.Stack(buf, true)])
		return 0
	}
}

// drift is the drift of the last report.
func (c *client) drift() []Drift {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.reports) == 0 {
		return nil
	}
	return c.reports[len(c.reports)-1].Drift
}

func callTool(id, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, name)
}

// shake makes the handshake.
func (c *client) shake() {
	c.t.Helper()
	c.send(hello)
	c.next()
	c.send(initialized)
}
