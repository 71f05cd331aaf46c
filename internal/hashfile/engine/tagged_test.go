package engine

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// out is a writer that counts, and fails after room bytes, if room is not 0.
type out struct{ room, size, largest int }

func (o *out) Write(p []byte) (int, error) {
	if o.size += len(p); o.room > 0 && o.size > o.room {
		return 0, io.ErrClosedPipe
	}
	o.largest = max(o.largest, len(p))
	return len(p), nil
}

// TestWriteTagged writes lines of all lengths as [hashline.AppendLines] does.
func TestWriteTagged(t *testing.T) {
	goroutines(t)
	const large = taggedAtOnce
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
	}
}

// TestWriteTaggedInPieces takes little memory, however long a line is and however many there are.
func TestWriteTaggedInPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("moves much data through the goroutine of TestWriteTagged")
	}
	for name, text := range map[string][]byte{
		"one line": bytes.Repeat([]byte("\x01"), 64<<20), "line feeds": bytes.Repeat([]byte("\n"), 16<<20),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o := new(out)
		if err := newReader(0).WriteTagged(o, text, 1, 2); err != nil || o.size < len(text) {
			t.Errorf("%s: %v after %d bytes", name, err, o.size)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 24<<20 {
			t.Errorf("%s: %d bytes were taken in all", name, taken)
		}
	}
}

// TestWriteTaggedStops writes nothing more after an error, and leaves nothing running.
func TestWriteTaggedStops(t *testing.T) {
	goroutines(t)
	for _, text := range []string{strings.Repeat("a line of text\n", 4<<20/15), strings.Repeat("x", 4<<20) + "\ny"} {
		for _, room := range []int{1, 100_000, 1 << 20} {
			o := &out{room: room}
			if err := newReader(0).WriteTagged(o, []byte(text), 1, 2); err != io.ErrClosedPipe || o.largest > room {
				t.Errorf("%v after %d bytes of %d", err, o.size, room)
			}
		}
	}
}

// TestTaggedCodePoints: the parts that are written are whole code points, so that the text can end behind each of them.
func TestTaggedCodePoints(t *testing.T) {
	for shift := range 4 {
		text := strings.Repeat("a", shift) + strings.Repeat("\u20ac\U0001f600", taggedAtOnce)
		w := parts{}
		must(t, newReader(0).WriteTagged(&w, []byte(text), 1, 2))
		for i, part := range w {
			if !utf8.ValidString(part) {
				t.Errorf("part %d of %d is cut in a code point", i, len(w))
			}
		}
		if whole := strings.Join(w, ""); len(w) < 2 || !strings.HasSuffix(whole, "|"+text+"\n") {
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
