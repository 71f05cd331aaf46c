package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/surface"
)

// SurfaceFile is the file of a server that is packed from source in which its publisher
// says what it shows a model: hallmark.surface/v1, as hallmark surface capture writes it.
// The registry shows it beside api_surface and runs nothing.
const SurfaceFile = "hallmark.surface.json"

// Limits of showing a surface.
const (
	maxSurface   = 1 << 20   // bytes of the file
	maxLooked    = 128 << 20 // bytes of an unpacked archive, in which the file is looked for
	maxItems     = 300       // items that are shown
	maxSchema    = 16 << 10  // bytes of a schema
	maxWarnings  = 50
	keptSurfaces = 16
	surfaceTurns = 2 // archives that are unpacked at once
)

// surfaceShelf keeps the surfaces that were read last, by content_hash of their archive.
type surfaceShelf struct {
	turns chan struct{}
	mu    sync.Mutex
	kept  map[string]keptSurface
}

// keptSurface is a surface, or why there is none, which may pass.
type keptSurface struct {
	surface *surface.Surface
	reason  string
	passing bool
}

// packedSurface is the surface that the archive of a server holds, or why there is none.
func (p *pages) packedSurface(ctx context.Context, rec registry.ArchiveRecord) (*surface.Surface, string, error) {
	want, ok := rec.Assets[SurfaceFile]
	if !registry.ArchiveKindOf(ledger.Kind(rec.Kind)).Shows || !ok {
		return nil, "The archive holds no " + SurfaceFile +
			", in which its publisher would say what the server shows, and the registry runs no code of others.", nil
	}
	key := rec.ContentHash.String()
	p.surfaces.mu.Lock()
	kept, ok := p.surfaces.kept[key]
	p.surfaces.mu.Unlock()
	if ok {
		return kept.surface, kept.reason, nil
	}
	select {
	case p.surfaces.turns <- struct{}{}:
		defer func() { <-p.surfaces.turns }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	kept, err := p.readSurface(ctx, rec, want)
	if err != nil || kept.passing {
		return nil, kept.reason, err
	}
	p.surfaces.mu.Lock()
	defer p.surfaces.mu.Unlock()
	if p.surfaces.kept == nil || len(p.surfaces.kept) >= keptSurfaces {
		p.surfaces.kept = make(map[string]keptSurface)
	}
	p.surfaces.kept[key] = kept
	return kept.surface, kept.reason, nil
}

// readSurface reads the surface out of an archive.
func (p *pages) readSurface(ctx context.Context, rec registry.ArchiveRecord, want digest.Digest) (keptSurface, error) {
	blobs := p.Transport.Blobs
	if blobs == nil {
		blobs = p.Blobs
	}
	packed, err := blobs.Open(ctx, rec.ContentHash, 0, -1)
	if errors.Is(err, registry.ErrNotFound) {
		return keptSurface{reason: "The archive is gone.", passing: true}, nil
	}
	if err != nil {
		return keptSurface{}, err
	}
	defer packed.Close()
	data, err := findSurface(registry.ContextReader(ctx, packed))
	refused, _ := errors.AsType[*archive.Error](err)
	switch {
	case ctx.Err() != nil:
		return keptSurface{}, ctx.Err()
	case data == nil && (errors.Is(err, errFound) || refused != nil && refused.Problem == archive.ProblemTooLarge):
		return keptSurface{reason: SurfaceFile + " in the archive is too large to be shown, or lies too far in it."},
			nil
	case data == nil:
		api.Logger(ctx).Error("surface not read", "name", rec.Name, "version", rec.Version, "error", err)
		return keptSurface{reason: "The archive cannot be read now.", passing: true}, nil
	}
	e := evidence.Compare(
		evidence.Claim{Subject: rec.Subject(), Scheme: evidence.File, Authority: evidence.Record,
			Want: []digest.Digest{want}},
		evidence.Observed{Digests: []digest.Digest{digest.FromBytes(data)}})
	if e.Outcome != evidence.Match {
		return keptSurface{reason: SurfaceFile + " in the archive is not the file that was published."}, nil
	}
	s, err := surface.Read(data)
	if err != nil {
		return keptSurface{reason: SurfaceFile + " in the archive is no " + surface.Schema + ": " + err.Error()}, nil
	}
	return keptSurface{surface: s}, nil
}

// errFound ends a walk through an archive at the file that was looked for.
var errFound = errors.New("enough")

// findSurface returns the file with the surface in an archive, and why the walk through it ended. The file is nil if
// it was not reached, was not read whole, or is too large.
func findSurface(packed io.Reader) (data []byte, err error) {
	_, err = archive.Walk(packed, archive.Facet,
		archive.Limits{Packed: registry.MaxBlob, Unpacked: maxLooked}, func(e archive.Entry, r io.Reader) error {
			if e.Outer || e.Path != SurfaceFile {
				return nil
			}
			if e.Size <= maxSurface {
				whole, err := io.ReadAll(r)
				if err != nil {
					return err
				}
				data = whole
			}
			return errFound
		})
	return data, err
}

// surfaceText is a surface as a page shows it.
type surfaceText struct {
	Digest, API  string
	Instructions string
	Items        []itemText
	More         int
	Warnings     []string // escaped
	MoreWarnings int
}

// itemText is a tool, prompt, resource or template.
type itemText struct {
	Kind, Name, Title, Description string
	Schema                         string // of a tool's input, indented
	Members                        string // of what is not a tool, indented
}

func surfaceTextOf(s *surface.Surface) *surfaceText {
	out := &surfaceText{Digest: s.Digest().String(), API: s.APISurface().String(), Instructions: s.Instructions()}
	for _, item := range s.Items() {
		if item.Kind == surface.KindInstructions {
			continue
		}
		if len(out.Items) == maxItems {
			out.More++
			continue
		}
		var m struct {
			Title, Description string
			InputSchema        json.RawMessage
		}
		loosely(item.JSON, &m)
		text := itemText{Kind: string(item.Kind), Name: item.Name, Title: m.Title, Description: m.Description}
		if item.Kind == surface.KindTool {
			text.Schema = indentJSON(m.InputSchema)
		} else {
			text.Members = indentJSON(item.JSON)
		}
		out.Items = append(out.Items, text)
	}
	warnings := surface.Warnings(s)
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		out.Warnings = append(out.Warnings, w.String())
	}
	out.MoreWarnings = len(warnings) - len(out.Warnings)
	return out
}

// indentJSON returns JSON for a reader, cut where it is long.
func indentJSON(v json.RawMessage) string {
	if len(v) > maxSchema {
		return clip(string(v), maxSchema)
	}
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return string(v)
	}
	return clip(b.String(), 2*maxSchema)
}
