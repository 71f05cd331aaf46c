package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
)

// editor is an editing server under measurement: a process that is talked to over MCP on
// standard input and output, as any client would.
type editor struct {
	name  string
	argv  []string
	root  string // the directory that it may use
	home  string // where ours keeps its locks
	roots bool   // it is told the root when it asks, and not by argv
	tools dialect

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// start starts the server, and returns when it has answered its first request.
func (e *editor) start(ctx context.Context) (err error) {
	e.cmd = exec.CommandContext(ctx, e.argv[0], e.argv[1:]...)
	e.cmd.Dir = e.root
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
		return fmt.Errorf("start %s: %w", e.name, err)
	}
	capabilities := "{}"
	if e.roots {
		capabilities = `{"roots":{}}`
	}
	if _, err := e.ask("initialize", fmt.Sprintf(
		`{"protocolVersion":"2025-06-18","capabilities":%s,"clientInfo":{"name":"bench","version":"1"}}`,
		capabilities)); err != nil {
		return fmt.Errorf("greet %s: %w", e.name, err)
	}
	return e.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (e *editor) stop() {
	e.in.Close()
	e.cmd.Process.Kill()
	e.cmd.Wait()
}

// memory is the most memory that the server has held, in MiB.
func (e *editor) memory() float64 { return (&process{cmd: e.cmd}).memory() }

func (e *editor) send(line string) error {
	_, err := fmt.Fprintln(e.in, line)
	return err
}

// keptOfLine is how much of an answer is kept: looking into all of a large one takes longer
// than what is measured.
const keptOfLine = 1 << 20

// ask returns the beginning of the line that answers a request.
func (e *editor) ask(method, params string) ([]byte, error) {
	e.id++
	if err := e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.id, method,
		params)); err != nil {
		return nil, err
	}
	return e.answer()
}

// answer reads lines up to one that answers a request, and serves those that ask for roots.
func (e *editor) answer() ([]byte, error) {
	for {
		line, err := e.line()
		if err != nil {
			return nil, fmt.Errorf("%s has ended: %w", e.name, err)
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if len(line) == keptOfLine || json.Unmarshal(line, &m) != nil || m.Method == "" {
			return line, nil
		}
		if m.Method == "roots/list" {
			uri := url.URL{Scheme: "file", Path: e.root}
			if err := e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q}]}}`, m.ID,
				uri.String())); err != nil {
				return nil, err
			}
		}
	}
}

// line reads a line, of which it keeps the beginning.
func (e *editor) line() ([]byte, error) {
	var line []byte
	for {
		part, err := e.out.ReadSlice('\n')
		line = append(line, part[:min(len(part), keptOfLine-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// call calls a tool with arguments that become JSON, and returns the line of its answer. A
// tool that fails is an error.
func (e *editor) call(tool string, arguments any) ([]byte, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	line, err := e.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, text))
	if err == nil && refusedLine(line) {
		err = fmt.Errorf("%s of %s: %.300s", tool, e.name, line)
	}
	return line, err
}

// refusedLine reports whether an answer is an error, in the words of any of the servers.
func refusedLine(line []byte) bool {
	text := string(line[:min(len(line), 4096)])
	return strings.Contains(string(line), `"isError":true`) || strings.Contains(text, `"error":{`) ||
		strings.Contains(text, `"text":"Error`)
}

// try calls a tool, and returns the text of its answer and whether that is a refusal.
func (e *editor) try(tool string, arguments any) (text string, refused bool, err error) {
	given, err := json.Marshal(arguments)
	if err != nil {
		return "", false, err
	}
	line, err := e.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, given))
	if err != nil {
		return "", false, err
	}
	text, err = textOf(line)
	return text, refusedLine(line), err
}

// textOf returns the text of an answer: its result's, or its error's message.
func textOf(line []byte) (string, error) {
	var m struct {
		Result struct{ Content []struct{ Text string } }
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return "", fmt.Errorf("an answer of %d bytes: %w", len(line), err)
	}
	if m.Error != nil {
		return m.Error.Message, nil
	}
	var b strings.Builder
	for _, c := range m.Result.Content {
		b.WriteString(c.Text)
	}
	return b.String(), nil
}
