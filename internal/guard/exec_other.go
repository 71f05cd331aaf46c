//go:build !linux

package guard

import (
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/beneath"
	"github.com/hallmark-mcp/hallmark/internal/descend"
)

// open hashes path. On these systems a file cannot be executed through its
// descriptor: start hashes it again and runs it by name, which leaves a moment in
// which another file can take its place.
func (m *Image) open(path string, algs []digest.Algorithm) error {
	file, err := beneath.Open(path)
	if err != nil {
		return bare(err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		err = errors.New("not executable")
	}
	if err == nil {
		err = m.hash(io.NewSectionReader(file, 0, 1<<62), path, algs)
	}
	if err == nil {
		head := make([]byte, maxShebang)
		k, rerr := file.ReadAt(head, 0)
		if rerr != nil && rerr != io.EOF {
			err = rerr
		} else {
			m.shebang, err = parseShebang(string(head[:k]))
		}
	}
	if err != nil {
		file.Close()
		return err
	}
	m.file = file
	return nil
}

// descriptorsAreNames: nothing is executed through its descriptor.
const descriptorsAreNames = true

func start(c Command) (*Process, error) {
	argv, run := c.Args, c.Exe
	if c.Interpreter != nil {
		if err := c.Interpreter.again(); err != nil {
			return nil, err
		}
		run = c.Interpreter
		argv = append([]string{c.Interpreter.Chain[0]}, c.Exe.shebang[1:]...)
		argv = append(argv, c.Exe.Path())
		argv = append(argv, c.Args[1:]...)
	}
	if err := c.Exe.again(); err != nil {
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
	process, family, err := descend.StartProcess(run.Path(), argv, &os.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: []*os.File{childIn, childOut, c.Stderr},
	})
	childIn.Close()
	childOut.Close()
	stdin, stdout := newSink(in, true), newSource(out, true)
	if err != nil {
		stdin.close()
		stdout.close()
		return nil, err
	}
	p := &Process{name: c.Name, process: process, family: family, stdin: stdin, stdout: stdout,
		exited: make(chan struct{})}
	go p.wait()
	return p, nil
}
