package place

import (
	"errors"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/internal/durable"
)

// maxOpens is how often a file may be replaced while it is opened, before that is an error.
const maxOpens = 10

// Open opens the regular file at a place without blocking and without following a link, and checks afterwards that the
// name stands for the open file.
func (p *Place) Open(flag int) (*os.File, fs.FileInfo, error) {
	for range maxOpens {
		if p.Info == nil {
			return nil, nil, p.RefuseMissing()
		}
		if !p.Info.Mode().IsRegular() {
			return nil, nil, p.refuseKind()
		}
		f, err := p.Parent().OpenFile(p.Name, flag|durable.NoWait, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, RefusalOf(p.Asked, err)
		}
		var opened fs.FileInfo
		if err == nil {
			if opened, err = f.Stat(); err != nil {
				f.Close()
				return nil, nil, RefusalOf(p.Asked, err)
			}
		}
		if p.Info, err = p.Parent().Lstat(p.Name); err != nil {
			p.Info = nil
		}
		if opened == nil {
			continue
		}
		if p.Info != nil && os.SameFile(p.Info, opened) && opened.Mode().IsRegular() {
			return f, opened, nil
		}
		f.Close()
	}
	return nil, nil,
		Refuse(IO, "%s was replaced again and again while it was opened; try again", Show(p.Asked))
}

// refuseKind refuses to open what is not a regular file.
func (p *Place) refuseKind() *Refusal {
	if p.Info.IsDir() {
		return Refuse(NotAFile, "%s is a directory; list_directory shows what it holds",
			Show(p.Asked))
	}
	return Refuse(NotAFile, "%s is %s, not a regular file, and is not opened", Show(p.Asked),
		Kind(p.Info.Mode()))
}

// Kind names the kind of a file, with its article.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m.IsRegular():
		return "a file"
	}
	return "something special"
}
