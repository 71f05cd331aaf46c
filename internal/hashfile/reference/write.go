package reference

import (
	"context"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

type writeArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (d *dialect) writeFile(ctx context.Context, sc *roots.Scope, in writeArguments) (*toolset.Answer, error) {
	done, err := d.engine.Write(ctx, sc,
		engine.WriteRequest{Path: in.Path, Content: in.Content, Replace: true, Untagged: true})
	if err != nil {
		return nil, err
	}
	return answer("Successfully wrote to " + refusal.Show(in.Path) + formatNotices(done.Notices)), nil
}

// formatNotices returns notices as lines in brackets behind a text.
func formatNotices(all []string) (text string) {
	for _, notice := range all {
		text += "\n[" + notice + "]"
	}
	return text
}

func (d *dialect) createDirectory(ctx context.Context, sc *roots.Scope, in pathArguments) (*toolset.Answer, error) {
	if _, err := d.engine.MakeDirectory(ctx, sc, in.Path); err != nil {
		return nil, err
	}
	return answer("Successfully created directory " + refusal.Show(in.Path)), nil
}

type moveArguments struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

func (d *dialect) moveFile(ctx context.Context, sc *roots.Scope, in moveArguments) (*toolset.Answer, error) {
	if err := d.engine.Move(ctx, sc, in.Source, in.Destination); err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("Successfully moved %s to %s", refusal.Show(in.Source), refusal.Show(in.Destination))), nil
}
