package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
)

// buffer is a client's end that fails after room bytes, if room is not 0.
type buffer struct {
	bytes.Buffer
	room   int
	writes int
}

func (b *buffer) Write(p []byte) (int, error) {
	b.writes++
	if b.room > 0 && b.Len()+len(p) > b.room {
		return 0, io.ErrClosedPipe
	}
	return b.Buffer.Write(p)
}

type answered struct {
	ID     any
	Result *struct {
		Content           []struct{ Text string }
		StructuredContent map[string]any
		IsError           bool
	}
}

// writeResult writes the answer to a call with the id 7.
func writeResult(ctx context.Context, w io.Writer, result *Result) error {
	r := &request{id: json.RawMessage("7")}
	r.ctx, r.call = ctx, &Call{session: newSession(&Server{})}
	return (&answer{of: r, result: result}).write(&textWriter{w: w})
}

func repeat(n int, text string) func(io.Writer) error {
	return func(w io.Writer) error {
		for range n {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestResult writes an answer with more text than is held.
func TestResult(t *testing.T) {
	out := new(buffer)
	line := "a \"line\"\n"
	if err := writeResult(t.Context(), out, &Result{Text: "head\n", Write: repeat(20_000, line), IsError: true,
		Structure: map[string]int{"n": 3}}); err != nil {
		t.Fatal(err)
	}
	var a answered
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.ID != 7.0 || !a.Result.IsError ||
		a.Result.StructuredContent["n"] != 3.0 || a.Result.Content[0].Text != "head\n"+strings.Repeat(line, 20_000) {
		t.Errorf("%v, %.100s", err, out)
	}
	if out.writes > out.Len()/pieceSize+1 {
		t.Errorf("%d writes of %d bytes", out.writes, out.Len())
	}
}

// TestResultOfNoJSON: a result that cannot be encoded is an error, and not half a message.
func TestResultOfNoJSON(t *testing.T) {
	out := new(buffer)
	if err := writeResult(t.Context(), out, &Result{Structure: func() {}}); err != nil || !json.Valid(out.Bytes()) ||
		!strings.Contains(out.String(), "-32603") {
		t.Errorf("%v, %s", err, out)
	}
}

// TestInterruptedText ends an answer whose call ends while it is written: the message is whole, and its text says that
// it is not.
func TestInterruptedText(t *testing.T) {
	out := new(buffer)
	ctx, cancel := context.WithCancel(t.Context())
	written := 0
	if err := writeResult(ctx, out, &Result{Write: func(w io.Writer) error {
		for range 1000 {
			if err := repeat(1, strings.Repeat("line\n", 2000))(w); err != nil {
				return err
			}
			if written++; written == 30 {
				cancel()
			}
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	var a answered
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	text := a.Result.Content[0].Text
	if written != 30 || !strings.HasSuffix(text, "\n[this answer is not complete: "+
		"the call was cancelled while it was written]\n") {
		t.Errorf("after %d pieces: ...%s", written, text[max(0, len(text)-100):])
	}
}

// TestBrokenClient stops a text when the client's end is closed.
func TestBrokenClient(t *testing.T) {
	out, written := &buffer{room: 300_000}, 0
	err := writeResult(t.Context(), out, &Result{Write: func(w io.Writer) error {
		for ; written < 1000; written++ {
			if err := repeat(1, strings.Repeat("x", 10_000))(w); err != nil {
				return err
			}
		}
		return nil
	}})
	if !errors.Is(err, io.ErrClosedPipe) || written > 50 {
		t.Errorf("%v after %d pieces", err, written)
	}
}

// TestInterruptedCodePoint: a text that ends early ends between code points, or a client that is strict about UTF-8
// would end the session.
func TestInterruptedCodePoint(t *testing.T) {
	for shift := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		out := &cancelling{cancel: cancel}
		if err := writeResult(ctx, out, &Result{Text: strings.Repeat("a", shift) +
			strings.Repeat("\u20ac", 4*pieceSize)}); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(out.Bytes()) || !strings.Contains(out.String(), "not complete") || !json.Valid(out.Bytes()) {
			t.Errorf("%d bytes, UTF-8: %v", out.Len(), utf8.Valid(out.Bytes()))
		}
	}
}

// cancelling is a client's end that cancels the call when the first bytes come.
type cancelling struct {
	buffer
	cancel func()
}

func (c *cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return c.buffer.Write(p)
}

// TestCancelledAnswers cancels calls whose answers are ready: one that is written, and one that waits for that.
func TestCancelledAnswers(t *testing.T) {
	large := strings.Repeat("x", 4<<20)
	ready := make(chan struct{}, 2)
	c := greeted(t, "2025-11-25", func(context.Context, string, string) (string, error) {
		defer func() { ready <- struct{}{} }()
		return large, nil
	})
	c.send(call(7, "read", ""))
	<-ready
	first := make([]byte, 1) // the answer is begun
	if _, err := io.ReadFull(c.raw, first); err != nil {
		t.Fatal(err)
	}
	c.send(call(8, "read", ""))
	<-ready
	for _, id := range []int{9, 8, 7} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	c.send(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	hang.Ends(t, "the answers", func() {
		c.out.Scan()
		got := string(first) + c.out.Text()
		if !json.Valid([]byte(got)) || !strings.Contains(got, "not complete") || len(got) > len(large)/2 {
			t.Errorf("%d bytes, %.100s", len(got), got)
		}
		if got := c.line(); got != `{"jsonrpc":"2.0","id":7,"result":{}}` {
			t.Errorf("%.100s", got)
		}
	})
}
