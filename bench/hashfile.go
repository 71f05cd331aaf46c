package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// referenceServer is the reference filesystem server, which npm installs.
const referenceServer = "@modelcontextprotocol/server-filesystem@2026.8.31"

// benchHashfile is P11: read and one-line edit of files over MCP, and the start, against
// the reference filesystem server. An edit is reading one line and editing it. Ours
// syncs what it writes.
func benchHashfile(ctx context.Context, o options, t *table) error {
	dir, err := os.MkdirTemp("", "hallmark-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	ours := filepath.Join(dir, "hashfile-mcp")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", ours, "./cmd/hashfile-mcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	install := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
		dir, referenceServer)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	servers := []*editor{
		{argv: []string{ours, "--root", root}, home: dir, one: hashfileLine, edit: hashfileEdit},
		{argv: []string{"node",
			filepath.Join(dir, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), root}, home: dir,
			one: referenceLine, edit: referenceEdit},
	}
	figures := func(f func(*editor) (time.Duration, error)) (ours, reference float64, err error) {
		var all [2][]float64
		for range o.rounds {
			for i, s := range servers {
				d, err := f(s)
				if err != nil {
					return 0, 0, err
				}
				all[i] = append(all[i], float64(d.Microseconds())/1000)
			}
		}
		return median(all[0]), median(all[1]), nil
	}
	add := func(what, unit, target string, ours, reference float64, faster bool) {
		ratio := reference / ours
		if !faster {
			ratio = ours / reference
		}
		t.add("P11 "+what, fmt.Sprintf("%.1f %s", ours, unit), fmt.Sprintf("%.1f %s", reference, unit),
			fmt.Sprintf("%.1f", ratio), target)
	}
	a, b, err := figures(func(e *editor) (time.Duration, error) {
		began := time.Now()
		err := e.start(ctx)
		d := time.Since(began)
		e.stop()
		return d, err
	})
	if err != nil {
		return err
	}
	add("start", "ms", "≥ 20", a, b, true)
	for _, size := range []int{100 << 10, 10 << 20, 60 << 20} {
		path := filepath.Join(root, "file")
		var text strings.Builder
		for i := 0; text.Len() < size; i++ {
			fmt.Fprintf(&text, "    value_%d = compute(input[%d], \"name %d\"); // comment %d\n", i, i, i, i)
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			return err
		}
		name := fmt.Sprintf("%d KB", size>>10)
		if size >= 1<<20 {
			name = fmt.Sprintf("%d MB", size>>20)
		}
		for _, s := range servers {
			if err := s.start(ctx); err != nil {
				return err
			}
		}
		a, b, err := figures(func(e *editor) (time.Duration, error) {
			began := time.Now()
			_, err := e.call("read_text_file", map[string]any{"path": path, "max_bytes": 64 << 20}, e == servers[1])
			return time.Since(began), err
		})
		if err != nil {
			return err
		}
		add("read "+name, "ms", "≥ 5", a, b, true)
		a, b, err = figures(func(e *editor) (time.Duration, error) {
			began := time.Now()
			line, err := e.one(e, path)
			if err == nil {
				err = e.edit(e, path, line)
			}
			return time.Since(began), err
		})
		if err != nil {
			return err
		}
		add("edit "+name, "ms", "≥ 5", a, b, true)
		for i, s := range servers {
			m := (&process{cmd: s.cmd}).memory()
			if i == 0 && size >= 10<<20 {
				add("memory, times the file "+name, "", "≤ 3", m/float64(size>>20), 1, false)
			}
			s.stop()
		}
	}
	return nil
}

// editor is a server under measurement and how it is used.
type editor struct {
	argv []string
	home string
	one  func(*editor, string) (json.RawMessage, error) // reads line 1
	edit func(*editor, string, json.RawMessage) error

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// start starts the server, and returns when it has answered its first request.
func (e *editor) start(ctx context.Context) (err error) {
	e.cmd = exec.CommandContext(ctx, e.argv[0], e.argv[1:]...)
	e.cmd.Env = append(os.Environ(), "HALLMARK_HOME="+e.home)
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	e.out = bufio.NewReaderSize(out, 1<<20)
	if err := e.cmd.Start(); err != nil {
		return err
	}
	if _, err := e.ask("initialize",
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return err
}

func (e *editor) stop() {
	e.in.Close()
	e.cmd.Process.Kill()
	e.cmd.Wait()
}

// ask returns the line of the answer, which is not looked into: that takes longer than
// what is measured.
func (e *editor) ask(method, params string) ([]byte, error) {
	e.id++
	if _, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", e.id, method,
		params); err != nil {
		return nil, err
	}
	var line []byte
	for {
		part, err := e.out.ReadSlice('\n')
		if len(line) < 1<<20 {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (e *editor) call(tool string, args map[string]any, reference bool) ([]byte, error) {
	if reference {
		delete(args, "max_bytes")
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	line, err := e.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, text))
	if err == nil && strings.Contains(string(line[:min(len(line), 1<<20)]), `"isError":true`) {
		err = fmt.Errorf("%s: %.300s", tool, line)
	}
	return line, err
}

type benchReply struct {
	Result struct {
		Content           []struct{ Text string }
		StructuredContent struct {
			FileHash string `json:"file_hash"`
		}
	}
}

func hashfileLine(e *editor, path string) (json.RawMessage, error) {
	return e.call("read_text_file", map[string]any{"path": path, "start_line": 1, "end_line": 1}, false)
}

func hashfileEdit(e *editor, path string, line json.RawMessage) error {
	var r benchReply
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	_, tagged, _ := strings.Cut(r.Result.Content[0].Text, "\n")
	anchor, _, _ := strings.Cut(tagged, "|")
	_, err := e.call("edit_text_file", map[string]any{"path": path, "file_hash": r.Result.StructuredContent.FileHash,
		"operations": []map[string]any{{"op": "replace", "anchor": anchor, "content": fmt.Sprintf("edit %d", e.id)}}},
		false)
	return err
}

func referenceLine(e *editor, path string) (json.RawMessage, error) {
	return e.call("read_text_file", map[string]any{"path": path, "head": 1}, true)
}

func referenceEdit(e *editor, path string, line json.RawMessage) error {
	var r benchReply
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	old, _, _ := strings.Cut(r.Result.Content[0].Text, "\n")
	_, err := e.call("edit_file",
		map[string]any{"path": path,
			"edits": []map[string]any{{"oldText": old + "\n", "newText": fmt.Sprintf("edit %d\n", e.id)}}}, true)
	return err
}
