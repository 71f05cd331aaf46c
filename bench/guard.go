package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a client and a server say in each call of P5, besides the payload.
const (
	guardHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	guardReady = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
)

// benchCalls measures P5, what 'hallmark run' adds to a call, and its memory.
func benchCalls(ctx context.Context, o options, t *table) error {
	g, err := newGuardBench(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(g.dir)
	for _, size := range []int{64, 4096} {
		if err := g.calls(o, t, size); err != nil {
			return err
		}
	}
	t.add("P5 guard, memory of its own", fmt.Sprintf("%.1f MiB", g.memory),
		fmt.Sprintf("touched while it relays %.1f MiB; with all pages of the "+
			"program's file that the system mapped, which processes share, at most %.0f MiB", g.touched, g.peak),
		"–", "≤ 20 MiB")
	return nil
}

type guardBench struct {
	ctx                 context.Context
	dir, hallmark, echo string
	memory, peak        float64 // MiB, the most of any guard: what no other process could share, and all
	touched             float64 // MiB that calls use, of the program's file too
}

func newGuardBench(ctx context.Context) (*guardBench, error) {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return nil, err
	}
	g := &guardBench{ctx: ctx, dir: dir, hallmark: filepath.Join(dir, "hallmark"), echo: filepath.Join(dir, "echo")}
	return g, buildAll(map[string]string{g.hallmark: "cmd/hallmark", g.echo: "bench/echo"})
}

// pin locks the echo server and returns the command line that runs it under guard.
func (g *guardBench) pin(size int) ([]string, error) {
	dir := filepath.Join(g.dir, strconv.Itoa(size))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("manifest_version = 1\n[providers.mcp.echo]\ncommand = %q\narguments = [\"%d\"]\n", g.echo,
		size)
	if err := os.WriteFile(filepath.Join(dir, "hallmark.toml"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(g.ctx, g.hallmark, "pin", "--yes", "--project", dir)
	cmd.Env = g.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pin: %w\n%s", err, out)
	}
	return []string{g.hallmark, "run", "echo", "--project", dir}, nil
}

func (g *guardBench) environ() []string {
	return append(os.Environ(), "HALLMARK_HOME="+filepath.Join(g.dir, "home"))
}

// spoken is a running server with the client's ends of its pipes. They block, without the
// runtime's poller, as those of clients in most languages do.
type spoken struct {
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Reader
}

func (g *guardBench) start(argv []string) (*spoken, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(g.ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = childIn, childOut, os.Stderr, g.environ()
	err = cmd.Start()
	childIn.Close()
	childOut.Close()
	if err != nil {
		return nil, err
	}
	in.Fd()
	out.Fd()
	return &spoken{cmd, in, bufio.NewReaderSize(out, 64<<10)}, nil
}

func (s *spoken) ask(line string) error {
	if _, err := s.in.WriteString(line); err != nil {
		return err
	}
	_, err := s.out.ReadSlice('\n')
	return err
}

// hello is the handshake, and one call, for which a guard has listed the server.
func (s *spoken) hello() error {
	if err := s.ask(guardHello); err != nil {
		return err
	}
	if _, err := s.in.WriteString(guardReady); err != nil {
		return err
	}
	return s.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}` + "\n")
}

func (s *spoken) end() error {
	s.in.Close()
	return s.cmd.Wait()
}

// measure makes calls for o.time and returns the median and the 99th percentile, in µs.
func (g *guardBench) measure(o options, argv []string, size int) (p50, p99 float64, err error) {
	s, err := g.start(argv)
	if err != nil {
		return 0, 0, err
	}
	if err := s.hello(); err != nil {
		return 0, 0, err
	}
	text := strings.Repeat("x", size)
	var took []float64
	for id, end := 2, time.Now().Add(o.time); time.Now().Before(end); id++ {
		line := `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) +
			`,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}` + "\n"
		began := time.Now()
		if err := s.ask(line); err != nil {
			return 0, 0, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1e3)
	}
	if argv[0] == g.hallmark {
		g.memory = max(g.memory, memoryOf(s.cmd.Process.Pid, "status", "RssAnon:"))
		if g.touched == 0 { // once, as it takes a while
			if g.touched, err = s.touches(text, o.calls); err != nil {
				return 0, 0, err
			}
		}
		g.peak = max(g.peak, (&process{cmd: s.cmd}).memory())
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100], s.end()
}

// touches returns the memory that the process uses during calls, in enough of which it collects
// garbage. The system maps pages of a file sixteen at a time, so that most of those that count
// as resident never are used.
func (s *spoken) touches(text string, calls int) (mib float64, err error) {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("1"), 0); err != nil {
		return 0, nil // not on this system
	}
	for id := range calls {
		if err := s.ask(
			`{"jsonrpc":"2.0","id":` + strconv.Itoa(id) +
				`,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + text + `"}}}` + "\n"); err !=
			nil {
			return 0, err
		}
	}
	return memoryOf(s.cmd.Process.Pid, "smaps_rollup", "Referenced:"), nil
}

// memoryOf returns a line of the system's report on a process's memory, in MiB; 0 if there is
// none.
func memoryOf(pid int, file, line string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), line)
	kib, _ := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	return kib / 1024
}

func (g *guardBench) calls(o options, t *table, size int) error {
	guarded, err := g.pin(size)
	if err != nil {
		return err
	}
	direct := []string{g.echo, strconv.Itoa(size)}
	ways := [][]string{direct, append([]string{g.echo, "pump"}, direct...), guarded}
	// Differences to the server directly, of the same round.
	var p50, p99 [3][]float64
	for range o.rounds {
		var base50, base99 float64
		for k, argv := range ways {
			m50, m99, err := g.measure(o, argv, size)
			if err != nil {
				return err
			}
			if k == 0 {
				base50, base99 = m50, m99
			}
			p50[k], p99[k] = append(p50[k], m50-base50), append(p99[k], m99-base99)
			if k == 0 {
				p50[k][len(p50[k])-1] = m50
			}
		}
	}
	limit := map[int]string{64: "9", 4096: "12"}[size]
	show := func(k int) string { return fmt.Sprintf("p50 +%.1f µs, p99 +%.1f µs", median(p50[k]), median(p99[k])) }
	t.add(fmt.Sprintf("P5 guard, a call of %d B (directly %.1f µs)", size, median(p50[0])), show(2),
		"byte pump "+show(1),
		fmt.Sprintf("%.2f×", median(p50[2])/median(p50[1])), "p50 ≤ +"+limit+" µs, p99 ≤ +50 µs")
	return nil
}

// benchStart measures P6, what 'hallmark run' adds to the time until a server has answered initialize.
func benchStart(ctx context.Context, o options, t *table) error {
	g, err := newGuardBench(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(g.dir)
	guarded, err := g.pin(64)
	if err != nil {
		return err
	}
	first := func(argv []string) (float64, error) {
		began := time.Now()
		s, err := g.start(argv)
		if err != nil {
			return 0, err
		}
		if err := s.ask(guardHello); err != nil {
			return 0, err
		}
		took := time.Since(began).Seconds() * 1e3
		return took, s.end()
	}
	var added, hashing []float64
	for range o.rounds * 3 {
		direct, err := first([]string{g.echo, "64"})
		if err != nil {
			return err
		}
		ours, err := first(guarded)
		if err != nil {
			return err
		}
		began := time.Now()
		data, err := os.ReadFile(g.echo)
		if err != nil {
			return err
		}
		sha256.Sum256(data)
		added, hashing = append(added, ours-direct), append(hashing, time.Since(began).Seconds()*1e3)
	}
	t.add("P6 start of a locked binary", fmt.Sprintf("+%.1f ms", median(added)),
		fmt.Sprintf("hashing it %.1f ms", median(hashing)),
		fmt.Sprintf("+%.1f ms beyond", median(added)-median(hashing)), "≤ 1.3× + 5 ms")
	return nil
}
