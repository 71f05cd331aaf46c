package hashfile

import (
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// chunkSize is how much is read at once, in bytes.
const chunkSize = 128 << 10

// chunk returns a buffer of chunkSize bytes; release takes it back, also one that has grown.
func (s *Server) chunk() []byte {
	if b, ok := s.chunks.Get().(*[]byte); ok {
		return (*b)[:chunkSize]
	}
	return make([]byte, chunkSize)
}

func (s *Server) release(b []byte) {
	if cap(b) >= chunkSize && cap(b) <= 8*chunkSize {
		s.chunks.Put(&b)
	}
}

// largeFile is the size, in bytes, from which the memory of earlier calls is collected before a file is
// read. A file is read and hashed in pieces of at most this size.
const largeFile = 4 << 20

// collectGarbage frees the memory of earlier calls before a call takes size bytes, if that is much.
func collectGarbage(size int64) {
	if size > largeFile {
		runtime.GC()
	}
}

// readAndHash reads the open file of a place, of at most Config.MaxFile bytes, and hashes it. If the file
// has not changed since its latest snapshot, it returns the bytes of that, so that a file takes its
// memory once. The caller must not change data.
func (s *Server) readAndHash(p *place.Place, f *os.File, info fs.FileInfo) (data []byte, hash digest.Digest, err error) {
	size := info.Size()
	if size > s.c.MaxFile {
		return nil, hash, refusal.TooLarge(p.Asked, size, s.c.MaxFile)
	}
	if hash, known, ok := s.snapshots.latest(keyOf(p)); ok && int64(len(known)) == size {
		chunk := s.chunk()
		same, err := hasBytes(f, known, chunk)
		s.release(chunk)
		if err != nil {
			return nil, hash, refusal.Of(p.Asked, err)
		}
		if same {
			return known, hash, nil
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, hash, refusal.Of(p.Asked, err)
		}
	}
	collectGarbage(size)
	data = make([]byte, 0, size+1)
	h := newHashing()
	defer func() { hash = h.sum() }()
	for {
		n, err := f.Read(data[len(data):min(cap(data), len(data)+largeFile)])
		h.add(data[len(data) : len(data)+n])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > s.c.MaxFile:
			return nil, hash, refusal.TooLarge(p.Asked, int64(len(data)), s.c.MaxFile)
		case err == io.EOF:
			return data, hash, nil
		case err != nil:
			return nil, hash, refusal.Of(p.Asked, err)
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// hashing hashes what is read while more is read.
type hashing struct {
	parts chan []byte
	done  chan digest.Digest
}

func newHashing() *hashing {
	h := &hashing{make(chan []byte, 16), make(chan digest.Digest, 1)}
	go func() {
		hasher := digest.NewHasher()
		for part := range h.parts {
			hasher.Write(part)
		}
		h.done <- hasher.Digest(digest.SHA256)
	}()
	return h
}

// add hashes a part, which must not change any more.
func (h *hashing) add(part []byte) { h.parts <- part }

// sum ends the hashing and returns the digest of all parts.
func (h *hashing) sum() digest.Digest {
	close(h.parts)
	return <-h.done
}

// contents is the file at a place.
type contents struct {
	data []byte // changed by nobody
	hash digest.Digest
	info fs.FileInfo
}

func (s *Server) readContents(p *place.Place) (c contents, err error) {
	f, info, err := p.Open(os.O_RDONLY)
	if err != nil {
		return c, err
	}
	defer f.Close()
	c.info = info
	c.data, c.hash, err = s.readAndHash(p, f, info)
	return c, err
}
