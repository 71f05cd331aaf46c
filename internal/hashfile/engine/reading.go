package engine

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// source is an open file that is read for a call: reading it fails when the call's context ends. Each read is of at
// most pieceSize bytes.
type source struct {
	ctx context.Context
	f   *os.File
}

// pieceSize is how many bytes are read, looked at and hashed at a time, so that they stay in the processor's cache.
const pieceSize = 256 << 10

// Read implements [io.Reader].
func (s source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.f.Read(p[:min(len(p), pieceSize)])
}

// readAndHash reads the open file of a place and hashes it. If the file has not changed since its latest snapshot, the
// bytes of the snapshot are returned, so that they are held in memory once. Look, unless it is nil, is called with what
// was read so far, after each piece, and its error ends the reading. The caller must not change data.
func (r *reader) readAndHash(
	ctx context.Context, p *place.Place, f *os.File, info fs.FileInfo, look func(data []byte) error,
) (data []byte, hash digest.Digest, err error) {
	if look == nil {
		look = func([]byte) error { return nil }
	}
	if info.Size() > r.maxFile {
		return nil, hash, place.RefuseTooLarge(p.Asked, info.Size(), r.maxFile)
	}
	data, hash, ok, err := r.readKnown(source{ctx, f}, p, info.Size())
	if err == nil && ok {
		err = lookAll(ctx, data, look)
	}
	if err == nil && !ok {
		data, hash, err = r.readNew(source{ctx, f}, p, info.Size(), look)
	}
	if err != nil {
		return nil, hash, refuse(p, f, err)
	}
	return data, hash, nil
}

// readKnown returns the latest snapshot of a place; ok is false, and the file at its beginning, if the file does not
// hold the same bytes.
func (r *reader) readKnown(
	src source, p *place.Place, size int64,
) (data []byte, hash digest.Digest, ok bool, err error) {
	hash, known, ok := r.snapshots.latest(keyOf(p))
	if !ok || int64(len(known)) != size {
		return nil, hash, false, nil
	}
	buf := r.chunks.take()
	same, err := hasBytes(src, known, buf)
	r.chunks.give(buf)
	if err == nil && !same {
		_, err = src.f.Seek(0, io.SeekStart)
	}
	return known, hash, same, err
}

// lookAll calls look as if data was read in pieces.
func lookAll(ctx context.Context, data []byte, look func(data []byte) error) error {
	for n := 0; n < len(data); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n = min(n+pieceSize, len(data))
		if err := look(data[:n]); err != nil {
			return err
		}
	}
	return nil
}

// readNew reads and hashes a file of about size bytes.
func (r *reader) readNew(
	src source, p *place.Place, size int64, look func(data []byte) error,
) (data []byte, hash digest.Digest, err error) {
	collectGarbage(size)
	data = make([]byte, 0, size+1)
	h := newHashing(nil)
	defer h.stop()
	for {
		n, err := src.Read(data[len(data):cap(data)])
		part := data[len(data) : len(data)+n]
		data = data[:len(data)+n]
		if int64(len(data)) > r.maxFile {
			return nil, hash, place.RefuseTooLarge(p.Asked, int64(len(data)), r.maxFile)
		}
		if n > 0 {
			h.add(part)
			if err := look(data); err != nil {
				return nil, hash, err
			}
		}
		switch {
		case err == io.EOF:
			return data, h.sum(), nil
		case err != nil:
			return nil, hash, err
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// surveyPast passes a file to a survey and hashes it, without holding it.
func (r *reader) surveyPast(src source, p *place.Place, survey *hashline.Survey) (hash digest.Digest, err error) {
	const buffers = 4
	free := make(chan []byte, buffers)
	for range buffers {
		free <- r.chunks.take()
	}
	h := newHashing(free)
	defer func() {
		h.stop()
		for range buffers {
			r.chunks.give(<-free)
		}
	}()
	for {
		buf := <-free
		n, err := src.Read(buf)
		h.add(buf[:n]) // which frees it later
		if _, err := survey.Write(buf[:n]); err != nil {
			return hash, err
		}
		switch {
		case survey.Size() > r.maxFile:
			return hash, place.RefuseTooLarge(p.Asked, survey.Size(), r.maxFile)
		case err == io.EOF:
			return h.sum(), survey.Close()
		case err != nil:
			return hash, err
		}
	}
}

// hasBytes reports whether a file, read from its position on into buf, holds exactly the bytes want.
func hasBytes(f io.Reader, want, buf []byte) (bool, error) {
	for {
		n, err := f.Read(buf)
		if n > len(want) || !bytes.Equal(buf[:n], want[:n]) {
			return false, nil
		}
		want = want[n:]
		if err == io.EOF {
			return len(want) == 0, nil
		}
		if err != nil {
			return false, err
		}
	}
}
