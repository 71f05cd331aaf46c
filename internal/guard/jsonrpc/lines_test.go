package jsonrpc

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLines cuts streams that arrive in pieces of any size.
func TestLines(t *testing.T) {
	if testing.Short() {
		t.Skip("is of one goroutine")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	const limit = 200_000
	for range 50 {
		var (
			want   []string
			stream strings.Builder
		)
		for range rnd.IntN(30) {
			n := []int{0, 1, 10, 1000, 70_000, limit - 1, limit, limit + 1, 3 * limit}[rnd.IntN(9)]
			line := strings.Repeat("x", n)
			stream.WriteString(line + "\n")
			want = append(want, fmt.Sprint(min(n+1, limit+1)))
		}
		for _, r := range []io.Reader{strings.NewReader(stream.String()),
			iotest.HalfReader(strings.NewReader(stream.String())),
			iotest.DataErrReader(strings.NewReader(stream.String()))} {
			l := NewLines(r, limit)
			var got []string
			for {
				line, err := l.Next()
				if err == io.EOF {
					break
				}
				if err == ErrLong {
					got = append(got, fmt.Sprint(limit+1))
					continue
				}
				if err != nil || line[len(line)-1] != '\n' {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(len(line)))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Fatalf("got  %v\nwant %v", got, want)
			}
			if len(l.buf) > 2*limit {
				t.Errorf("the buffer has %d bytes", len(l.buf))
			}
		}
	}
	l := NewLines(strings.NewReader("a\nlast"), 10)
	for _, want := range []string{"a\n", "last"} {
		if got, err := l.Next(); string(got) != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}
