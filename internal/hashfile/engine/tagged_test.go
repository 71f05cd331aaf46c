package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
)

// out is a client's end that counts, fails after room bytes, if room is not 0, and keeps what it is given if it is to.
type out struct {
	kept       bytes.Buffer
	keeps      bool
	room, size int
	largest    int
}

func (o *out) Write(p []byte) (int, error) {
	if o.size += len(p); o.room > 0 && o.size > o.room {
		return 0, io.ErrClosedPipe
	}
	if o.largest = max(o.largest, len(p)); o.keeps {
		o.kept.Write(p)
	}
	return len(p), nil
}

func (o *out) Close() error { return nil }

// send writes text to a client as an answer's tagged lines.
func send(ctx context.Context, o *out, text []byte) error {
	t := texts.New()
	_, err := fmt.Fprintf(t.Writer(o), `"%s"`, t.Put(ctx, func(w io.Writer) error {
		return newReader(0).WriteTagged(w, text, 9, 3)
	}))
	return err
}

// TestWriteTagged writes lines of all lengths as [hashline.AppendLines] does, escaped or not.
func TestWriteTagged(t *testing.T) {
	goroutines(t)
	const large = texts.Large
	long := strings.Repeat("é\"\t", large/4)
	for _, text := range []string{
		"", "one", "one\n\ntwo\r\n", strings.Repeat("line\n", large), strings.Repeat("\n", 2*large),
		strings.Repeat("x", large), strings.Repeat("x", large) + "\n", strings.Repeat("x", large-1) + "\n\n",
		strings.Repeat("x", large+1) + "\r\nend", long + " \t\r", "a\n" + long + long + "\r\nb\n" + long + "\n\r\n",
	} {
		want := string(hashline.AppendLines(nil, []byte(text), 9, 3))
		var plain strings.Builder
		if err := newReader(0).WriteTagged(&plain, []byte(text), 9, 3); err != nil || plain.String() != want {
			t.Errorf("%.20q: %v, %.40q, want %.40q", text, err, plain.String(), want)
		}
		o, got := &out{keeps: true}, ""
		if err := send(t.Context(), o, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(o.kept.Bytes(), &got); err != nil || got != want {
			t.Errorf("%.20q escaped: %v, %.40q, want %.40q", text, err, got, want)
		}
	}
}

// TestWriteTaggedInPieces takes little memory, however long a line is and however many there are.
func TestWriteTaggedInPieces(t *testing.T) {
	for name, text := range map[string][]byte{
		"one line": bytes.Repeat([]byte("\x01"), 64<<20), "line feeds": bytes.Repeat([]byte("\n"), 16<<20),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := new(out)
		if err := send(t.Context(), o, text); err != nil || o.size < 6*len(text) {
			t.Errorf("%s: %v after %d bytes", name, err, o.size)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 32<<20 || o.largest > 4<<20 {
			t.Errorf("%s: %d bytes were taken in all, and %d written at once", name, taken, o.largest)
		}
	}
}

// TestWriteTaggedStops leaves nothing running behind a client that went away or cancelled the call.
func TestWriteTaggedStops(t *testing.T) {
	goroutines(t)
	text := bytes.Repeat([]byte("a line of text\n"), 4<<20/15)
	for _, room := range []int{1, 100_000, 1 << 20} {
		o := &out{room: room}
		if err := send(t.Context(), o, text); err != io.ErrClosedPipe || o.size > room+4*texts.Large {
			t.Errorf("%v after %d bytes of %d", err, o.size, room)
		}
	}
	o := new(out)
	if err := send(&looked{Context: t.Context(), most: 5}, o, text); err != nil || o.size > 20*texts.Large {
		t.Errorf("%v after %d bytes", err, o.size)
	}
}

// TestTaggedCodePoints: the parts of a long line are whole code points, so that the text can end behind each of them.
func TestTaggedCodePoints(t *testing.T) {
	for shift := range 4 {
		text := strings.Repeat("a", shift) + strings.Repeat("\u20ac\U0001f600", texts.Large)
		w := parts{}
		if err := newReader(0).WriteTagged(&w, []byte(text), 1, 2); err != nil {
			t.Fatal(err)
		}
		for i, part := range w {
			if !utf8.ValidString(part) {
				t.Errorf("part %d of %d is cut in a code point", i, len(w))
			}
		}
		if whole := strings.Join(w, ""); len(w) < 3 || !strings.HasSuffix(whole, "|"+text+"\n") {
			t.Errorf("%d parts of %d bytes in all", len(w), len(whole))
		}
	}
}

// parts is a writer that keeps what is written, one by one.
type parts []string

func (p *parts) Write(text []byte) (int, error) {
	*p = append(*p, string(text))
	return len(text), nil
}
