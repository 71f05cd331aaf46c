package cli

import (
	"os"
	"sync"

	"github.com/cheggaaa/pb/v3"
	"golang.org/x/term"
)

// bars shows the bytes of all running downloads in one progress bar, on a terminal
// only.
type bars struct {
	mu    sync.Mutex
	out   *os.File // nil: not a terminal
	bar   *pb.ProgressBar
	files map[string]progress
}

type progress struct{ done, total int64 }

func newBars(out *os.File) *bars {
	b := &bars{files: map[string]progress{}}
	if term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb" {
		b.out = out
	}
	return b
}

// fetching is told how far a download is; total is negative if it is unknown.
func (b *bars) fetching(what string, done, total int64) {
	if b.out == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		b.bar = pb.New64(0).SetWriter(b.out).Set(pb.Bytes, true).Set(pb.CleanOnFinish, true)
		b.bar.SetTemplateString(`fetching {{counters . }} {{bar . }} {{speed . }}`)
		b.bar.Start()
	}
	b.files[what] = progress{done, max(total, done)}
	var sum progress
	for _, p := range b.files {
		sum.done += p.done
		sum.total += p.total
	}
	b.bar.SetTotal(sum.total).SetCurrent(sum.done)
}

// stop removes the bar, so that other text can be printed.
func (b *bars) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		b.bar.Finish()
		b.bar = nil
		clear(b.files)
	}
}
