package texts

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

func (b *buffer) Close() error { return nil }

// answer is what the SDK writes for a call with a text.
func answer(id, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],`+
		`"structuredContent":{"total_lines":3}}}`, id, text)
}

type answered struct {
	ID     any
	Result *struct{ Content []struct{ Text string } }
	Error  *struct {
		Code    int
		Message string
	}
}

func plain(text string) func(io.Writer) error {
	return func(w io.Writer) error { return WriteInPieces(w, text) }
}

// TestWriter writes an answer with two texts, and forgets them when the call ends.
func TestWriter(t *testing.T) {
	texts, out := New(), new(buffer)
	ctx, cancel := context.WithCancel(t.Context())
	long := strings.Repeat("a \"line\"\n", 20_000)
	message := answer("7", texts.Put(ctx, plain(long))+" and "+texts.Put(ctx, plain("short"))) + "\n"
	if n, err := texts.Writer(out).Write([]byte(message)); n != len(message) || err != nil {
		t.Fatal(n, err)
	}
	var a answered
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Result.Content[0].Text != long+" and short" {
		t.Errorf("%v, %.100s", err, out)
	}
	if out.writes > out.Len()/Large+1 {
		t.Errorf("%d writes of %d bytes", out.writes, out.Len())
	}
	cancel()
	hang.Until(t, "no text is held after the call", func() bool { return texts.held() == 0 })
}

func (t *Texts) held() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waits)
}

// TestForgottenText makes the answer of a call that ended before its text was written an error: without the text it
// would be that of an empty file.
func TestForgottenText(t *testing.T) {
	texts, out := New(), new(buffer)
	ctx, cancel := context.WithCancel(t.Context())
	forgotten := texts.Put(ctx, plain("text"))
	cancel()
	kept := texts.Put(t.Context(), plain("kept"))
	client := texts.Writer(out)
	check := func(message string, want ...string) {
		t.Helper()
		out.Reset()
		if _, err := client.Write([]byte(message + "\n")); err != nil {
			t.Fatal(err)
		}
		var answers []answered
		if err := json.Unmarshal([]byte("["+out.String()+"]"), &answers); err != nil {
			answers = nil
			if err := json.Unmarshal(out.Bytes(), &answers); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		if strings.Count(out.String(), "\n") != 1 || !strings.HasSuffix(out.String(), "\n") || len(answers) != len(want) {
			t.Fatalf("%q is not one message", out)
		}
		for i, a := range answers {
			got := fmt.Sprint(a.ID, " ")
			if a.Error != nil {
				got += "error " + a.Error.Message
			} else {
				got += a.Result.Content[0].Text
			}
			if a.Error == nil == (a.Result == nil) || !strings.HasPrefix(got, want[i]) {
				t.Errorf("%s, want %s", got, want[i])
			}
		}
	}
	check(answer("7", forgotten), "7 error the call was cancelled")
	check(answer(`"a\"b"`, forgotten), `a"b error`)
	check(answer("1", texts.secret+"9999999999"), "1 error")
	check(answer("1", kept+forgotten), "1 error")
	check(answer("1", kept), "1 kept")
	check("["+answer("1", forgotten)+","+answer("2", kept)+"]", "1 error", "2 kept")
	check("["+answer("2", kept)+","+answer("1", forgotten)+"]", "2 kept", "1 error")
}

// TestInterruptedText ends an answer whose call ends while it is written: the message is whole, and its text says that
// it is not.
func TestInterruptedText(t *testing.T) {
	texts, out := New(), new(buffer)
	ctx, cancel := context.WithCancel(t.Context())
	written := 0
	token := texts.Put(ctx, func(w io.Writer) error {
		for range 1000 {
			if _, err := io.WriteString(w, strings.Repeat("line\n", 2000)); err != nil {
				return err
			}
			if written++; written == 30 {
				cancel()
			}
		}
		return nil
	})
	if _, err := texts.Writer(out).Write([]byte(answer("1", token) + "\n")); err != nil {
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
	texts, out := New(), &buffer{room: 300_000}
	written := 0
	token := texts.Put(t.Context(), func(w io.Writer) error {
		for ; written < 1000; written++ {
			if err := w.(Escaped).WriteEscaped(bytes.Repeat([]byte("x"), 10_000)); err != nil {
				return err
			}
		}
		return nil
	})
	if _, err := texts.Writer(out).Write([]byte(answer("1", token))); !errors.Is(err, io.ErrClosedPipe) || written > 50 {
		t.Errorf("%v after %d pieces", err, written)
	}
}

// TestCancel cancels calls whose answers are ready: one that is written, one that waits for that, and others.
func TestCancel(t *testing.T) {
	texts, out := New(), new(buffer)
	client := texts.Writer(out)
	first := texts.Put(t.Context(), func(w io.Writer) error {
		for i := range 1000 {
			if i == 30 {
				texts.Cancel(float64(8)) // which waits
				texts.Cancel("7")        // another one
			}
			if i == 60 {
				texts.Cancel(float64(7))
			}
			if _, err := io.WriteString(w, strings.Repeat("line\n", 2000)); err != nil {
				return err
			}
		}
		return nil
	})
	waiting := texts.Put(t.Context(), plain("waiting"))
	other := texts.Put(t.Context(), plain("other"))
	for i, test := range []struct{ message, want string }{
		{answer("7", first), "this answer is not complete"},
		{answer("8", waiting), `"error"`},
		{answer("8", other), "other"},
	} {
		out.Reset()
		if _, err := client.Write([]byte(test.message)); err != nil || !json.Valid(out.Bytes()) ||
			!strings.Contains(out.String(), test.want) || out.Len() > 61*12_000+1000 {
			t.Errorf("answer %d: %v, %d bytes, %.300s", i, err, out.Len(), out)
		}
	}
}

// TestInterruptedCodePoint: a text that ends early ends between code points, or a client that is strict about UTF-8
// would end the session.
func TestInterruptedCodePoint(t *testing.T) {
	for shift := range 3 {
		texts := New()
		ctx, cancel := context.WithCancel(t.Context())
		out := &cancelling{cancel: cancel}
		token := texts.Put(ctx, plain(strings.Repeat("a", shift)+strings.Repeat("\u20ac", 4*Large)))
		if _, err := texts.Writer(out).Write([]byte(answer("1", token))); err != nil {
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
