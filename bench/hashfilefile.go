package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// measureFile measures reads and edits of a file of size bytes.
func (b *editBench) measureFile(size int) error {
	path := filepath.Join(b.dir, "file.js")
	lines, err := writeLines(path, size)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d KB", size>>10)
	if size >= 1<<20 {
		name = fmt.Sprintf("%d MB", size>>20)
	}
	if err := b.compare("read "+name, "≥ 5×, –", func(e *editor) (time.Duration, error) {
		return timed(func() error { return e.readWhole(path) })
	}); err != nil {
		return err
	}
	for _, at := range []struct {
		name string
		line int
	}{{"first", 1}, {"middle", lines / 2}, {"last", lines}} {
		if err := b.measureLine(path, name+", the "+at.name+" line", at.line, lines); err != nil {
			return err
		}
	}
	if err := b.compare("read one line and edit it, "+name, "≥ 5×, ≥ 1×", func(e *editor) (time.Duration, error) {
		return timed(func() error { return e.editFirst(path) })
	}); err != nil {
		return err
	}
	b.addMemory("times the file of "+name, size)
	if size < 1<<20 {
		return nil
	}
	return b.measureCancel("reading "+name, "read_text_file", map[string]any{"path": path, "max_bytes": 64 << 20})
}

// writeLines writes a file of code of at least size bytes, and returns the number of its lines.
func writeLines(path string, size int) (lines int, err error) {
	var text strings.Builder
	for ; text.Len() < size; lines++ {
		text.WriteString(codeLine(lines) + "\n")
	}
	return lines, os.WriteFile(path, []byte(text.String()), 0o600)
}

// codeLine is line i, from 0, of a file of code.
func codeLine(i int) string {
	return fmt.Sprintf("    value_%d = compute(input[%d], \"name %d\"); // comment %d", i, i, i, i)
}

func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

func (e *editor) readWhole(path string) error {
	arguments := map[string]any{"path": path}
	if e.name == oursName {
		arguments["max_bytes"] = 64 << 20
	}
	_, err := e.call("read_text_file", arguments)
	return err
}

// measureLine measures reading one line, and compares ours with scanning the bytes before it,
// and with hashing the file as well, which a server has to do once to say what was read.
func (b *editBench) measureLine(path, what string, line, lines int) error {
	figures, plain := map[string][]float64{}, what
	var scans, hashes []float64
	for range max(b.o.rounds, 1) {
		for _, s := range b.servers {
			var bytes int
			d, err := timed(func() (err error) { bytes, err = s.readLine(path, line, lines); return err })
			if err == errCannot {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s by %s: %w", what, s.name, err)
			}
			figures[s.name] = append(figures[s.name], float64(d.Nanoseconds())/1e6)
			if bytes > 64<<10 && !strings.Contains(what, s.name) {
				what += fmt.Sprintf(" (%s reads them all)", s.name)
			}
		}
		for _, f := range []struct {
			to   *[]float64
			hash bool
		}{{&scans, false}, {&hashes, true}} {
			d, err := timed(func() error { return scanLines(path, line, f.hash) })
			if err != nil {
				return err
			}
			*f.to = append(*f.to, float64(d.Nanoseconds())/1e6)
		}
	}
	b.add("read "+what, "–", figures)
	if line == 1 {
		return nil
	}
	ours, scan, hash := median(figures[oursName]), median(scans), median(hashes)
	b.t.add(fmt.Sprintf("P11 read %s, %s, against the bytes before it", plain, b.where), milliseconds(ours),
		fmt.Sprintf("scanned once %s, with SHA-256 of the file %s", milliseconds(scan), milliseconds(hash)),
		fmt.Sprintf("%.2f×, %.2f×", ours/scan, ours/hash), "≤ 1.2×, –")
	return nil
}

// readLine reads one line. The reference can read the first and the last; the Rust server
// reads the whole file for any. It returns the size of the answer, up to what is kept of it.
func (e *editor) readLine(path string, line, lines int) (size int, err error) {
	arguments := map[string]any{"path": path, "start_line": line, "end_line": line}
	if !e.tools.anchors() {
		switch line {
		case 1:
			arguments = map[string]any{"path": path, "head": 1}
		case lines:
			arguments = map[string]any{"path": path, "tail": 1}
		default:
			return 0, errCannot
		}
	}
	answer, err := e.call("read_text_file", arguments)
	return len(answer), err
}

// scanLines reads a file up to a line and looks for line feeds, or reads all of it and hashes
// it as well.
func scanLines(path string, line int, hash bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := make([]byte, 256<<10)
	sum := sha256.New()
	for feeds := 0; ; {
		n, err := f.Read(buffer)
		if hash {
			sum.Write(buffer[:n])
		}
		for rest := buffer[:n]; feeds < line; feeds++ {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			rest = rest[i+1:]
		}
		if err == io.EOF || feeds >= line && !hash {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// editFirst reads the first line and replaces it.
func (e *editor) editFirst(path string) error {
	arguments := e.tools.window(path, 1, 1)
	if !e.tools.anchors() {
		arguments["head"] = 1
	}
	line, err := e.call("read_text_file", arguments)
	if err != nil {
		return err
	}
	given := e.tools.shown(textOfStart(line))
	return e.editLine(path, given.hash, given.lines[1], given.anchor(1), 1)
}

// editLine replaces a line that was shown.
func (e *editor) editLine(path, hash, old, anchor string, n int) error {
	content := fmt.Sprintf("    value_%d = edited(%d);", n, e.id)
	tool, arguments := e.tools.edit(path, hash, []sent{{op: "replace", anchor: anchor, content: &content}},
		[]replacement{{OldText: old + "\n", NewText: content + "\n"}})
	_, err := e.call(tool, arguments)
	return err
}

// textOfStart returns the text of an answer of which only the beginning may have been kept.
func textOfStart(line []byte) string {
	text, err := textOf(line)
	if err == nil {
		return text
	}
	const most = 4096 // bytes that hold the header and the first line
	_, rest, _ := bytes.Cut(line, []byte(`"text":"`))
	rest = rest[:min(len(rest), most)]
	for len(rest) > 0 { // up to a whole escape
		if json.Unmarshal([]byte(`"`+string(rest)+`"`), &text) == nil {
			break
		}
		rest = rest[:len(rest)-1]
	}
	return text
}

// addMemory adds the most memory that each server has held, as a multiple of a file of size
// bytes, or in MiB if size is 0. Of small files it says nothing.
func (b *editBench) addMemory(what string, size int) {
	if size > 0 && size < 1<<20 {
		return
	}
	var figures []string
	for _, s := range b.servers {
		figure := fmt.Sprintf("%.0f MiB", s.memory())
		if size > 0 {
			figure = fmt.Sprintf("%.1f×", s.memory()/float64(size>>20))
		}
		if s.name != oursName {
			figure = s.name + " " + figure
		}
		figures = append(figures, figure)
	}
	target := "–"
	if size > 0 {
		target = "≤ 3×"
	}
	b.t.add(fmt.Sprintf("P11 memory, %s, %s", what, b.where), figures[0], strings.Join(figures[1:], ", "), "–", target)
}
