package hashfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/hallmark-mcp/hallmark/hashline"
)

// openTries is how often a file may be replaced while it is opened.
const openTries = 10

// open opens the regular file at a place: without blocking, without following a link, and
// such that the name stood for the file itself when it had been opened.
func (p *place) open(flag int) (*os.File, fs.FileInfo, error) {
	for range openTries {
		if p.info == nil {
			return nil, nil, refuse(notFound, "%s does not exist", show(p.asked))
		}
		if !p.info.Mode().IsRegular() {
			return nil, nil, refuse(notAFile, "%s is %s, not a regular file", show(p.asked), kindOf(p.info.Mode()))
		}
		f, err := p.parent().OpenFile(p.name, flag|nonblock, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, asProblem(p.asked, err)
		}
		var opened fs.FileInfo
		if err == nil {
			if opened, err = f.Stat(); err != nil {
				f.Close()
				return nil, nil, asProblem(p.asked, err)
			}
		}
		if p.info, err = p.parent().Lstat(p.name); err != nil {
			p.info = nil
		}
		if opened == nil {
			continue
		}
		if p.info != nil && os.SameFile(p.info, opened) && opened.Mode().IsRegular() {
			return f, opened, nil
		}
		f.Close()
	}
	return nil, nil, refuse(ioError, "%s was replaced again and again while it was opened; try again", show(p.asked))
}

// kindOf names what is no regular file.
func kindOf(m fs.FileMode) string {
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

// readAll reads an open file of at most limit bytes.
func readAll(f *os.File, info fs.FileInfo, asked string, limit int64) ([]byte, error) {
	if info.Size() > limit {
		return nil, tooLarge(asked, info.Size(), limit)
	}
	if info.Size() > maxSnapshot {
		runtime.GC() // what an earlier call held has the size that is needed now
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, tooLarge(asked, int64(len(data)), limit)
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, asProblem(asked, err)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

func tooLarge(asked string, size, limit int64) *problem {
	return refuse(hashline.TooLarge, "%s has %d bytes; the server's limit is %d (--max-file)", show(asked), size, limit)
}

// contents reads the file at a place.
func (s *Server) contents(p *place) ([]byte, fs.FileInfo, error) {
	f, info, err := p.open(os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := readAll(f, info, p.asked, s.c.MaxFile)
	return data, info, err
}
