package hashfile

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

type editArguments struct {
	Path       string      `json:"path"`
	FileHash   string      `json:"file_hash" about:"as it was read" open:"true"`
	Operations []operation `json:"operations"`
	DryRun     bool        `json:"dry_run,omitempty" about:"only show the diff"`
	OnStale    string      `json:"on_stale,omitempty" enum:"reject,rebase" about:"if others changed the file since: reject (default), or merge"`
	TagsMeant  bool        `json:"tags_meant,omitempty" about:"only if a refusal says so"`
}

// operation is one of an edit. The schema shows each thing once: replace_range and delete_range are understood too, and
// the members that are hidden, which models use.
type operation struct {
	Op        string   `json:"op" enum:"replace,insert_after,insert_before,delete,append,prepend,replace_all" open:"true"`
	Anchor    string   `json:"anchor,omitempty" about:"NUMBER:TAG; none to append or prepend to the file; of replace_all the old text" open:"true"`
	EndAnchor string   `json:"end_anchor,omitempty" about:"last line of a range" open:"true"`
	Content   *string  `json:"content,omitempty" about:"new lines, without NUMBER:TAG|; \"\" is one empty line; a line feed at the end is dropped"`
	OpType    string   `json:"op_type,omitempty" hidden:"true"`
	Lines     []string `json:"lines,omitempty" hidden:"true"`
}

// fromText sets the operation from the text that source 004 writes it as: "replace 2:f1 with 'text'".
func (o *operation) fromText(text string) error {
	op, err := hashline.ParseOperation(text)
	if err != nil {
		return err
	}
	*o = operation{Op: op.Op, Anchor: op.Anchor, EndAnchor: op.EndAnchor, Content: op.Content}
	return nil
}

// parse returns the operation, which has the given number, from 1. What is missing is said by hashline.
func (o operation) parse(number int) (hashline.Operation, error) {
	if o.Op != "" && o.OpType != "" && o.Op != o.OpType {
		return hashline.Operation{}, place.Refuse(hashline.Invalid, "operation %d has the op %s and the op_type %s; "+
			"give op alone", number, place.Show(o.Op), place.Show(o.OpType))
	}
	op := hashline.Operation{Op: cmp.Or(o.Op, o.OpType), Anchor: o.Anchor, EndAnchor: o.EndAnchor, Content: o.Content}
	if o.Lines != nil {
		if o.Content != nil {
			return op, place.Refuse(hashline.Invalid, "operation %d has content and lines; give content alone", number)
		}
		op.Content = hashline.JoinLines(o.Lines)
	}
	return op, nil
}

// Bounds of the diff in an answer.
const (
	diffContext  = 3        // lines around each change
	maxDiff      = 24 << 10 // bytes
	maxWholeDiff = 4 << 20  // before long lines are cut
)

// writeDiff writes a diff, with long lines cut around what differs.
func writeDiff(text *strings.Builder, diff string, cut bool) {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	limit := text.Len() + maxDiff
	for i := 0; i < len(lines) && text.Len() <= limit; {
		old, made := i, i // where the lines that go and those that come end
		for old < len(lines) && strings.HasPrefix(lines[old], "-") {
			old++
		}
		for made = old; made < len(lines) && strings.HasPrefix(lines[made], "+"); {
			made++
		}
		end := max(made, i+1)
		for n := i; n < end && !cut; n++ {
			from := 0
			if other := n + old - i; n < old && other < made {
				from = commonPrefix(lines[n], lines[other])
			} else if other = n - old + i; n >= old && other < old {
				from = commonPrefix(lines[n], lines[other])
			}
			shown := lines[n][:1] + string(engine.AppendCut(nil, []byte(lines[n][1:]), max(from-1, 0))) + "\n"
			if cut = text.Len()+len(shown) > limit; !cut {
				text.WriteString(shown)
			}
		}
		i = end
	}
	if cut {
		text.WriteString("[the diff goes on]\n")
	}
}

// commonPrefix returns how many bytes two lines of a diff have in common behind their signs, and the signs.
func commonPrefix(a, b string) int {
	n := 1
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (s *Server) editTextFile(ctx context.Context, sc *place.Scope, in editArguments) (*stdio.Result, error) {
	ask := engine.EditRequest{Path: in.Path, FileHash: in.FileHash, DryRun: in.DryRun,
		Stale: engine.OnStale(in.OnStale), Tagged: in.TagsMeant}
	for i, o := range in.Operations {
		op, err := o.parse(i + 1)
		if err != nil {
			return nil, err
		}
		ask.Operations = append(ask.Operations, op)
	}
	edited, err := s.engine.Edit(ctx, sc, ask)
	if err != nil {
		return nil, err
	}
	return editAnswer(edited, in), nil
}

// editAnswer returns the answer to an edit: what the next one needs, and whatever was not done to the letter. It has no
// structure, which would say all of it a second time: clients that show a model only that would have to be given the
// lines in it.
func editAnswer(edited *engine.Edited, in editArguments) *stdio.Result {
	var text strings.Builder
	if in.DryRun {
		fmt.Fprintf(&text, "[dry run: nothing was written; the file would have %d lines]\n", edited.New.Lines())
		notices(&text, edited.Explain())
		diff, cut := edited.Diff(diffContext, maxWholeDiff)
		writeDiff(&text, diff, cut)
		return &stdio.Result{Text: text.String()}
	}
	fmt.Fprintf(&text, "[file_hash=%s total_lines=%d applied=%d]\n", engine.Abbreviate(edited.Hash), edited.New.Lines(),
		len(in.Operations))
	notices(&text, edited.Explain())
	for _, line := range edited.Lines {
		text.WriteString(line + "\n")
	}
	return &stdio.Result{Text: text.String()}
}
