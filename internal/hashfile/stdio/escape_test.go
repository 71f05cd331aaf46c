package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// FuzzEscape compares with the library's encoder, as far as that writes the same.
func FuzzEscape(f *testing.F) {
	f.Add("plain text that is longer than eight bytes")
	f.Add("\"\\\n\r\t\x00\x1f\x20\x7f\u0080\u2028\U0001f600")
	f.Add("1234567\"")
	f.Add("\xff\xfe broken \xe2\x82")
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		b.WriteByte('"')
		j := &textWriter{w: &b, call: context.Background()}
		if n, err := j.Write([]byte(text)); n != len(text) || err != nil || j.flush() != nil {
			t.Fatal(n, err)
		}
		b.WriteByte('"')
		var got string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%q: %v", b.Bytes(), err)
		}
		if want := strings.ToValidUTF8(text, "\ufffd"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		for _, c := range b.Bytes() {
			if c < ' ' || c == 0x7f {
				t.Errorf("%q holds a control character", b.Bytes())
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	data := bytes.Repeat([]byte("    value = compute(input[7], \"name\"); // comment\n"), 10<<20/50)
	b.SetBytes(int64(len(data)))
	t := &textWriter{w: io.Discard, call: b.Context()}
	for b.Loop() {
		t.Write(data)
	}
}
