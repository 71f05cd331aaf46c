package hfmcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

type editArguments struct {
	Path       string      `json:"path" about:"file to edit"`
	FileHash   string      `json:"file_hash" about:"as it was read"`
	Operations []operation `json:"operations"`
}

// operation is one of an edit.
type operation struct {
	OpType    string  `json:"op_type" about:"replace, insert_after, insert_before or delete"`
	Anchor    string  `json:"anchor" about:"NUMBER:TAG"`
	EndAnchor string  `json:"end_anchor,omitempty" about:"NUMBER:TAG of the last line of a range"`
	Content   *string `json:"content,omitempty" about:"new lines, without NUMBER:TAG|; \"\" is one empty line"`
}

func (d *dialect) editTextFile(ctx context.Context, sc *roots.Scope, in editArguments) (*toolset.Answer, error) {
	ask := engine.EditRequest{Path: in.Path, FileHash: in.FileHash}
	for _, o := range in.Operations {
		ask.Operations = append(ask.Operations,
			hashline.Operation{Op: o.OpType, Anchor: o.Anchor, EndAnchor: o.EndAnchor, Content: o.Content})
	}
	edited, err := d.engine.Edit(ctx, sc, ask)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	text.WriteString("Successfully edited " + refusal.Show(in.Path) + "\n")
	text.WriteString(metadata(engine.Facts{Hash: edited.Hash, Lines: edited.New.Lines()}, 0, 0))
	for _, notice := range edited.Explain() {
		text.WriteString("[" + notice + "]\n")
	}
	for _, line := range edited.Lines {
		text.WriteString(line + "\n")
	}
	return &toolset.Answer{Text: text.String()}, nil
}

type writeTextArguments struct {
	Path    string `json:"path" about:"file to write"`
	Content string `json:"content" about:"all that it is to hold"`
}

func (d *dialect) writeTextFile(ctx context.Context, sc *roots.Scope, in writeTextArguments) (*toolset.Answer, error) {
	return d.write(ctx, sc, in, "Successfully wrote")
}

type writeArguments writeTextArguments

func (d *dialect) writeFile(ctx context.Context, sc *roots.Scope, in writeArguments) (*toolset.Answer, error) {
	return d.write(ctx, sc, writeTextArguments(in), "Wrote")
}

// write replaces a file whatever it holds, and says so beginning with a verb.
func (d *dialect) write(
	ctx context.Context, sc *roots.Scope, in writeTextArguments, verb string,
) (*toolset.Answer, error) {
	done, err := d.engine.Write(ctx, sc, engine.WriteRequest{Path: in.Path, Content: in.Content, Replace: true})
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s %d bytes to %s", verb, len(in.Content), refusal.Show(in.Path))
	for _, notice := range done.Notices {
		text += "\n[" + notice + "]"
	}
	return &toolset.Answer{Text: text}, nil
}

type directoryArguments struct {
	Path string `json:"path" about:"directory to create"`
}

func (d *dialect) createDirectory(
	ctx context.Context, sc *roots.Scope, in directoryArguments,
) (*toolset.Answer, error) {
	if _, err := d.engine.MakeDirectory(ctx, sc, in.Path); err != nil {
		return nil, err
	}
	return &toolset.Answer{Text: "Created directory: " + refusal.Show(in.Path)}, nil
}

type moveArguments struct {
	Source      string `json:"source" about:"file or directory to move"`
	Destination string `json:"destination" about:"where nothing is yet"`
}

func (d *dialect) moveFile(ctx context.Context, sc *roots.Scope, in moveArguments) (*toolset.Answer, error) {
	if err := d.engine.Move(ctx, sc, in.Source, in.Destination); err != nil {
		return nil, err
	}
	return &toolset.Answer{
		Text: fmt.Sprintf("Moved %s to %s", refusal.Show(in.Source), refusal.Show(in.Destination))}, nil
}
