// Client is an MCP client for tests that speaks the protocol by hand:
//
//	client [-call NAME[=JSON]]... [-caps JSON] PROGRAM [ARGUMENT...]
//
// It initializes, lists the tools, calls what it is told to, closes the program's
// standard input and ends with its exit code. It prints, each on lines of their own,
//
//	instructions TEXT
//	tool NAME: DESCRIPTION
//	call NAME: TEXT
//	call NAME: error CODE: MESSAGE
//	asked METHOD                      for a request of the server, which gets no answer
//
// To standard error it says if the program goes on for as long as 'hallmark run' lets a
// server, before it ends it with SIGTERM: code 143 is then that of a server which is slow,
// or which does not end by itself.
//
// Each line that the program prints must be JSON. The exit code is 99 if it is not, or if
// there is no end to it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// grace is how long the guard lets a server go on after its input was closed.
const grace = 5 * time.Second

func main() {
	var calls []string
	caps := "{}"
	args := os.Args[1:]
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-call":
			calls = append(calls, args[1])
		case "-caps":
			caps = args[1]
		default:
			die(fmt.Errorf("unknown flag %s", args[0]))
		}
		args = args[2:]
	}
	if len(args) == 0 {
		die(errors.New("no program"))
	}
	time.AfterFunc(2*time.Minute, func() { die(errors.New("no end after two minutes")) })
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	check(err)
	stdout, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	s := &session{in: stdin, out: bufio.NewReader(stdout)}
	var closed time.Time
	if s.converse(caps, calls) {
		closed = time.Now()
		check(stdin.Close())
	}
	rest, err := io.ReadAll(s.out)
	check(err)
	if len(strings.TrimSpace(string(rest))) > 0 {
		fmt.Printf("more %s\n", rest)
	}
	err = cmd.Wait()
	if !closed.IsZero() && time.Since(closed) >= grace {
		fmt.Fprintln(os.Stderr, "client: the program went on after its input was closed")
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	check(err)
}

func die(err error) {
	fmt.Fprintln(os.Stderr, "client:", err)
	os.Exit(99)
}

func check(err error) {
	if err != nil {
		die(err)
	}
}

type session struct {
	in  io.Writer
	out *bufio.Reader
	id  int
}

type answer struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// ask sends a request and waits for its answer. ok is false if the program ended.
func (s *session) ask(method, params string) (a answer, ok bool) {
	s.id++
	id := fmt.Sprint(s.id)
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return a, false
		}
		a = answer{}
		if err := json.Unmarshal(line, &a); err != nil {
			die(fmt.Errorf("the program says %q: %w", line, err))
		}
		if string(a.ID) == id {
			return a, true
		}
		if a.ID != nil && a.Method != "" {
			fmt.Printf("asked %s\n", a.Method)
		}
	}
}

func (s *session) converse(caps string, calls []string) bool {
	a, ok := s.ask("initialize",
		`{"protocolVersion":"2025-06-18","capabilities":`+caps+`,"clientInfo":{"name":"client","version":"1"}}`)
	if !ok {
		return false
	}
	if a.Error != nil { // it does not start
		fmt.Fprintf(os.Stderr, "initialize: error %d: %s\n", a.Error.Code, a.Error.Message)
		return false
	}
	var hello struct{ Instructions string }
	check(json.Unmarshal(a.Result, &hello))
	if hello.Instructions != "" {
		fmt.Printf("instructions %s\n", hello.Instructions)
	}
	fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if a, ok = s.ask("tools/list", `{}`); !ok {
		return false
	}
	if a.Error != nil {
		fmt.Printf("tools/list: error %d: %s\n", a.Error.Code, a.Error.Message)
	}
	var list struct {
		Tools []struct{ Name, Description string }
	}
	if a.Result != nil {
		check(json.Unmarshal(a.Result, &list))
	}
	for _, t := range list.Tools {
		fmt.Printf("tool %s: %s\n", t.Name, t.Description)
	}
	for _, call := range calls {
		name, params, found := strings.Cut(call, "=")
		if !found {
			params = "{}"
		}
		a, ok := s.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, params))
		if !ok {
			fmt.Printf("call %s: the program ended\n", name)
			return false
		}
		if a.Error != nil {
			fmt.Printf("call %s: error %d: %s\n", name, a.Error.Code, a.Error.Message)
			continue
		}
		var result struct{ Content []struct{ Text string } }
		check(json.Unmarshal(a.Result, &result))
		for _, c := range result.Content {
			fmt.Printf("call %s: %s\n", name, c.Text)
		}
	}
	return true
}
