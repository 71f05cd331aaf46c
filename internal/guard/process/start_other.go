//go:build !linux

package process

import (
	"os"
	"slices"

	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// start hashes what c runs once more, and runs it by its name as the first process of a family.
func start(c Command) (*Process, error) {
	argv, run := c.Args, c.Exe
	if c.Interpreter != nil {
		if err := c.Interpreter.CheckUnchanged(); err != nil {
			return nil, err
		}
		run = c.Interpreter
		_, words, _ := c.Exe.Interpreter()
		argv = slices.Concat([]string{c.Interpreter.Chain[0]}, c.Words, words)
		argv = append(argv, c.Exe.Path())
		argv = append(argv, c.Args[1:]...)
	}
	if err := c.Exe.CheckUnchanged(); err != nil {
		return nil, err
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		in.Close()
		return nil, err
	}
	process, family, err := foreign.StartProcess(run.Path(), argv, &os.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: []*os.File{childIn, childOut, c.Stderr},
	})
	childIn.Close()
	childOut.Close()
	stdin, stdout := NewSink(in, true), NewSource(out, true)
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
