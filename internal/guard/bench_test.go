package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hallmark-mcp/hallmark/internal/guard/process"
)

// BenchmarkRelay measures tools/call against a server directly, through a pump that parses nothing, and
// through the relay. Each result has the median and the 99th percentile in µs.
func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{64, 4096} {
		payload := "PAYLOAD=" + string(slices.Repeat([]byte("x"), size))
		b.Run(fmt.Sprintf("%dB/direct", size), func(b *testing.B) {
			p := startSelf(b, "bench", payload)
			inR, inW, _ := os.Pipe()
			defer inW.Close()
			defer inR.Close()
			calls(b, p.Stdin.WriteAll, &blocking{p.Stdout})
		})
		b.Run(fmt.Sprintf("%dB/pump", size), func(b *testing.B) {
			through(b, payload, func(in io.Reader, out io.Writer, p *process.Process) {
				source, sink := process.NewSource(in, false), process.NewSink(out, false)
				done := make(chan bool, 2)
				pump := func(r io.Reader, write func([]byte) error) {
					buf := make([]byte, 64<<10)
					for {
						n, err := r.Read(buf)
						if err != nil || write(buf[:n]) != nil {
							done <- true
							return
						}
					}
				}
				go pump(source, p.Stdin.WriteAll)
				go pump(p.Stdout, sink.WriteAll)
				<-done
				p.End(nil, process.GraceClose, process.GraceTerm)
			})
		})
		b.Run(fmt.Sprintf("%dB/relay", size), func(b *testing.B) {
			through(b, payload, func(in io.Reader, out io.Writer, p *process.Process) {
				Relay(context.Background(), in, out, p, Options{Approved: approve(b, "tool", addTool)})
			})
		})
	}
}

// blocking hides that a source can be stopped, which the reader of a client cannot.
type blocking struct{ io.Reader }

func through(b *testing.B, payload string, run func(io.Reader, io.Writer, *process.Process)) {
	p := startSelf(b, "bench", payload)
	inR, inW, _ := os.Pipe()
	outR, outW, _ := os.Pipe()
	done := make(chan struct{})
	go func() {
		run(inR, outW, p)
		close(done)
	}()
	toRelay, fromRelay := process.NewSink(inW, true), process.NewSource(outR, true)
	calls(b, toRelay.WriteAll, fromRelay)
	toRelay.Close()
	<-done
	for _, f := range []*os.File{inR, outR, outW} {
		f.Close()
	}
}

func calls(b *testing.B, write func([]byte) error, from io.Reader) {
	r := bufio.NewReaderSize(from, 64<<10)
	ask := func(line string) {
		if err := write([]byte(line + "\n")); err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	ask(hello)
	if err := write([]byte(initialized + "\n")); err != nil {
		b.Fatal(err)
	}
	ask(callTool("1", "add"))
	took := make([]time.Duration, 0, 1<<16)
	id := 1
	for b.Loop() {
		id++
		line := callTool(fmt.Sprint(id), "add")
		start := time.Now()
		ask(line)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-µs")
}
