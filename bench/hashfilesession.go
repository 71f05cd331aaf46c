package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// sessionEdits is how many edits one session makes.
const sessionEdits = 1000

// measureSession makes many edits of one file, and tells how long each took and how much
// memory the server held after them. A server whose answer to an edit does not give the new
// hash is asked to read a line before the next one.
func (b *editBench) measureSession() error {
	figures := map[string][]float64{}
	memory := ""
	for _, s := range b.servers {
		path := filepath.Join(b.dir, "session.js")
		lines, err := writeLines(path, 100<<10)
		if err != nil {
			return err
		}
		d, err := timed(func() error { return s.editOften(path, lines) })
		if err != nil {
			return fmt.Errorf("%d edits by %s: %w", sessionEdits, s.name, err)
		}
		figures[s.name] = []float64{float64(d.Nanoseconds()) / 1e6}
		memory += fmt.Sprintf("; %s %s an edit, %.0f MiB", s.name,
			milliseconds(float64(d.Nanoseconds())/1e6/sessionEdits), s.memory())
	}
	b.add(fmt.Sprintf("%d edits of 100 KB in one session%s", sessionEdits, memory), "–, ≥ 1×", figures)
	return nil
}

// editOften replaces lines from all over a file.
func (e *editor) editOften(path string, lines int) error {
	now := make([]string, lines+1) // what was put in place of the first content
	var hash string
	for i := range sessionEdits {
		n := 1 + i*37%lines
		if hash == "" && e.tools.anchors() {
			line, err := e.call("read_text_file", e.tools.window(path, n, n))
			if err != nil {
				return err
			}
			hash = e.tools.shown(textOfStart(line)).hash
		}
		if now[n] == "" {
			now[n] = fmt.Sprintf("    value_%d = compute(input[%d], \"name %d\"); // comment %d", n-1, n-1, n-1, n-1)
		}
		content := fmt.Sprintf("    value_%d = edited(%d);", n, i)
		tool, arguments := e.tools.edit(path, hash,
			[]sent{{op: "replace", anchor: fmt.Sprintf("%d:%s", n, (text{lines: now[n : n+1]}).tag(1)), content: &content}},
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

// searchFiles is how many files are searched.
const searchFiles = 20_000

// needle is in one of a hundred files, and in the names of as many.
const needle = "needle_of_the_search"

// measureSearch searches files for text. The reference knows no such search: it looks for
// names, as does ours beside it. Grep is the floor.
func (b *editBench) measureSearch(ctx context.Context) error {
	dir := filepath.Join(b.dir, "tree")
	if err := writeSearched(dir); err != nil {
		return err
	}
	what := fmt.Sprintf("search of %d files (ours for text, the reference for names only)", searchFiles)
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
		b.t.add("P11 search of "+fmt.Sprint(searchFiles)+" files against grep -rn, "+b.where, milliseconds(median(ours)),
			milliseconds(median(greps)), fmt.Sprintf("%.2f×", median(greps)/median(ours)), "–")
	}
	return b.measureCancel(dir)
}

// writeSearched writes files of 2 KB, a hundred in a directory.
func writeSearched(dir string) error {
	for i := range searchFiles {
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

// measureCancel cancels searches of ours, which take long, and measures from the notification
// to the answer.
func (b *editBench) measureCancel(dir string) error {
	e := b.servers[0]
	var whole, stopped []float64
	for range max(b.o.rounds, 1) {
		arguments, err := json.Marshal(map[string]any{"path": dir, "pattern": "no such text [0-9]+ anywhere"})
		if err != nil {
			return err
		}
		params := fmt.Sprintf(`{"name":"search_files","arguments":%s}`, arguments)
		d, err := timed(func() error { _, err := e.ask("tools/call", params); return err })
		if err != nil {
			return err
		}
		whole = append(whole, float64(d.Nanoseconds())/1e6)
		e.id++
		if err := e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, e.id,
			params)); err != nil {
			return err
		}
		time.Sleep(min(d/4, 50*time.Millisecond))
		if d, err = timed(func() error { return e.cancel() }); err != nil {
			return err
		}
		stopped = append(stopped, float64(d.Nanoseconds())/1e6)
	}
	b.t.add("P11 answer to a search that was cancelled, "+b.where, milliseconds(median(stopped)),
		"the whole search "+milliseconds(median(whole)), "–", "–")
	return nil
}

// cancel cancels the latest request and waits for its answer.
func (e *editor) cancel() error {
	if err := e.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`,
		e.id)); err != nil {
		return err
	}
	_, err := e.answer()
	return err
}
