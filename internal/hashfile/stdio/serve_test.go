package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// client is a client of a server in this process, which has the tools wait, read and write.
type client struct {
	t      *testing.T
	server *Server
	in     *io.PipeWriter
	raw    io.Reader
	out    *bufio.Scanner // of raw
	done   chan error
}

const greeting = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"%s",` +
	`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

const limit = 64 << 10

// begin starts a server whose tools do what tool does, and sends what comes first.
func begin(t *testing.T, first string, tool func(ctx context.Context, name, argument string) (string, error)) *client {
	t.Helper()
	server := &Server{Name: "s", Version: "1", MaxMessage: limit, RootsChanged: func() {},
		Unknown: func(tool string) string { return tool }, Tools: []Tool{{Name: "read"}, {Name: "write", Writes: true}},
		Call: func(ctx context.Context, c *Call) *Result {
			text, err := tool(ctx, c.Tool, string(c.Arguments))
			if err != nil {
				return &Result{Text: err.Error(), IsError: true}
			}
			return &Result{Text: text}
		}}
	in, inW := io.Pipe()
	outR, out := io.Pipe()
	c := &client{t: t, server: server, in: inW, raw: outR, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	c.out.Buffer(nil, 256<<20)
	go func() {
		c.done <- Serve(context.Background(), server, in, out)
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	go io.WriteString(inW, first)
	return c
}

// greeted starts a server and greets it.
func greeted(t *testing.T, version string, tool func(context.Context, string, string) (string, error)) *client {
	t.Helper()
	c := begin(t, fmt.Sprintf(greeting, version), tool)
	if line := c.line(); !strings.Contains(line, `"hello"`) {
		t.Fatal(line)
	}
	return c
}

func (c *client) send(lines ...string) {
	for _, line := range lines {
		io.WriteString(c.in, line+"\n")
	}
}

func (c *client) line() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the server ended: %v", c.out.Err())
	}
	if !json.Valid(c.out.Bytes()) {
		c.t.Fatalf("no JSON: %q", c.out.Bytes())
	}
	return c.out.Text()
}

// ended demands that the server ends without an error.
func (c *client) ended() {
	c.t.Helper()
	go func() {
		for c.out.Scan() {
		}
	}()
	hang.Ends(c.t, "the server", func() {
		if err := <-c.done; err != nil {
			c.t.Error(err)
		}
	})
}

func call(id int, tool, argument string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"a":%q}}}`, id,
		tool, argument)
}

func echo(_ context.Context, name, argument string) (string, error) { return name + argument, nil }

func TestFaults(t *testing.T) {
	big := strings.Repeat("x", limit)
	for _, x := range []struct{ line, id, code string }{
		{"hello", "null", "-32700"},
		{`{"jsonrpc":"2.0","id":1,`, "null", "-32700"},
		{"\x00", "null", "-32700"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, "null", "-32700"},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "null", "-32700"}, // in the middle of the stream
		{strings.Repeat("[", 20000), "null", "-32700"},
		{"7", "null", "-32600"}, {`"ping"`, "null", "-32600"}, {"null", "null", "-32600"}, {"[]", "null", "-32600"},
		{"[ ]", "null", "-32600"}, {"{}", "null", "-32600"}, {`{"id":1}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":"a"}`, `"a"`, "-32600"},
		{`{"id":1,"method":"ping"}`, "1", "-32600"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":9007199254740993000,"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, "null", "-32600"},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", "null", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "null", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/list"}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","name":"write"}}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"a":1,"a":2}}}`, "1", "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"` + big + `"}`, "1", "-32600"},
		{`{"method":"tools/list","params":{"x":"` + big + `"},"jsonrpc":"2.0","id":"tail"}`, `"tail"`, "-32600"},
		{`{"method":"tools/list","params":{"x":"` + big + `","id":7}}`, "null", "-32600"},
		{big + big + big, "null", "-32600"},
	} {
		c := greeted(t, "2025-11-25", echo)
		c.send(x.line)
		if got := c.line(); !strings.Contains(got, `"id":`+x.id+`,"error":{"code":`+x.code+",") {
			t.Errorf("%.99q: %s", x.line, got)
		}
		c.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
		if got := c.line(); got != `{"jsonrpc":"2.0","id":"after","result":{}}` {
			t.Errorf("%.99q: then %s", x.line, got)
		}
		c.in.Close()
		c.ended()
	}
}

// TestQuietLines: what is no message, or not for a server, is not answered.
func TestQuietLines(t *testing.T) {
	c := greeted(t, "2025-11-25", echo)
	for _, line := range []string{"", "  ", "\r", `{"jsonrpc":"2.0","method":"notifications/progress","params":7}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write"}}`, `{"jsonrpc":"2.0","id":5,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, `{"jsonrpc":"2.0","id":{},"result":1}`,
		`{"result":"` + strings.Repeat("x", limit) + `","jsonrpc":"2.0","id":5}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"hello"}}`,
	} {
		c.send(line, `{"jsonrpc":"2.0","id":"after","method":"ping"}`+"\r")
		if got := c.line(); !strings.Contains(got, `"after"`) {
			t.Errorf("%.99q: %s", line, got)
		}
	}
}

// TestStreamEnds: a byte order mark begins the stream, and its last line has no end.
func TestStreamEnds(t *testing.T) {
	c := begin(t, "", echo)
	go func() {
		io.WriteString(c.in, "\ufeff"+`{"jsonrpc":"2.0","id":"hello","method":"ping"}`) // until all of it is read
		c.in.Close()
	}()
	if got := c.line(); !strings.Contains(got, `"hello"`) {
		t.Error(got)
	}
	c.ended()
}

// TestBatches: those versions that have batches answer them in one line.
func TestBatches(t *testing.T) {
	batch := "[" + call(1, "read", "x") + `,7,{"jsonrpc":"2.0","method":"notifications/initialized"},` +
		call(2, "write", "y") + `,{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	for version, want := range map[string]int{"2024-11-05": 4, "2025-03-26": 4, "2025-06-18": 0, "2025-11-25": 0} {
		c := greeted(t, version, echo)
		c.send(batch, `{"jsonrpc":"2.0","id":"after","method":"ping"}`)
		got, after := c.line(), c.line()
		if !strings.HasPrefix(got, "[") && want > 0 {
			got, after = after, got
		}
		var all []json.RawMessage
		json.Unmarshal([]byte(got), &all)
		if len(all) != want || want == 0 && !strings.Contains(got+after, "-32600") {
			t.Errorf("%s: %s", version, got)
		}
		if !strings.Contains(got+after, `"after"`) {
			t.Errorf("%s: %s", version, after)
		}
	}
}

// TestLargeBatch: an array of many messages has one answer, not one for each two bytes of it.
func TestLargeBatch(t *testing.T) {
	c := greeted(t, "2025-03-26", echo)
	for messages, want := range map[int]int{maxMessages: maxMessages, maxMessages + 1: 0, 3 * maxMessages: 0} {
		c.send("[" + strings.Repeat("1,", messages-1) + "1]")
		got := c.line()
		if n := strings.Count(got, "-32600"); want > 0 && n != want || want == 0 && (n != 1 || !strings.Contains(got, "more than")) {
			t.Errorf("%d messages have %d errors: %.200s", messages, n, got)
		}
	}
}

// TestGarbage mutates messages. Whatever a line is, the next one is answered.
func TestGarbage(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 15))
	valid := []string{call(1, "read", "x"), call(2, "write", "y"), `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":"s","method":"resources/read","params":{"uri":"file:///"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":4,"result":{"roots":[]}}`, `[` + call(5, "read", "z") + `]`, `{}`, `[1,2,{"a":null}]`,
		fmt.Sprintf(strings.SplitN(greeting, "\n", 2)[0], "2025-03-26"),
		`{"jsonrpc":"2.0","id":6,"method":"subscriptions/listen","params":{}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"debug"}}`}
	pieces := []string{"{", "}", "[", "]", ",", ":", `"`, `\`, "null", "-1", "1e9", "\x00", "\xff", "\ufeff", "\r", " ",
		`"id"`, `"method"`, `"params":[]`, `"params":null`, `"jsonrpc":"2.0"`, `"id":{}`, `\u0000`, `"arguments":7`}
	c := greeted(t, "2025-03-26", echo)
	for i := range 4000 {
		line := []byte(valid[random.IntN(len(valid))])
		for range random.IntN(4) {
			at, end := random.IntN(len(line)+1), 0
			end = at + random.IntN(min(12, len(line)-at)+1)
			piece := pieces[random.IntN(len(pieces))]
			switch random.IntN(4) {
			case 0:
				piece = ""
			case 1:
				end = at
			case 2:
				piece = string(line[at:end]) + string(line[at:end])
			}
			line = append(line[:at:at], append([]byte(piece), line[end:]...)...)
		}
		line = bytes.ReplaceAll(line, []byte("\n"), nil)
		after := fmt.Sprintf("after %d", i)
		c.send(string(line), `{"jsonrpc":"2.0","id":"`+after+`","method":"ping"}`)
		for got := ""; !strings.Contains(got, after); {
			got = c.line()
		}
	}
	c.in.Close()
	c.ended()
}
