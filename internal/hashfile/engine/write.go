package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// WriteRequest asks for a file with exactly this content.
type WriteRequest struct {
	Path     string
	Content  string
	FileHash string // that of the file as it was read; "" only creates
	Tagged   bool   // content may hold tags: see [hashline.Options]
}

// Written is a file that was written.
type Written struct {
	Facts
	Created bool
	Notices []string // what the caller should know of how it was done
}

// Write creates a file, or replaces the content of one that exists.
func (e *Engine) Write(ctx context.Context, sc *place.Scope, in WriteRequest) (*Written, error) {
	if int64(len(in.Content)) > e.o.MaxFile {
		return nil, place.RefuseTooLarge(in.Path, int64(len(in.Content)), e.o.MaxFile)
	}
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := cmp.Or(p.CheckWritable(), p.CheckName()); err != nil {
		return nil, err
	}
	if len(p.Missing) > 0 {
		return nil, refuseNoDirectory(p)
	}
	unlock, err := e.writer.Lock(ctx, p)
	if err != nil {
		return nil, err
	}
	defer unlock()
	data := []byte(in.Content)
	out := &Written{Created: p.Info == nil}
	if out.Created {
		err = e.createFile(p, in, data)
	} else {
		out.Notices, err = e.rewriteFile(ctx, p, in, data)
	}
	if err != nil {
		return nil, place.RefusalOf(in.Path, err)
	}
	survey := &hashline.Survey{MaxLines: 1}
	if _, err := survey.Write(data); err != nil {
		return nil, place.RefusalOf(in.Path, err)
	}
	hash := digest.FromBytes(data)
	if out.Created {
		e.reader.Forget(p) // another file that had the name
	}
	e.reader.Remember(p, hash, data)
	e.reader.NoteShown(hash)
	out.Facts = factsOf(survey, hash)
	return out, nil
}

// createFile creates a file where nothing is.
func (e *Engine) createFile(p *place.Place, in WriteRequest, data []byte) error {
	if in.FileHash != "" {
		return place.Refuse(place.NotFound, "%s does not exist; without file_hash it is created", place.Show(in.Path))
	}
	if namesDirectory(in.Path) {
		return refuseDirectoryName(in.Path)
	}
	if err := e.checkContent(in, nil); err != nil {
		return err
	}
	return e.writer.Create(p, data)
}

// checkContent fails if the content is no text, or was copied from what was shown of a file.
func (e *Engine) checkContent(in WriteRequest, read *hashline.File) error {
	o := e.o.Anchors
	o.Tagged = in.Tagged
	return hashline.CheckContent(in.Content, read, o)
}

// rewriteFile replaces the whole content of a file that exists, and returns what the caller should know.
func (e *Engine) rewriteFile(
	ctx context.Context, p *place.Place, in WriteRequest, data []byte,
) (notices []string, err error) {
	now, err := e.reader.Read(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := e.checkRead(p, in, now); err != nil {
		return nil, err
	}
	read, err := hashline.Parse(now.Data)
	if err != nil {
		read = nil // it is replaced by text
	}
	if err := e.checkContent(in, read); err != nil {
		return nil, err
	}
	if string(now.Data) == in.Content {
		return nil, place.Refuse(hashline.NoChange, "%s has this content already; nothing was written",
			place.Show(in.Path))
	}
	lost, err := e.replace(ctx, p, now, data, nil)
	e.reader.Remember(p, now.Hash, now.Data)
	return append(lostForm(now.Data, data), lost...), err
}

// lostForm says what of the form of a file its new content lacks. A model is not shown it, and so does not repeat it.
func lostForm(old, data []byte) (notices []string) {
	crlf := []byte("\r\n")
	if bytes.Contains(old, crlf) && !bytes.Contains(data, crlf) && bytes.IndexByte(data, '\n') >= 0 {
		notices = append(notices, "lines of the file ended with CRLF, and now end with LF; edit_text_file keeps them")
	}
	if bom := []byte("\ufeff"); bytes.HasPrefix(old, bom) && !bytes.HasPrefix(data, bom) {
		notices = append(notices, "the file began with a byte order mark, and does not now; edit_text_file keeps it")
	}
	return notices
}

// checkRead fails unless the caller read the file as it is now, or need not have.
func (e *Engine) checkRead(p *place.Place, in WriteRequest, now Contents) error {
	if in.FileHash == "" {
		return e.showFirst(p, now, place.Refuse(place.Exists, "%s exists; nothing was written. To replace all of it "+
			"repeat the call with the file_hash given here; to change lines of it use edit_text_file",
			place.Show(in.Path)))
	}
	digits, problem := parseFileHash(in.FileHash)
	if problem != nil {
		return e.showFirst(p, now, problem)
	}
	claim, known, err := e.claimOf(in.Path, digits, now)
	if err != nil {
		return err
	}
	if !known || !now.Matches(claim) {
		return e.showFirst(p, now, place.Refuse(hashline.Stale, "%s has changed since it was read; nothing was "+
			"written, because file_hash %s is not that of the file as it is now. Read it again, or, to replace it "+
			"all the same, repeat the call with the file_hash given here", place.Show(in.Path),
			place.Show(in.FileHash)))
	}
	return nil
}

// showFirst adds to the refusal to replace a file its hash and its first lines, as they are now. A file that is no text
// has none, and is not replaced by text.
func (e *Engine) showFirst(p *place.Place, now Contents, out *place.Refusal) error {
	var binary *hashline.Error
	if _, err := hashline.Parse(now.Data); errors.As(err, &binary) {
		out := refuseBinary(p.Asked, now.Data, binary)
		out.Message += "; to write text there, move the file away first"
		return out
	}
	return e.addFacts(p, out, now, [][2]int{{1, firstShown}})
}

// namesDirectory reports whether a path ends as those of directories do, so that a file is not meant to have it.
func namesDirectory(path string) bool {
	return strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.")
}

// refuseDirectoryName refuses such a path for what is no directory.
func refuseDirectoryName(path string) *place.Refusal {
	return place.Refuse(hashline.Invalid, "%s ends like the path of a directory; give the path of a file, or call "+
		"create_directory", place.Show(path))
}

// refuseNoDirectory refuses a place whose directory does not exist.
func refuseNoDirectory(p *place.Place) *place.Refusal {
	dir := place.Show(filepath.Dir(filepath.Clean(p.Asked)))
	return place.Refuse(place.NotFound, "the directory of %s does not exist; create_directory with path %s makes it",
		place.Show(p.Asked), dir)
}
