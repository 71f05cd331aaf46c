//go:build !linux

package guard

import (
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
)

// open hashes path. On these systems a file cannot be executed through its
// descriptor: start hashes it again and runs it by name, which leaves a moment in
// which another file can take its place.
func (m *Image) open(path string) error {
	file, err := os.Open(path)
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
	var (
		sum digest.Digest
		n   int64
	)
	if err == nil {
		sum, n, err = digest.FromReader(file)
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
	m.observed = evidence.Observed{Digests: []digest.Digest{sum}, Size: n, From: path}
	return nil
}

// again refuses a file whose bytes are no longer those of m.
func (m *Image) again() error {
	file, err := os.Open(m.Path())
	if err != nil {
		return bare(err)
	}
	defer file.Close()
	sum, _, err := digest.FromReader(file)
	if err != nil {
		return err
	}
	e := evidence.Compare(
		evidence.Claim{Subject: m.Path(), Scheme: evidence.File, Want: m.observed.Digests},
		evidence.Observed{Digests: []digest.Digest{sum}})
	if e.Outcome != evidence.Match {
		return errors.New("the file changed after it was verified")
	}
	return nil
}

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
	process, err := os.StartProcess(run.Path(), argv, &os.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: []*os.File{childIn, childOut, c.Stderr}, Sys: processGroup(),
	})
	childIn.Close()
	childOut.Close()
	stdin, stdout := newSink(in, true), newSource(out, true)
	if err != nil {
		stdin.close()
		stdout.close()
		return nil, err
	}
	p := &Process{name: c.Name, process: process, stdin: stdin, stdout: stdout, exited: make(chan struct{})}
	go p.wait()
	return p, nil
}
