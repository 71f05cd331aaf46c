package hashfile

import (
	"context"
	"fmt"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

type writeArguments struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	FileHash  string `json:"file_hash,omitempty" about:"as it was read; required if the file exists"`
	TagsMeant bool   `json:"tags_meant,omitempty" about:"only if a refusal says so"`
}

func (s *Server) writeTextFile(ctx context.Context, sc *place.Scope, in writeArguments) (*stdio.Result, error) {
	w, err := s.engine.Write(ctx, sc, engine.WriteRequest{Path: in.Path, Content: in.Content, FileHash: in.FileHash,
		Tagged: in.TagsMeant})
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	text.WriteString("[" + factsHeader(w.Facts) + "]\n")
	notices(&text, w.Notices)
	return &stdio.Result{Text: text.String()}, nil
}

type pathArguments struct {
	Path string `json:"path"`
}

func (s *Server) createDirectory(ctx context.Context, sc *place.Scope, in pathArguments) (*stdio.Result, error) {
	created, err := s.engine.MakeDirectory(ctx, sc, in.Path)
	if err != nil {
		return nil, err
	}
	if !created {
		return &stdio.Result{Text: place.Show(in.Path) + " exists already\n"}, nil
	}
	return &stdio.Result{Text: "created " + place.Show(in.Path) + "\n"}, nil
}

type moveArguments struct {
	Source      string `json:"source"`
	Destination string `json:"destination" about:"the new path, with the name"`
}

func (s *Server) moveFile(ctx context.Context, sc *place.Scope, in moveArguments) (*stdio.Result, error) {
	if err := s.engine.Move(ctx, sc, in.Source, in.Destination); err != nil {
		return nil, err
	}
	return &stdio.Result{
		Text: fmt.Sprintf("moved %s to %s\n", place.Show(in.Source), place.Show(in.Destination))}, nil
}
