// Package contents reads files whole: their bytes, hash and lines, with snapshots of what was read before.
//
// A file that has not changed since its latest snapshot shares the memory of the snapshot, and reading and hashing run
// at the same time. Files are read up to a limit, and what is larger is refused before its memory is taken.
package contents

import (
	"bytes"
	"io"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
)

// Contents is what a file holds.
type Contents struct {
	Data []byte // which nobody changes
	Hash digest.Digest
	Info fs.FileInfo // of the open file that was read
}

// Matches reports whether the bytes are those that a call claims.
func (c Contents) Matches(claim evidence.Claim) bool {
	return evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{c.Hash},
		Size: int64(len(c.Data))}).Outcome == evidence.Match
}

// IsIn reports whether a file, read from its position on, holds exactly these bytes.
func (c Contents) IsIn(f io.Reader) (bool, error) {
	return hasBytes(f, c.Data, make([]byte, chunkSize))
}

// Reader reads files for one server, and remembers what it read.
type Reader struct {
	maxFile   int64
	snapshots snapshots
	chunks    chunks
	shown     shown
}

// NewReader returns a reader of files of at most maxFile bytes.
func NewReader(maxFile int64) *Reader { return &Reader{maxFile: maxFile} }

// Read returns what the file at a place holds.
func (r *Reader) Read(p *place.Place) (c Contents, err error) {
	f, info, err := p.Open(os.O_RDONLY)
	if err != nil {
		return c, err
	}
	defer f.Close()
	c.Info = info
	c.Data, c.Hash, err = r.readAndHash(p, f, info)
	return c, err
}

// Survey passes the file at a place to a survey, from beginning to end, and returns its hash. The file is remembered
// if it is not too large for a snapshot.
func (r *Reader) Survey(p *place.Place, survey *hashline.Survey) (digest.Digest, error) {
	f, info, err := p.Open(os.O_RDONLY)
	if err != nil {
		return digest.Digest{}, err
	}
	defer f.Close()
	if info.Size() <= maxSnapshot || survey.MaxBytes > int(info.Size()) && survey.First == 1 && survey.Last == 0 {
		data, hash, err := r.readAndHash(p, f, info)
		if err != nil {
			return digest.Digest{}, err
		}
		if err := survey.WriteAll(data); err != nil {
			return digest.Digest{}, refusal.Of(p.Asked, err)
		}
		r.snapshots.add(keyOf(p), hash, data)
		return hash, nil
	}
	if info.Size() > r.maxFile {
		return digest.Digest{}, refusal.TooLarge(p.Asked, info.Size(), r.maxFile)
	}
	hasher := digest.NewHasher()
	n, err := io.CopyBuffer(io.MultiWriter(hasher, survey), io.LimitReader(f, r.maxFile+1),
		make([]byte, digest.BufferSize))
	if err == nil && n > r.maxFile {
		err = refusal.TooLarge(p.Asked, n, r.maxFile)
	}
	if err == nil {
		err = survey.Close()
	}
	if err != nil {
		return digest.Digest{}, refusal.Of(p.Asked, err)
	}
	return hasher.Digest(digest.SHA256), nil
}

// Remember keeps data, which nobody changes any more, as what the file at a place holds. Data that is too large for a
// snapshot is not kept.
func (r *Reader) Remember(p *place.Place, hash digest.Digest, data []byte) {
	r.snapshots.add(keyOf(p), hash, data)
}

// Recall returns the bytes with a hash that a file in the same allowed directory as p held; ok is false if they are
// not remembered. The caller must not change them.
func (r *Reader) Recall(p *place.Place, hash digest.Digest) (data []byte, ok bool) {
	return r.snapshots.get(p.Root.Identity, hash.String())
}

// readAndHash reads the open file of a place and hashes it. If the file has not changed since its latest snapshot, the
// bytes of the snapshot are returned, so that they are held in memory once. The caller must not change data.
func (r *Reader) readAndHash(
	p *place.Place, f *os.File, info fs.FileInfo,
) (data []byte, hash digest.Digest, err error) {
	size := info.Size()
	if size > r.maxFile {
		return nil, hash, refusal.TooLarge(p.Asked, size, r.maxFile)
	}
	if hash, known, ok := r.snapshots.latest(keyOf(p)); ok && int64(len(known)) == size {
		buf := r.chunks.take()
		same, err := hasBytes(f, known, buf)
		r.chunks.give(buf)
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
	CollectGarbage(size)
	data = make([]byte, 0, size+1)
	h := newHashing()
	defer func() { hash = h.sum() }()
	for {
		n, err := f.Read(data[len(data):min(cap(data), len(data)+largeFile)])
		h.add(data[len(data) : len(data)+n])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > r.maxFile:
			return nil, hash, refusal.TooLarge(p.Asked, int64(len(data)), r.maxFile)
		case err == io.EOF:
			return data, hash, nil
		case err != nil:
			return nil, hash, refusal.Of(p.Asked, err)
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
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
