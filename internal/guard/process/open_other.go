//go:build !linux

package process

import (
	"errors"
	"io"
	"runtime"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// open hashes path. On these systems a file cannot be executed through its descriptor: package process
// hashes it again and runs it by its name, which leaves a moment in which another file can take its
// place.
func (m *Image) open(path string, algs []digest.Algorithm) error {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return withoutPath(err)
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
		m.id = idOf(file)
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

// descriptorsAreNames says that nothing is executed through its descriptor.
const descriptorsAreNames = true
