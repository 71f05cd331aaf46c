package engine

import (
	"context"
	"io"
	"io/fs"
	"os"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
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
type reader struct {
	maxFile   int64
	snapshots snapshots
	chunks    chunks
	shown     shown
}

// NewReader returns a reader of files of at most maxFile bytes.
func newReader(maxFile int64) *reader { return &reader{maxFile: maxFile} }

// Read returns what the file at a place holds. It stops when ctx ends.
func (r *reader) Read(ctx context.Context, p *place.Place) (c Contents, err error) {
	f, info, err := p.Open(os.O_RDONLY)
	if err != nil {
		return c, err
	}
	defer f.Close()
	c.Info = info
	c.Data, c.Hash, err = r.readAndHash(ctx, p, f, info, nil)
	return c, err
}

// Survey passes the file at a place to a survey, from beginning to end, and returns its hash. The file is remembered
// if it is not too large for a snapshot. It stops when ctx ends, and when the survey refuses the file.
func (r *reader) Survey(ctx context.Context, p *place.Place, survey *hashline.Survey) (digest.Digest, error) {
	f, info, err := p.Open(os.O_RDONLY)
	if err != nil {
		return digest.Digest{}, err
	}
	defer f.Close()
	if info.Size() > r.maxFile {
		return digest.Digest{}, place.RefuseTooLarge(p.Asked, info.Size(), r.maxFile)
	}
	var hash digest.Digest
	if info.Size() <= maxSnapshot || survey.MaxBytes > int(info.Size()) && survey.First == 1 && survey.Last == 0 {
		var data []byte
		data, hash, err = r.readAndHash(ctx, p, f, info, survey.Extend)
		if err == nil {
			err = survey.Close()
		}
		if err == nil {
			r.snapshots.add(keyOf(p), hash, data, nil)
		}
	} else {
		hash, err = r.surveyPast(source{ctx, f}, p, survey)
	}
	if err != nil {
		return digest.Digest{}, refuse(p, f, err)
	}
	return hash, nil
}

// Remember keeps data, which nobody changes any more, as what the file at a place holds. Data that is too large for a
// snapshot is not kept.
func (r *reader) Remember(p *place.Place, hash digest.Digest, data []byte) {
	r.snapshots.add(keyOf(p), hash, data, nil)
}

// RememberEdit remembers what an edit made of the file at a place, which held was.
func (r *reader) RememberEdit(p *place.Place, was Contents, hash digest.Digest, made *hashline.Result) {
	r.Remember(p, was.Hash, was.Data)
	r.snapshots.add(keyOf(p), hash, made.Bytes(), made.Hunks)
}

// Forget forgets what the file at a place held: another one is there now, or none.
func (r *reader) Forget(p *place.Place) { r.snapshots.forget(keyOf(p)) }

// Recall returns the bytes with a hash that the file at a place held; ok is false if they are not remembered. The
// caller must not change them. Since are the edits of this server that made what has the hash now of them; nil if
// anything else happened to the file, too.
func (r *reader) Recall(p *place.Place, hash, now digest.Digest) (data []byte, since [][]hashline.Hunk, ok bool) {
	return r.snapshots.get(keyOf(p), hash.String(), now.String())
}
