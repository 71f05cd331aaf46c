package engine

import (
	"context"
	"errors"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// EditRequest asks for operations on the lines of a file, which was read with a hash that begins as FileHash.
type EditRequest struct {
	Path       string
	FileHash   string
	Operations []hashline.Operation
	DryRun     bool // change nothing
	Stale      OnStale
	Tagged     bool // content may hold tags: see [hashline.Options]
}

// OnStale says what becomes of an edit whose file has changed since it was read.
type OnStale string

// The ways.
const (
	// MergeOwn refuses the edit, unless the file was changed by nothing but edits of this server: then it is merged.
	MergeOwn OnStale = ""
	Reject   OnStale = "reject" // refuses it
	Rebase   OnStale = "rebase" // merges it onto the change, if the two do not meet
)

// Edited is a file that was edited.
type Edited struct {
	*hashline.Result
	Hash    digest.Digest // of the edited file
	Rebased Rebasing
	Notices []string // what the caller should know of how it was done
	Lines   []string // tagged: the lines around each change, as they are now
	width   int      // of tags
}

// Rebasing says onto what an edit was merged.
type Rebasing int

// What edits are merged onto.
const (
	NotRebased Rebasing = iota
	OntoOwn             // edits of this server
	OntoOthers          // what somebody else wrote
)

// Anchors returns the anchors of count lines of the edited file, from the first: one, or the two ends of a range.
func (e *Edited) Anchors(first, count int) string {
	text := hashline.Anchor(first, e.New.Line(first), e.width)
	if last := first + count - 1; last > first {
		text += ".." + hashline.Anchor(last, e.New.Line(last), e.width)
	}
	return text
}

// Edit applies operations to a file, together or not at all.
func (e *Engine) Edit(ctx context.Context, sc *place.Scope, in EditRequest) (*Edited, error) {
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
	result, rebased, err := e.applyEdit(p, now, in)
	if err != nil {
		return nil, err
	}
	out := &Edited{Result: result, Rebased: rebased, width: e.TagWidth()}
	write := func(data []byte) (err error) {
		if !in.DryRun {
			out.Notices, err = e.replace(ctx, p, now, data, in.Operations)
		}
		return err
	}
	if out.Hash, err = e.commit(p, result.Bytes(), write); err != nil {
		return nil, err
	}
	if !in.DryRun {
		e.reader.RememberEdit(p, now, out.Hash, result)
		e.reader.NoteShown(out.Hash)
		e.made.add(p, in)
	}
	var ranges [][2]int
	around, most := editContext, maxFresh
	if len(result.Replaced) == len(in.Operations) { // a rename needs no lines around each, and not each line
		around, most = 0, firstShown
	}
	for _, h := range result.Hunks {
		ranges = append(ranges, [2]int{h.NewFirst - around, h.NewFirst + h.NewLines - 1 + around})
	}
	out.Lines = e.tagFirst(result.New, ranges, most)
	return out, nil
}

// lockFile resolves the path of a file that exists and may be written, and takes its lock.
func (e *Engine) lockFile(ctx context.Context, sc *place.Scope, path string) (*place.Place, func(), error) {
	p, err := place.Resolve(sc, path)
	if err != nil {
		return nil, nil, err
	}
	err = p.CheckWritable()
	if err == nil {
		err = p.CheckExists()
	}
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	unlock, err := e.writer.Lock(ctx, p)
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, unlock, nil
}

// commit has the new content of a file written, and hashes it meanwhile.
func (e *Engine) commit(p *place.Place, data []byte, write func([]byte) error) (digest.Digest, error) {
	if int64(len(data)) > e.o.MaxFile {
		return digest.Digest{}, place.Refuse(hashline.TooLarge,
			"%s would have %d bytes; the server's limit is %d (--max-file)", place.Show(p.Asked),
			len(data), e.o.MaxFile)
	}
	hash := make(chan digest.Digest, 1)
	go func() { hash <- digest.FromBytes(data) }()
	err := write(data)
	return <-hash, err
}

// replace makes data the content of a file that was read as now, and returns what was lost besides. Ops belong to
// the edit, for a refusal.
func (e *Engine) replace(
	ctx context.Context, p *place.Place, now Contents, data []byte, ops []hashline.Operation,
) (lost []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, place.RefusalOf(p.Asked, err)
	}
	lost, err = e.writer.Replace(p, now, data)
	switch {
	case errors.Is(err, errReplaced):
		return nil, e.staleNow(ctx, p, ops, err.Error())
	case err != nil:
		return nil, place.RefusalOf(p.Asked, err)
	}
	return lost, nil
}

// applyEdit applies the operations to the file or, for a rebase, to the snapshot that they were made for.
func (e *Engine) applyEdit(
	p *place.Place, now Contents, in EditRequest,
) (r *hashline.Result, rebased Rebasing, err error) {
	ops, o := in.Operations, e.o.Anchors
	o.Tagged = in.Tagged
	digits, problem := parseFileHash(in.FileHash)
	if problem != nil {
		if _, err := hashline.Parse(now.Data); err != nil {
			return nil, 0, e.explain(p, now, nil, err)
		}
		return nil, 0, e.addFreshLines(p, problem, now, ops)
	}
	claim, known, err := e.claimOf(p.Asked, digits, now)
	if err != nil {
		return nil, 0, err
	}
	if known && now.Matches(claim) {
		collectGarbage(int64(len(now.Data)))
		r, err = hashline.Edit(now.Data, ops, o)
		if err != nil {
			return nil, 0, e.explain(p, now, ops, err)
		}
		return r, NotRebased, nil
	}
	if _, err := hashline.Parse(now.Data); err != nil {
		return nil, 0, e.explain(p, now, ops, err)
	}
	if e.made.has(p, in) {
		return nil, 0, e.addFreshLines(p, place.Refuse(hashline.Stale, "this edit of %s was made already, for this "+
			"file_hash; nothing was written. To go on, or to make it once more, use the file_hash and lines given here",
			place.Show(p.Asked)), now, ops)
	}
	if !known {
		return nil, 0, e.refuseUnknown(p, now, in)
	}
	base, since, ok := e.reader.Recall(p, claim.Want[0], now.Hash)
	if !ok {
		return nil, 0, e.refuseUnknown(p, now, in)
	}
	return e.rebase(p, base, since, now, in, o)
}

// rebase merges operations that were made for base onto the file as it is now. Since are the edits of this server that
// made that; nil if somebody else changed the file too.
func (e *Engine) rebase(
	p *place.Place, base []byte, since [][]hashline.Hunk, now Contents, in EditRequest, o hashline.Options,
) (r *hashline.Result, rebased Rebasing, err error) {
	ops, own := in.Operations, since != nil
	if own {
		rebased = OntoOwn
		r, err = hashline.RebaseOnto(base, now.Data, since, ops, o)
	} else {
		rebased = OntoOthers
		r, err = hashline.Rebase(base, now.Data, ops, o)
	}
	switch {
	case in.Stale != Rebase && (in.Stale == Reject || !own || err != nil):
		own = own && err != nil // if not, it would be merged if that were wanted
		return nil, 0, e.refuseStale(p, base, own, now, ops, err == nil)
	case err != nil:
		return nil, 0, e.explain(p, now, ops, err)
	}
	return r, rebased, nil
}

// explain returns the error of a refused edit with the lines that help to repeat it.
func (e *Engine) explain(p *place.Place, now Contents, ops []hashline.Operation, err error) error {
	problem := place.RefusalOf(p.Asked, err)
	if why, ok := errors.AsType[*hashline.Error](err); ok && why.Code == hashline.Binary && len(why.Operations) == 0 {
		return refuseBinary(p.Asked, now.Data, why)
	}
	switch problem.Code {
	case hashline.Stale, hashline.AnchorNotFound, hashline.AnchorAmbiguous, hashline.NoChange, hashline.Overlap,
		hashline.Invalid:
		return e.addFreshLines(p, problem, now, ops)
	}
	return problem
}
