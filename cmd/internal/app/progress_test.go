package app

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// TestBar plays a terminal: what is left on its line is the latest bar, and after stop
// nothing.
func TestBar(t *testing.T) {
	var out bytes.Buffer
	columns := 80
	b := &bars{out: &out, columns: func() int { return columns }, files: map[string]progress{}}
	b.Fetching("a", 10<<20, 20<<20)
	b.drawn = time.Time{}
	b.Fetching("b", 512, -1)
	b.Fetching("b", 1024, -1) // too soon to be drawn
	if got, want := screen(out.String()),
		"fetching 10.0 MiB / 20.0 MiB [===============               ] 10.0 MiB/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Count(out.String(), "fetching") != 2 {
		t.Errorf("%q", out.String())
	}
	b.drawn = time.Time{}
	b.Fetching("a", 20<<20, 20<<20) // a shorter line does not leave the end of the longer one
	b.Stop()
	if got := screen(out.String()); got != "" || !strings.HasSuffix(out.String(), "\r") {
		t.Errorf("%q is left", got)
	}
	before := out.Len()
	b.Stop()
	if out.Len() != before {
		t.Error("a second stop writes")
	}
	b.drawn = time.Time{}
	b.Fetching("c", 1, 2) // what was fetched before does not count any more
	if got := screen(out.String()); !strings.HasPrefix(got, "fetching 1 B / 2 B [") {
		t.Errorf("%q", got)
	}
	b.Stop()
	b.drawn, columns = time.Time{}, 20
	b.Fetching("c", 1, 2)
	if got := screen(out.String()); got != "fetching 1 B / 2 B" {
		t.Errorf("%q in 20 columns", got)
	}
	b.Stop()
	columns = 80
	b.Fetching("c", 1, 2)
	b.doing("capturing what \x1b[31mnötes shows: 10 starts")
	if got := screen(out.String()); got != `capturing what \x1b[31mnötes shows: 10 starts` {
		t.Errorf("%q", got)
	}
	b.drawn = time.Time{}
	b.Fetching("d", 3, 4) // what was fetched before does not count any more
	if got := screen(out.String()); !strings.HasPrefix(got, "fetching 3 B / 4 B [") {
		t.Errorf("%q", got)
	}
	b.doing("short")
	columns = 4
	b.doing("waiting")
	if got := screen(out.String()); got != "wai" {
		t.Errorf("%q in 4 columns", got)
	}
	b.doing("")
	if got := screen(out.String()); got != "" {
		t.Errorf("%q is left", got)
	}
	none := &bars{files: map[string]progress{}}
	none.Fetching("a", 1, 2)
	none.doing("nothing")
	none.doing("")
	none.Stop()
}

// screen is what a line shows after text with carriage returns was written to it.
func screen(text string) string {
	var line []byte
	at := 0
	for _, c := range []byte(text) {
		if c == '\r' {
			at = 0
			continue
		}
		if at == len(line) {
			line = append(line, 0)
		}
		line[at] = c
		at++
	}
	return strings.TrimRight(string(line), " ")
}

func TestBarLine(t *testing.T) {
	for _, p := range []progress{{}, {0, 1}, {1, 1}, {1<<30 - 1, 1 << 30}, {1000 << 30, 1023 << 30}} {
		line := p.line(time.Millisecond)
		if _, rest, ok := strings.Cut(line, "["); !ok || len(rest) < barWidth || rest[barWidth] != ']' ||
			len(line) > 79 {
			t.Errorf("%q", line)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1<<20 - 1: "1.0 MiB",
		1 << 20: "1.0 MiB", 1536 << 20: "1.5 GiB", math.MaxInt64: "8388608.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
