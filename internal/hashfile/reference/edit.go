package reference

import (
	"context"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

type editArguments struct {
	Path   string `json:"path"`
	Edits  []edit `json:"edits"`
	DryRun bool   `json:"dryRun,omitempty" about:"only show the diff"`
}

// edit replaces one text by another.
type edit struct {
	OldText string `json:"oldText" about:"as it stands in the file, where it occurs once"`
	NewText string `json:"newText" about:"what takes its place"`
}

// maxEdits is how many edits one call may make.
const maxEdits = 1000

func (d *dialect) editFile(ctx context.Context, sc *roots.Scope, in editArguments) (*toolset.Answer, error) {
	if len(in.Edits) > maxEdits {
		return nil, refusal.New(hashline.Invalid, "there are %d edits; give at most %d", len(in.Edits), maxEdits)
	}
	var from, to string
	done, err := d.engine.Rewrite(ctx, sc, engine.RewriteRequest{Path: in.Path, DryRun: in.DryRun,
		Change: func(old []byte) ([]byte, error) {
			t := parseText(old)
			from = t.s
			for i, e := range in.Edits {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if err := t.apply(e, i+1); err != nil {
					return nil, err
				}
			}
			to = t.s
			return t.bytes(), nil
		}})
	if err != nil {
		return nil, err
	}
	return answer(formatDiff(refusal.Show(done.Path), from, to) + strings.TrimPrefix(formatNotices(done.Notices), "\n")), nil
}
