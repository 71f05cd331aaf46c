package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// measureSession makes many edits of one file, and tells how long each took and how much
// memory the server held after them. A server whose answer to an edit does not give the new
// hash is asked to read a line before the next one.
func (b *editBench) measureSession() error {
	figures, each := map[string][]float64{}, map[string][]float64{}
	for _, s := range b.servers {
		path := filepath.Join(b.dir, "session.js")
		lines, err := writeLines(path, 100<<10)
		if err != nil {
			return err
		}
		d, err := timed(func() error { return s.editOften(path, lines, b.o.sessionEdits) })
		if err != nil {
			return fmt.Errorf("%d edits by %s: %w", b.o.sessionEdits, s.name, err)
		}
		figures[s.name] = []float64{float64(d.Nanoseconds()) / 1e6}
		each[s.name] = []float64{float64(d.Nanoseconds()) / 1e6 / float64(b.o.sessionEdits)}
	}
	what := fmt.Sprintf("%d edits of 100 KB in one session", b.o.sessionEdits)
	b.add(what, "–, ≥ 1×", figures)
	b.add(what+", each", "–, ≥ 1×", each)
	b.addMemory(what, 0)
	return nil
}

// editOften replaces count lines from all over a file.
func (e *editor) editOften(path string, lines, count int) error {
	now := make([]string, lines+1) // what was put in place of the first content
	var hash string
	for i := range count {
		n := 1 + i*37%lines
		if hash == "" && e.tools.anchors() {
			line, err := e.call("read_text_file", e.tools.window(path, n, n))
			if err != nil {
				return err
			}
			hash = e.tools.shown(textOfStart(line)).hash
		}
		if now[n] == "" {
			now[n] = codeLine(n - 1)
		}
		content := fmt.Sprintf("    value_%d = edited(%d);", n, i)
		tag := (text{lines: now[n : n+1]}).tag(1)
		tool, arguments := e.tools.edit(path, hash,
			[]sent{{op: "replace", anchor: fmt.Sprintf("%d:%s", n, tag), content: &content}},
			[]replacement{{OldText: now[n] + "\n", NewText: content + "\n"}})
		line, err := e.call(tool, arguments)
		if err != nil {
			return err
		}
		hash, now[n] = "", content
		if e.tools.anchors() {
			hash = e.tools.shown(textOfStart(line)).hash
		}
	}
	return nil
}

// needle is in one of a hundred files, and in the names of as many.
const needle = "needle_of_the_search"

// measureSearch searches files for text. The reference knows no such search: it looks for
// names, as does ours beside it. Grep is the floor.
func (b *editBench) measureSearch(ctx context.Context) error {
	dir := filepath.Join(b.dir, "tree")
	if err := writeSearched(dir, b.o.searchFiles); err != nil {
		return err
	}
	what := fmt.Sprintf("search of %d files (ours for text, the reference for names only)", b.o.searchFiles)
	if err := b.compare(what, "–", func(e *editor) (time.Duration, error) {
		arguments := map[string]any{"path": dir, "pattern": needle}
		switch e.name {
		case referenceName:
			arguments["pattern"] = "**/*" + needle + "*"
		case rustName:
			return 0, errCannot
		}
		return timed(func() error { _, err := e.call("search_files", arguments); return err })
	}); err != nil {
		return err
	}
	var greps, ours []float64
	for range max(b.o.rounds, 1) {
		d, err := timed(func() error { return exec.CommandContext(ctx, "grep", "-rn", needle, dir).Run() })
		if err != nil {
			break // no grep
		}
		greps = append(greps, float64(d.Nanoseconds())/1e6)
		if d, err = timed(func() error {
			_, err := b.servers[0].call("search_files", map[string]any{"path": dir, "pattern": needle})
			return err
		}); err != nil {
			return err
		}
		ours = append(ours, float64(d.Nanoseconds())/1e6)
	}
	if len(greps) > 0 {
		b.t.add(fmt.Sprintf("P11 search of %d files against grep -rn, %s", b.o.searchFiles, b.where),
			milliseconds(median(ours)), milliseconds(median(greps)),
			fmt.Sprintf("%.2f×", median(greps)/median(ours)), "–")
	}
	return b.measureCancel(fmt.Sprintf("a search of %d files", b.o.searchFiles), "search_files",
		map[string]any{"path": dir, "pattern": "no such text [0-9]+ anywhere"})
}

// writeSearched writes files of 2 KB, a hundred in a directory.
func writeSearched(dir string, count int) error {
	for i := range count {
		folder := filepath.Join(dir, fmt.Sprintf("folder%d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return err
			}
		}
		name, text := fmt.Sprintf("file%d.go", i), ""
		for line := range 30 {
			text += fmt.Sprintf("\tvalue%d = compute(%d, %d) // something else to look at\n", line, i, line)
		}
		if i%100 == 50 {
			name, text = fmt.Sprintf("file%d_%s.go", i, needle), text+"\t"+needle+"()\n"
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
