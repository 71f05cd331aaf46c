package hashfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/contents"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/disk"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

type operation struct {
	Op        string  `json:"op,omitempty" jsonschema:"replace, replace_range, insert_after, insert_before, delete or delete_range"`
	OpType    string  `json:"op_type,omitempty" jsonschema:"older spelling of op"`
	Anchor    string  `json:"anchor" jsonschema:"NUMBER:TAG of the line, as it was read"`
	EndAnchor string  `json:"end_anchor,omitempty" jsonschema:"NUMBER:TAG of the last line of a range, which is included"`
	Content   *string `json:"content,omitempty" jsonschema:"the new lines, without NUMBER:TAG|; one line feed at the end may be left out"`
}

type editArguments struct {
	Path       string      `json:"path" jsonschema:"file to edit"`
	FileHash   string      `json:"file_hash" jsonschema:"file_hash of the file as it was read"`
	Operations []operation `json:"operations" jsonschema:"what to do; all refer to the file as it was read"`
	DryRun     bool        `json:"dry_run,omitempty" jsonschema:"show the diff and write nothing"`
	OnStale    string      `json:"on_stale,omitempty" jsonschema:"if the file has changed since: reject (default), or rebase, which merges if the changes do not meet"`
}

type relocated struct {
	Operation int    `json:"operation"` // by index from 0
	Anchor    string `json:"anchor"`
	Line      int    `json:"line"`
}

type editResult struct {
	FileHash      digest.Digest `json:"file_hash"`
	TotalLines    int           `json:"total_lines"`
	Applied       int           `json:"applied"` // operations
	Relocated     []relocated   `json:"relocated"`
	Rebased       bool          `json:"rebased,omitempty"`
	DryRun        bool          `json:"dry_run,omitempty"`
	Diff          string        `json:"diff"`
	DiffTruncated bool          `json:"diff_truncated,omitempty"`
	Lines         []string      `json:"lines"`
	Notices       []string      `json:"notices,omitempty"` // what is not as it was besides the lines
}

func (s *Server) editTextFile(ctx context.Context, sc *roots.Scope, in editArguments) (*answer, error) {
	claim, err := parseFileHash(in.FileHash)
	if err != nil {
		return nil, err
	}
	if in.OnStale != "" && in.OnStale != "reject" && in.OnStale != "rebase" {
		return nil, refusal.New(hashline.Invalid, "on_stale %s is neither reject nor rebase", refusal.Show(in.OnStale))
	}
	var ops []hashline.Operation
	for i, o := range in.Operations {
		if o.Op != "" && o.OpType != "" && o.Op != o.OpType {
			return nil, refusal.New(hashline.Invalid, "operation %d has the op %s and the op_type %s",
				i+1, refusal.Show(o.Op), refusal.Show(o.OpType))
		}
		ops = append(ops, hashline.Operation{Op: cmp.Or(o.Op, o.OpType), Anchor: o.Anchor, EndAnchor: o.EndAnchor,
			Content: o.Content})
	}
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.CheckWritable(); err != nil {
		return nil, err
	}
	if err := p.CheckExists(); err != nil {
		return nil, err
	}
	unlock, err := s.writer.Lock(ctx, p)
	if err != nil {
		return nil, err
	}
	defer unlock()
	now, err := s.reader.Read(p)
	if err != nil {
		return nil, err
	}
	result, rebased, err := s.applyEdit(p, claim, now, ops, in)
	if err != nil {
		return nil, err
	}
	if int64(len(result.Bytes())) > s.c.MaxFile {
		return nil, refusal.New(hashline.TooLarge, "%s would have %d bytes; the server's limit is %d (--max-file)",
			refusal.Show(in.Path), len(result.Bytes()), s.c.MaxFile)
	}
	hash := make(chan digest.Digest, 1) // while the file is written
	go func() { hash <- digest.FromBytes(result.Bytes()) }()
	var lost []string
	if !in.DryRun {
		if err := ctx.Err(); err != nil {
			return nil, refusal.Of(in.Path, err)
		}
		if lost, err = s.writer.Replace(p, now, result.Bytes()); errors.Is(err, disk.ErrReplaced) {
			return nil, s.staleNow(p, ops, disk.ErrReplaced.Error())
		} else if err != nil {
			return nil, refusal.Of(in.Path, err)
		}
	}
	return s.editAnswer(p, result, <-hash, in, rebased, lost), nil
}

// applyEdit applies the operations to the file or, for a rebase, to the snapshot that they were made for.
func (s *Server) applyEdit(
	p *place.Place, claim evidence.Claim, now contents.Contents, ops []hashline.Operation, in editArguments,
) (r *hashline.Result, rebased bool, err error) {
	o := hashline.Options{Width: s.c.TagWidth, Exact: s.c.ExactAnchors}
	if now.Matches(claim) {
		contents.CollectGarbage(int64(len(now.Data)))
		r, err = hashline.Edit(now.Data, ops, o)
		if err != nil {
			return nil, false, s.explain(p, now, ops, err)
		}
		return r, false, nil
	}
	if _, err := hashline.Parse(now.Data); err != nil {
		return nil, false, refusal.Of(p.Asked, err)
	}
	const changed = "has changed since it was read"
	if in.OnStale != "rebase" {
		return nil, false, s.addFreshLines(p, refusal.Stale(p.Asked, changed), now, ops)
	}
	base, ok := s.reader.Recall(p, claim.Want[0])
	if !ok {
		const forgotten = changed + ", and what was read is no longer known here, so that the edit cannot be rebased"
		return nil, false, s.addFreshLines(p, refusal.Stale(p.Asked, forgotten), now, ops)
	}
	r, err = hashline.Rebase(base, now.Data, ops, o)
	if err != nil {
		return nil, true, s.explain(p, now, ops, err)
	}
	return r, true, nil
}

// explain returns the error of a refused edit with the lines that help to repeat it.
func (s *Server) explain(p *place.Place, now contents.Contents, ops []hashline.Operation, err error) error {
	problem := refusal.Of(p.Asked, err)
	switch problem.Code {
	case hashline.Stale, hashline.AnchorNotFound, hashline.AnchorAmbiguous, hashline.NoChange:
		return s.addFreshLines(p, problem, now, ops)
	}
	return problem
}

// editAnswer returns the answer to an edit.
func (s *Server) editAnswer(
	p *place.Place, r *hashline.Result, hash digest.Digest, in editArguments, rebased bool,
	notices []string,
) *answer {
	out := editResult{
		FileHash: hash, TotalLines: r.New.Lines(), Applied: len(in.Operations), Relocated: []relocated{},
		Rebased: rebased, DryRun: in.DryRun, Notices: notices,
	}
	out.Diff, out.DiffTruncated = r.Diff(editContext, maxDiff)
	if !in.DryRun {
		s.reader.Remember(p, hash, r.Bytes())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "[file_hash=%s %s applied=%d]\n", hash, lineCount(out.TotalLines), out.Applied)
	if in.DryRun {
		text.Reset()
		fmt.Fprintf(&text, "[dry run: nothing was written; the file would have %d lines]\n%s", out.TotalLines, out.Diff)
	}
	if rebased {
		text.WriteString("[rebased onto a change that somebody else made]\n")
	}
	text.WriteString(noticeLines(notices))
	for _, m := range r.Relocated {
		out.Relocated = append(out.Relocated, relocated{m.Operation, m.Anchor, m.Line})
		fmt.Fprintf(&text,
			"[operation %d: anchor %s did not hold and was moved to line %d, the only one with its tag]\n",
			m.Operation+1, m.Anchor, m.Line)
	}
	var ranges [][2]int
	for _, h := range r.Hunks {
		ranges = append(ranges, [2]int{h.NewFirst - editContext, h.NewFirst + h.NewLines - 1 + editContext})
	}
	out.Lines = s.tagLines(r.New, ranges)
	if !in.DryRun {
		for _, line := range out.Lines {
			text.WriteString(line + "\n")
		}
	}
	return &answer{text: text.String(), structure: out}
}
