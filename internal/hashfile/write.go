package hashfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/disk"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
)

type writeArguments struct {
	Path     string `json:"path" jsonschema:"file to write"`
	Content  string `json:"content" jsonschema:"the whole content, byte for byte"`
	FileHash string `json:"file_hash,omitempty" jsonschema:"of the file as it was read; required if it exists"`
}

func (s *Server) writeTextFile(ctx context.Context, sc *roots.Scope, in writeArguments) (*answer, error) {
	if int64(len(in.Content)) > s.c.MaxFile {
		return nil, refusal.TooLarge(in.Path, int64(len(in.Content)), s.c.MaxFile)
	}
	if err := hashline.CheckContent(in.Content, s.c.TagWidth); err != nil {
		return nil, refusal.Of(in.Path, err)
	}
	p, err := place.Resolve(sc, in.Path)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.CheckWritable(); err != nil {
		return nil, err
	}
	if len(p.Missing) > 0 {
		return nil, refusal.New(refusal.NotFound, "the directory of %s does not exist; create_directory makes it",
			refusal.Show(in.Path))
	}
	unlock, err := s.writer.Lock(ctx, p)
	if err != nil {
		return nil, err
	}
	defer unlock()
	data := []byte(in.Content)
	var lost []string
	if p.Info == nil {
		if in.FileHash != "" {
			return nil, refusal.New(refusal.NotFound, "%s does not exist; without file_hash it is created",
				refusal.Show(in.Path))
		}
		err = s.writer.Create(p, data)
	} else {
		lost, err = s.rewriteFile(p, in, data)
	}
	if err != nil {
		return nil, refusal.Of(in.Path, err)
	}
	survey := &hashline.Survey{MaxLines: 1}
	if _, err := survey.Write(data); err != nil {
		return nil, refusal.Of(in.Path, err)
	}
	hash := digest.FromBytes(data)
	s.reader.Remember(p, hash, data)
	facts := fileFacts{TotalLines: survey.Lines(), FileHash: hash, LineEnding: survey.LineEnding(),
		FinalNewline: survey.FinalNewline(), Encoding: survey.Encoding(), Notices: lost}
	text := fmt.Sprintf("[file_hash=%s %s]\n", hash, lineCount(facts.TotalLines)) + noticeLines(lost)
	return &answer{text: text, structure: facts}, nil
}

// rewriteFile replaces the whole content of a file that exists, and returns what was lost besides.
func (s *Server) rewriteFile(p *place.Place, in writeArguments, data []byte) (lost []string, err error) {
	now, err := s.reader.Read(p)
	if err != nil {
		return nil, err
	}
	if in.FileHash == "" {
		return nil, refusal.New(refusal.Exists,
			"%s exists; to replace it give its file_hash, to change it use edit_text_file",
			refusal.Show(in.Path))
	}
	claim, err := parseFileHash(in.FileHash)
	if err != nil {
		return nil, err
	}
	if !now.Matches(claim) {
		return nil, s.addFreshLines(p, refusal.Stale(in.Path, "has changed since it was read"), now, nil)
	}
	if string(now.Data) == in.Content {
		return nil, refusal.New(hashline.NoChange, "%s has this content already; nothing was written", refusal.Show(in.Path))
	}
	lost, err = s.writer.Replace(p, now, data)
	if errors.Is(err, disk.ErrReplaced) {
		return nil, s.staleNow(p, nil, disk.ErrReplaced.Error())
	}
	return lost, err
}
