// Echo is the smallest MCP server that can be measured, and a byte pump:
//
//	echo SIZE                        serve one tool, whose result has SIZE bytes of text
//	echo pump PROGRAM [ARGUMENT...]  pass bytes on between this process and PROGRAM
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "pump" {
		pump(os.Args[2], os.Args[3:])
		return
	}
	size, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(2)
	}
	serve(strings.Repeat("x", size))
}

// pump is what any relay does at least: it reads and writes, and parses nothing.
func pump(program string, args []string) {
	cmd := exec.Command(program, args...)
	childIn, in, err1 := os.Pipe()
	out, childOut, err2 := os.Pipe()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, os.Stderr
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		os.Exit(1)
	}
	childIn.Close()
	childOut.Close()
	for _, f := range []*os.File{in, out, os.Stdin, os.Stdout} {
		f.Fd() // blocking calls, without the runtime's poller
	}
	move := func(from, to *os.File) {
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				to.Write(buf[:n])
			}
			if err != nil {
				to.Close()
				return
			}
		}
	}
	go move(os.Stdin, in)
	move(out, os.Stdout)
	cmd.Wait()
}

func serve(payload string) {
	os.Stdin.Fd()
	os.Stdout.Fd()
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, rest, _ := bytes.Cut(line, []byte(`"id":`))
		id, _, _ := bytes.Cut(rest, []byte(","))
		switch {
		case len(id) == 0:
		case bytes.Contains(line, []byte(`"tools/call"`)):
			answer(id, `{"content":[{"type":"text","text":"`+payload+`"}]}`)
		case bytes.Contains(line, []byte(`"initialize"`)):
			answer(id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo",`+
				`"version":"1"}}`)
		default:
			answer(id, `{"tools":[{"name":"echo","description":"Says something.","inputSchema":{"type":"object"}}]}`)
		}
	}
}

func answer(id []byte, result string) {
	io.WriteString(os.Stdout, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":`+result+"}\n")
}
