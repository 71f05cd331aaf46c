// Command bench measures Hallmark against references of the same run.
//
//	go run ./bench                  everything
//	go run ./bench -only P7,P9      some of it; LOG is the log's monitor and proofs
//	go run ./bench -only hashfile   P11: ours and two other editing servers
//	go run ./bench -only mistakes   what becomes of edits with wrong anchors
//	go run ./bench -only edits      what becomes of the mistakes of models, on three servers
//	go run ./bench -versions 20000  with fewer rows, to look
//
// Machines differ and are noisy, so that every figure is a ratio: ours and the
// reference alternate, and the medians of all rounds are compared. A table goes to
// standard output, and with all of it measured to bench/RESULTS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

// options are the command's flags.
type options struct {
	sizes
	only    string
	rounds  int
	time    time.Duration
	profile string
	results string
	rust    string
}

// wants reports whether the benchmark called name is to run.
func (o options) wants(name string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), name)
}

func main() {
	o := options{sizes: whole()}
	flag.StringVar(&o.only, "only", "", "benchmarks to run, such as P7,P9 (default: all)")
	flag.IntVar(&o.versions, "versions", o.versions, "records of P7 and P9")
	flag.IntVar(&o.million, "million", o.million, "records of P8's large database")
	flag.IntVar(&o.rounds, "rounds", 9, "rounds, of which the median counts")
	flag.DurationVar(&o.time, "time", time.Second, "length of one measurement")
	flag.StringVar(&o.profile, "profile", "", "directory for CPU profiles of ours, one for each load")
	flag.StringVar(&o.results, "results", "", "file for the table (default: bench/RESULTS.md after a whole run)")
	flag.StringVar(&o.rust, "rust", "", "program of the Rust hashfile-mcp (default: cargo installs it, if it can)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	t := new(table)
	began := time.Now()
	for _, b := range benchmarks {
		if !slices.ContainsFunc(b.names, o.wants) {
			continue
		}
		if err := b.run(ctx, o, t); err != nil {
			return err
		}
	}
	text := t.String()
	fmt.Print("\n", text)
	fmt.Fprintf(os.Stderr, "bench: %s\n", time.Since(began).Round(time.Second))
	if o.results == "" && o.only == "" {
		o.results = "bench/RESULTS.md"
	}
	if o.results == "" {
		return nil
	}
	heading := fmt.Sprintf(
		"# Results\n\nWritten by `go run ./bench` on %s with %d processors, %s. Absolute figures are those\n"+
			"of that machine at that time; the ratios count. %d rounds of %s, alternating; medians.\n\n",
		runtime.GOOS+"/"+runtime.GOARCH, runtime.NumCPU(), runtime.Version(), o.rounds, o.time)
	return os.WriteFile(o.results, []byte(heading+text), 0o644)
}

// table is what was measured: what | ours | reference | ratio | target; and what is no such row.
type table struct {
	rows     [][5]string
	sections []string
}

func (t *table) add(what, ours, reference, ratio, target string) {
	t.rows = append(t.rows, [5]string{what, ours, reference, ratio, target})
	fmt.Fprintf(os.Stderr, "bench: %s: %s against %s, %s (target %s)\n", what, ours, reference, ratio, target)
}

// section adds Markdown below the rows.
func (t *table) section(title, text string) {
	t.sections = append(t.sections, "\n## "+title+"\n\n"+text)
}

func (t *table) String() string {
	rows := append([][5]string{{"what", "ours", "reference", "ratio", "target"}, {"---", "---", "---", "---", "---"}},
		t.rows...)
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r[:], " | "))
	}
	return b.String() + strings.Join(t.sections, "")
}

// median of figures, which it sorts.
func median(figures []float64) float64 {
	slices.Sort(figures)
	n := len(figures)
	if n == 0 {
		return 0
	}
	return (figures[n/2] + figures[(n-1)/2]) / 2
}

// process is a server under measurement.
type process struct {
	name string
	cmd  *exec.Cmd
	addr string // host:port
	log  *os.File
}

// launch starts a program, whose output goes to a file in dir, and waits until it
// answers at path.
func launch(ctx context.Context, dir, name, addr, path string, env []string, argv ...string) (*process, error) {
	log, err := os.Create(dir + "/" + name + ".log")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name, cmd, addr, log}
	for end := time.Now().Add(60 * time.Second); ; {
		if _, err := fetch(addr, path); err == nil {
			return p, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			text, _ := os.ReadFile(log.Name())
			p.stop()
			return nil, fmt.Errorf("%s does not answer\n%s", name, text[max(0, len(text)-3000):])
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *process) stop() {
	p.cmd.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		p.cmd.Process.Kill()
		<-done
	}
	p.log.Close()
}

// memory is the most memory the process has held, in MiB, where the system tells; 0 of a process that is nil.
func (p *process) memory() float64 {
	if p == nil {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil && err != io.EOF {
		return 0
	}
	return kib / 1024
}
