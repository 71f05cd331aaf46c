package reference

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

type readArguments struct {
	Path string `json:"path"`
	Tail int    `json:"tail,omitempty" about:"only this many of the last lines"`
	Head int    `json:"head,omitempty" about:"only this many of the first lines"`
}

func (d *dialect) readTextFile(ctx context.Context, sc *roots.Scope, in readArguments) (*toolset.Answer, error) {
	switch {
	case in.Head < 0 || in.Tail < 0:
		return nil, refusal.New(hashline.Invalid, "head is %d and tail is %d; give a number of lines", in.Head, in.Tail)
	case in.Head > 0 && in.Tail > 0:
		return nil, refusal.New(hashline.Invalid, "head and tail cannot be given together; leave one of them out")
	}
	r, err := d.engine.Read(ctx, sc, engine.ReadRequest{Path: in.Path, Last: in.Head})
	if err != nil {
		return nil, hintMedia(err)
	}
	text := string(r.Text)
	if in.Head > 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	if in.Tail > 0 {
		text = lastLines(text, in.Tail)
	}
	return answer(text), nil
}

// hintMedia adds to the refusal of a file that is no text how it can be read.
func hintMedia(err error) error {
	problem := refusal.Of("", err)
	if problem.Code != hashline.Binary {
		return err
	}
	more := *problem
	more.Message += "; read_media_file gives it in base64"
	return &more
}

// lastLines returns the last lines of a text, without the line feed behind them.
func lastLines(text string, lines int) string {
	text = strings.TrimSuffix(text, "\n")
	at := len(text)
	for ; lines > 0 && at >= 0; lines-- {
		at = strings.LastIndexByte(text[:at], '\n')
	}
	return text[at+1:]
}

type pathArguments struct {
	Path string `json:"path"`
}

// mimeTypes are those that are given as images and audio, by the ends of names.
var mimeTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".bmp": "image/bmp", ".svg": "image/svg+xml", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg",
	".flac": "audio/flac",
}

func (d *dialect) readMediaFile(ctx context.Context, sc *roots.Scope, in pathArguments) (*toolset.Answer, error) {
	info, err := d.engine.Stat(sc, in.Path)
	if err != nil {
		return nil, err
	}
	data, err := d.engine.ReadBytes(ctx, sc, in.Path)
	if err != nil {
		return nil, err
	}
	kind := mimeTypes[strings.ToLower(filepath.Ext(info.Path))]
	var item mcp.Content
	switch {
	case strings.HasPrefix(kind, "image/"):
		item = &mcp.ImageContent{Data: data, MIMEType: kind}
	case kind != "":
		item = &mcp.AudioContent{Data: data, MIMEType: kind}
	default:
		if data == nil {
			data = []byte{}
		}
		uri := url.URL{Scheme: "file", Path: filepath.ToSlash(info.Path)}
		item = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri.String(),
			MIMEType: "application/octet-stream", Blob: data}}
	}
	all := []mcp.Content{item}
	return &toolset.Answer{Content: all, Structure: map[string]any{"content": all}}, nil
}

type readMultipleArguments struct {
	Paths []string `json:"paths" about:"files to read"`
}

// maxPaths is how many files one call may read.
const maxPaths = 1000

func (d *dialect) readMultipleFiles(
	ctx context.Context, sc *roots.Scope, in readMultipleArguments,
) (*toolset.Answer, error) {
	if len(in.Paths) == 0 || len(in.Paths) > maxPaths {
		return nil, refusal.New(hashline.Invalid, "paths are %d files; give 1 to %d", len(in.Paths), maxPaths)
	}
	var text strings.Builder
	for i, path := range in.Paths {
		if i > 0 {
			text.WriteString("\n---\n")
		}
		r, err := d.engine.Read(ctx, sc, engine.ReadRequest{Path: path})
		if err == nil && int64(text.Len()+len(r.Text)) > d.engine.MaxFile() {
			err = refusal.New(hashline.TooLarge, "the files together are too large for one answer; read it by itself")
		}
		if err != nil {
			text.WriteString(refusal.Show(path) + ": Error - " + refusal.Of(path, hintMedia(err)).Message)
			continue
		}
		text.WriteString(refusal.Show(path) + ":\n")
		text.Write(r.Text)
		text.WriteByte('\n')
	}
	return answer(text.String()), nil
}
