package app

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/hallmark-mcp/hallmark/surface"
)

// bars shows the bytes of all running downloads in one progress bar, or another slow step, on a
// terminal only. It is a line that overwrites itself.
type bars struct {
	mu      sync.Mutex
	out     io.Writer  // nil: not a terminal
	columns func() int // of the terminal
	files   map[string]progress
	began   time.Time // of the first file of this bar
	drawn   time.Time
	width   int // of what stands on the line now
}

type progress struct{ done, total int64 }

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

// NewBars returns bars that show progress on out if it is a suitable terminal.
func NewBars(out *os.File) *bars {
	b := &bars{files: map[string]progress{}}
	if term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb" {
		b.out = out
		b.columns = func() int {
			if columns, _, err := term.GetSize(int(out.Fd())); err == nil && columns > 0 { // 0: it does not say
				return columns
			}
			return 80
		}
	}
	return b
}

// Fetching updates the progress of a download; total is negative if it is unknown.
func (b *bars) Fetching(what string, done, total int64) {
	if b.out == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if len(b.files) == 0 {
		b.began = now
	}
	b.files[what] = progress{done, max(total, done)}
	if now.Sub(b.drawn) < barEvery {
		return
	}
	b.drawn = now
	var sum progress
	for _, p := range b.files {
		sum.done += p.done
		sum.total += p.total
	}
	b.draw(sum.line(now.Sub(b.began)))
}

// doing sets the slow step that is shown; "" removes it.
func (b *bars) doing(what string) {
	if b.out == nil {
		return
	}
	if what == "" {
		b.Stop()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.files)
	b.draw(surface.Escape(what))
}

// draw replaces the line that is shown. The caller holds b.mu.
func (b *bars) draw(line string) {
	runes := []rune(line)
	// in the last column some terminals go on to the next line
	line = string(runes[:min(len(runes), max(b.columns()-1, 0))])
	fmt.Fprintf(b.out, "\r%-*s", b.width, line)
	if b.width = utf8.RuneCountInString(line); b.width == 0 {
		fmt.Fprint(b.out, "\r")
	}
}

// Stop removes the bar, so that other text can be printed.
func (b *bars) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.width > 0 {
		b.draw("")
		clear(b.files)
	}
}

// aside writes to standard error, and removes the bar first.
type aside struct{ a *App }

func (w aside) Write(text []byte) (int, error) {
	w.a.Bars.Stop()
	return w.a.Stderr.Write(text)
}

// line returns the bar after some time.
func (p progress) line(since time.Duration) string {
	full := 0
	if p.total > 0 {
		full = int(float64(barWidth) * float64(p.done) / float64(p.total))
	}
	speed := int64(float64(p.done) / max(since.Seconds(), 1))
	return fmt.Sprintf("fetching %s / %s [%-*s] %s/s", size(p.done), size(p.total), barWidth, strings.Repeat("=", full),
		size(speed))
}

// size prints a number of bytes.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1024, 0
	for v >= 1023.95 && unit < 3 {
		v /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[unit])
}
