// Command results runs go test and reports what it did, for make test:
//
//	go run ./e2e/results [-json FILE] -- [go test flags] ./...
//
// It prints what go test itself prints without -v (a line for each package, the
// output of failed tests), names each skipped test with its reason, and closes
// with a line "N passed, N failed, N skipped" that counts tests and subtests. A
// package that does not build or stops outside a test counts as one failed.
//
// When ./... was run it also holds e2e/coverage.json against the run: a test that
// is named there and did not pass is a failure. With CI=true every skipped test
// is one too; elsewhere skips are only named, as not every machine can run all.
//
// Tests have their temporary files in memory where that is possible and TMPDIR is not set, which spares a sixth of
// the processors' time. Those under the race detector are run without this command, and have them on the disk.
//
// The exit code is 0 if nothing failed, else 1.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/hallmark-mcp/hallmark/e2e/built"
	"github.com/hallmark-mcp/hallmark/e2e/coverage"
	"github.com/hallmark-mcp/hallmark/e2e/memory"
)

func main() {
	record := flag.String("json", "", "also write go test's events to this `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, *record, flag.Args(), os.Getenv("CI") == "true")
	if err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run runs go test with args and reports whether everything passed.
func run(ctx context.Context, record string, args []string, ci bool) (ok bool, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d at %d", built.Run, os.Getpid(), time.Now().UnixNano()))
	if dir, ok := memory.Find(); ok {
		temp, err := os.MkdirTemp(dir, "hallmark-test-")
		if err != nil {
			return false, err
		}
		defer removeAll(temp)
		if err := os.Chmod(temp, 0o755); err != nil { // tests start programs as another user
			return false, err
		}
		cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	var events io.Reader = stdout
	if record != "" {
		f, err := os.Create(record)
		if err != nil {
			return false, err
		}
		defer f.Close()
		events = io.TeeReader(stdout, f)
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	p := newPrinter(out)
	readErr := p.read(events)
	waitErr := cmd.Wait()
	if readErr != nil {
		return false, readErr
	}
	if waitErr != nil && p.failed == 0 {
		p.failed++ // go test itself: an unknown flag, a pattern that matches nothing
		fmt.Fprintf(out, "FAIL\tgo test: %v\n", waitErr)
	}
	if slices.Contains(args, "./...") {
		if err := p.cover("e2e/coverage.json", ci); err != nil {
			return false, err
		}
	}
	return p.close(ci), nil
}

// removeAll deletes a directory with directories that nothing may be written into.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// cover prints what coverage.json says of this run and counts its faults. A
// named test that failed has been counted; one that was skipped is a fault of
// its own only where nothing may be skipped.
func (p *printer) cover(file string, ci bool) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	m, err := coverage.ReadMap(data)
	if err != nil {
		return err
	}
	for _, fault := range m.CheckRun(p.results) {
		switch fault.Outcome {
		case "fail":
			continue
		case "skip":
			if !ci {
				fmt.Fprintf(p.out, "coverage: %s not shown here: %s was skipped\n", fault.ID, fault.Test)
				continue
			}
		}
		p.failed++
		fmt.Fprintf(p.out, "--- FAIL: coverage of %s\n", fault)
	}
	waiting := m.Pending()
	rows := 0
	for _, n := range waiting {
		rows += n
	}
	fmt.Fprintf(p.out, "coverage: %d requirements, %d with something pending\n", len(m), rows)
	return nil
}
