package process

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestEventStream: lines end as the standard says, however the bytes arrive.
func TestEventStream(t *testing.T) {
	for _, x := range []struct{ sent, want string }{
		{"", ""},
		{"a\nb\n\n", "a\nb\n\n"},
		{"a\rb\r\r", "a\nb\n\n"},
		{"a\r\nb\r\n\r\n", "a\nb\n\n"},
		{"a\n\rb", "a\n\nb"},
		{"\r\r\n\n\r", "\n\n\n\n"},
		{"\ufeffa\n", "a\n"},
		{"\ufeff", ""},
		{"\ufeff\ufeffa", "\ufeffa"},
		{"\xef\xbba", "\xef\xbba"},
		{"\xefa\xbb\xbf\r", "\xefa\xbb\xbf\n"},
		{"a\ufeff\r", "a\ufeff\n"},
	} {
		for name, r := range map[string]io.Reader{
			"at once": strings.NewReader(x.sent), "bytes": iotest.OneByteReader(strings.NewReader(x.sent)),
			"last with its end": iotest.DataErrReader(strings.NewReader(x.sent)),
		} {
			got, err := io.ReadAll(newEventStream(r))
			if string(got) != x.want || err != nil {
				t.Errorf("%q, %s: got %q, %v, want %q", x.sent, name, got, err, x.want)
			}
		}
	}
}
