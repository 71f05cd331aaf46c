package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// benchHashfile is P11: reads and edits of files over MCP, on a file system in memory and on
// disk, by ours, by the reference filesystem server and by the Rust hashfile-mcp. Servers
// alternate in each round. Ours syncs what it writes, the others do not.
func benchHashfile(ctx context.Context, o options, t *table) error {
	programs, err := temporary("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	e, err := installEditors(ctx, programs, o)
	if err != nil {
		return err
	}
	for i, where := range editPlaces() {
		dir, err := temporary(where.dir)
		if err != nil {
			return err
		}
		b := &editBench{o: o, t: t, servers: e.on(dir), dir: dir, where: where.name}
		err = b.run(ctx, i == 0)
		os.RemoveAll(dir)
		if err != nil {
			return fmt.Errorf("editing servers on %s: %w", where.name, err)
		}
	}
	return nil
}

// editPlace is a file system to measure on.
type editPlace struct{ name, dir string }

// editPlaces are a file system in memory, where the system has one, and the one of temporary
// files.
func editPlaces() []editPlace {
	const memory = "/dev/shm"
	var places []editPlace
	if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil {
		if strings.Contains(string(mounts), " "+memory+" tmpfs ") {
			places = append(places, editPlace{"tmpfs", memory})
		}
	}
	return append(places, editPlace{"disk", ""})
}

// temporary makes a directory, below dir if it is not "", and returns its real path.
func temporary(dir string) (string, error) {
	made, err := os.MkdirTemp(dir, "hallmark-bench-")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(made)
}

// editBench measures servers in one directory.
type editBench struct {
	o       options
	t       *table
	servers []*editor // ours first
	dir     string
	where   string
}

// run measures everything, and what does not touch files if first.
func (b *editBench) run(ctx context.Context, first bool) error {
	if first {
		if err := b.measureStart(ctx); err != nil {
			return err
		}
	}
	for _, size := range b.o.editFiles {
		if err := b.withServers(ctx, func() error { return b.measureFile(size) }); err != nil {
			return err
		}
	}
	if err := b.withServers(ctx, b.measureSession); err != nil {
		return err
	}
	return b.withServers(ctx, func() error { return b.measureSearch(ctx) })
}

// withServers runs f while all servers do.
func (b *editBench) withServers(ctx context.Context, f func() error) error {
	for _, s := range b.servers {
		if err := s.start(ctx); err != nil {
			return err
		}
		defer s.stop()
	}
	return f()
}

// measureStart measures a start up to the answer to the first request.
func (b *editBench) measureStart(ctx context.Context) error {
	return b.compare("start", "≥ 20×, –", func(e *editor) (time.Duration, error) {
		began := time.Now()
		err := e.start(ctx)
		d := time.Since(began)
		if err == nil {
			e.stop()
		}
		return d, err
	})
}

// errCannot says that a server has no tool for what is measured.
var errCannot = fmt.Errorf("this server cannot")

// compare measures f on all servers, alternating, and adds a row of medians. Target is for the
// ratios to the reference and to the Rust server.
func (b *editBench) compare(what, target string, f func(*editor) (time.Duration, error)) error {
	figures := map[string][]float64{}
	cannot := map[string]bool{}
	for range max(b.o.rounds, 1) {
		for _, s := range b.servers {
			if cannot[s.name] {
				continue
			}
			d, err := f(s)
			if err == errCannot {
				cannot[s.name] = true
				continue
			}
			if err != nil {
				return fmt.Errorf("%s by %s: %w", what, s.name, err)
			}
			figures[s.name] = append(figures[s.name], float64(d.Nanoseconds())/1e6)
		}
	}
	b.add(what, target, figures)
	return nil
}

// add adds a row of the medians of milliseconds.
func (b *editBench) add(what, target string, figures map[string][]float64) {
	ours := median(figures[oursName])
	var others, ratios []string
	for _, name := range []string{referenceName, rustName} {
		if len(figures[name]) == 0 {
			others = append(others, name+" –"+b.missing(name))
			ratios = append(ratios, "–")
			continue
		}
		figure := median(figures[name])
		others = append(others, fmt.Sprintf("%s %s", name, milliseconds(figure)))
		ratios = append(ratios, fmt.Sprintf("%.2f×", figure/ours))
	}
	b.t.add(fmt.Sprintf("P11 %s, %s", what, b.where), milliseconds(ours), strings.Join(others, ", "),
		strings.Join(ratios, ", "), target)
}

// missing says that a server is not installed, if it is not.
func (b *editBench) missing(name string) string {
	for _, s := range b.servers {
		if s.name == name {
			return ""
		}
	}
	return " (not installed)"
}

func milliseconds(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.2f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}
