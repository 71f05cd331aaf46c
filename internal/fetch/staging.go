package fetch

import (
	"io"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
)

// stagingFile is what a download needs of an [os.File]; tests have others.
type stagingFile interface {
	io.Writer
	io.Seeker
	io.Closer
	Name() string
	Truncate(size int64) error
}

// createTemp makes a staging file in dir.
func createTemp(dir string) (stagingFile, error) {
	f, err := os.CreateTemp(dir, "hallmark-*") // mode 0600
	if err != nil {
		return nil, err
	}
	return f, nil
}

// fileSink is the [transfer.Sink] that writes to a file and hashes what it writes.
type fileSink struct {
	file   stagingFile
	algs   []digest.Algorithm
	hasher *digest.Hasher
}

func (s *fileSink) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	s.hasher.Write(p[:n])
	return n, err
}

func (s *fileSink) Reset() error {
	s.hasher = digest.NewHasher(s.algs...)
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return s.file.Truncate(0)
}
