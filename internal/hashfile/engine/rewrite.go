package engine

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/disk"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

// RewriteRequest asks for what Change makes of a text file's content.
type RewriteRequest struct {
	Path   string
	DryRun bool // change nothing
	// Change returns the new content; it must not change the old one. It is called under the lock of the file.
	Change func(old []byte) ([]byte, error)
}

// Rewritten is a file that was rewritten.
type Rewritten struct {
	Path     string        // without links
	Hash     digest.Digest // of New
	Old, New []byte        // nobody changes them
	Notices  []string      // what the caller should know of how it was done
}

// Rewrite replaces the content of a text file by a function of it. A file that stays as it is is not written.
func (e *Engine) Rewrite(ctx context.Context, sc *roots.Scope, in RewriteRequest) (*Rewritten, error) {
	p, unlock, err := e.lockFile(ctx, sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	defer unlock()
	now, err := e.reader.Read(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, err := hashline.Parse(now.Data); err != nil {
		return nil, refusal.Of(in.Path, err)
	}
	out := &Rewritten{Path: p.Real(), Old: now.Data}
	if out.New, err = in.Change(now.Data); err != nil {
		return nil, refusal.Of(in.Path, err)
	}
	if _, err := hashline.Parse(out.New); err != nil {
		return nil, refusal.New(hashline.Binary, "%s would be no text any more: it would hold a NUL, or what is not "+
			"UTF-8", refusal.Show(in.Path))
	}
	write := func(data []byte) (err error) {
		if !in.DryRun && string(data) != string(now.Data) {
			out.Notices, err = e.replaceUnread(ctx, p, now, data)
		}
		return err
	}
	if out.Hash, err = e.commit(p, out.New, write); err != nil {
		return nil, err
	}
	if !in.DryRun {
		e.reader.Remember(p, out.Hash, out.New)
	}
	return out, nil
}

// replaceUnread is replace for a caller who gave no hash of the file and needs none.
func (e *Engine) replaceUnread(
	ctx context.Context, p *place.Place, now contents.Contents, data []byte,
) (lost []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, refusal.Of(p.Asked, err)
	}
	lost, err = e.writer.Replace(p, now, data)
	switch {
	case errors.Is(err, disk.ErrReplaced):
		return nil, refusal.New(hashline.Stale, "%s %s; nothing was written. Read it, and try again",
			refusal.Show(p.Asked), disk.ErrReplaced.Error())
	case err != nil:
		return nil, refusal.Of(p.Asked, err)
	}
	return lost, nil
}
