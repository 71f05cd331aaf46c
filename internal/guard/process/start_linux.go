package process

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// start runs c as the first process of a family, from its open file.
func start(c Command) (*Process, error) {
	argv, run, files := c.Args, c.Exe, []*os.File{nil, nil, c.Stderr}
	if c.Interpreter != nil {
		run = c.Interpreter
		_, words, _ := c.Exe.Interpreter()
		argv = slices.Concat([]string{c.Interpreter.Chain[0]}, c.Words, words)
		if c.Exe.ByName(c.Interpreter) {
			if err := c.Exe.CheckUnchanged(); err != nil {
				return nil, err
			}
			argv = append(argv, c.Exe.Path())
		} else {
			argv = append(argv, "/dev/fd/"+strconv.Itoa(len(files)))
			files = append(files, c.Exe.File())
		}
		argv = append(argv, c.Args[1:]...)
	}
	var in, out [2]int // of the child: it reads in[0] and writes out[1]
	if err := unix.Pipe2(in[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe to the server: %w", err)
	}
	if err := unix.Pipe2(out[:], unix.O_CLOEXEC); err != nil {
		unix.Close(in[0])
		unix.Close(in[1])
		return nil, fmt.Errorf("make a pipe from the server: %w", err)
	}
	childIn, childOut := os.NewFile(uintptr(in[0]), "stdin"), os.NewFile(uintptr(out[1]), "stdout")
	files[0], files[1] = childIn, childOut
	process, family, err := foreign.StartFile(run.File(), argv, &os.ProcAttr{Dir: c.Dir, Env: c.Env, Files: files})
	childIn.Close()
	childOut.Close()
	stdin, stdout := NewSink(os.NewFile(uintptr(in[1]), "stdin"), true), NewSource(os.NewFile(uintptr(out[0]),
		"stdout"), true)
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	p := &Process{name: c.Name, process: process, family: family, Stdin: stdin, Stdout: stdout,
		exited: make(chan struct{})}
	go p.wait()
	return p, nil
}
