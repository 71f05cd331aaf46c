package guard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/descend"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/surface"
)

// The test binary is its own server: with GUARD_TEST_SERVER set it runs one.
func TestMain(m *testing.M) {
	descend.EnableKeepers()
	if mode := os.Getenv("GUARD_TEST_SERVER"); mode != "" {
		os.Exit(testServer(mode))
	}
	os.Exit(m.Run())
}

// admit judges images as a launch does and returns what Exec wants.
func admit(t testing.TB, images ...*Image) (policy.Admitted, []Subject) {
	t.Helper()
	var (
		report   evidence.Report
		subjects []Subject
	)
	for _, m := range images {
		o := m.Observed()
		report = append(report, evidence.Compare(evidence.Claim{
			Subject: m.Path(), Scheme: evidence.File, Authority: evidence.Lock, Want: []digest.Digest{o.SHA256()},
		}, o))
		subjects = append(subjects, Subject{m.Path(), o.SHA256()})
	}
	v := policy.Judge(policy.Launch, policy.Settings{}, report)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return v.Admitted(), subjects
}

func image(t testing.TB, path string) *Image {
	t.Helper()
	m, err := OpenImage(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// startSelf starts the test binary as a server.
func startSelf(t testing.TB, mode string, env ...string) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := image(t, self)
	adm, subjects := admit(t, m)
	p, err := Exec(t.Context(), adm, subjects, Command{
		Name: "srv", Exe: m, Args: []string{self},
		// Under -race a program sleeps for a second at its end, longer than it is waited for.
		Env: append(os.Environ(), append(env, "GUARD_TEST_SERVER="+mode, "GORACE=atexit_sleep_ms=10")...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.Exited():
		default:
			p.Kill()
		}
	})
	return p
}

// rules are what testdata/peer.py says, by method.
type rules map[string][][]string

// startPeer starts the hostile server.
func startPeer(t testing.TB, r rules, extra map[string]any) (p *Process, log string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the peer is a Unix script")
	}
	all := map[string]any{}
	for k, v := range r {
		all[k] = v
	}
	for k, v := range extra {
		all[k] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log = filepath.Join(dir, "received")
	if err := os.WriteFile(filepath.Join(dir, "rules"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	script := image(t, "testdata/peer.py")
	python := image(t, "/usr/bin/python3")
	adm, subjects := admit(t, script, python)
	p, err = Exec(t.Context(), adm, subjects, Command{
		Name: "peer", Exe: script, Interpreter: python, Args: []string{"peer.py"},
		Env: append(os.Environ(), "PEER_RULES="+filepath.Join(dir, "rules"), "PEER_LOG="+log),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.Exited():
		default:
			p.Kill()
		}
	})
	return p, log
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

	mu      sync.Mutex
	reports []Report
}

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

func relayTo(t testing.TB, p *Process, o Options) *client {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, in: inW, out: outR, lines: make(chan string, 100000), notes: &buffer{}, audit: &buffer{}, done: make(chan struct{})}
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

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// hung is when a test gives up waiting for what must come. A busy machine takes ten seconds for
// the 64 MiB of the longest message under the race detector.
const hung = time.Minute

// next is the next line from the relay, line feed included.
func (c *client) next() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatalf("the relay ended; notes:\n%s", c.notes)
		}
		return line
	case <-time.After(hung):
		c.t.Fatalf("no line; notes:\n%s", c.notes)
		return ""
	}
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

func (c *client) wait() int {
	c.t.Helper()
	select {
	case <-c.done:
		return c.code
	case <-time.After(hung):
		buf := make([]byte, 1<<16)
		c.t.Fatalf("the relay does not end\n%s", buf[:runtime.Stack(buf, true)])
		return 0
	}
}

// drift is the last report's.
func (c *client) drift() []Drift {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.reports) == 0 {
		return nil
	}
	return c.reports[len(c.reports)-1].Drift
}

const (
	hello       = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listTools   = `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`
	helloAnswer = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"srv","version":"1"}}}`
	addTool     = `{"name":"add","description":"Adds.","inputSchema":{"type":"object","required":["a","b"],"properties":{"a":{"type":"number","minimum":1},"b":{"type":"number"}}}}`
	mulTool     = `{"name":"mul","description":"Multiplies.","inputSchema":{"type":"object"}}`
)

func result(body string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + body + `}` }

func tools(items ...string) string {
	return result(`{"tools":[` + strings.Join(items, ",") + `]}`)
}

func callTool(id, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, name)
}

// base are the rules of an honest server with the given tools.
func base(items ...string) rules {
	return rules{
		"initialize": {{strings.Replace(helloAnswer, `"id":0`, `"id":$ID`, 1)}},
		"tools/list": {{tools(items...)}},
		"tools/call": {{result(`{"content":[]}`)}},
		"ping":       {{result(`{}`)}},
	}
}

func (r rules) set(method string, answers ...[]string) rules {
	r[method] = answers
	return r
}

// approve is the approval of items, each after its kind.
func approve(t testing.TB, kindAndItem ...string) Approved {
	t.Helper()
	a := Approved{Items: map[string]digest.Digest{}}
	for i := 0; i < len(kindAndItem); i += 2 {
		it, err := surface.NewItem(surface.Kind(kindAndItem[i]), []byte(kindAndItem[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		a.Items[it.Key()] = it.Digest
	}
	return a
}

// shake makes the handshake.
func (c *client) shake() {
	c.t.Helper()
	c.send(hello)
	c.next()
	c.send(initialized)
}
