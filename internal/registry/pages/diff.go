package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Limits of a comparison.
const (
	maxCompared = 256 << 10 // bytes of each document, indented
	maxDiff     = 512 << 10 // bytes of what is shown of a difference
	maxChanges  = 300       // changes of a surface
)

// side is one of two versions that are compared.
type side struct {
	Name, Version string
	Page          string
	document      json.RawMessage
	digests       []labelledDigest
	files         map[string]digest.Digest
	surface       *surface.Surface
	reason        string // why there is none
}

type labelledDigest struct {
	label string
	sum   digest.Digest
}

// diffData is what a comparison shows.
type diffData struct {
	Kind     ledger.Kind
	Old, New side
	Digests  []digestPair
	Changes  []changeText
	More     int    // changes that are not shown
	Reason   string // why the surfaces are not compared; "" if they are
	Document []diffLine
	Same     bool   // the documents are the same
	TooLarge string // why the documents are not compared
	Files    []fileChange
	MoreFile int
}

// digestPair is a fingerprint of both versions.
type digestPair struct {
	Label, Old, New string
	Same            bool
}

// changeText is a change of a surface.
type changeText struct {
	Severity, Class, Item, Path, Summary string
	Text                                 []surface.Piece // words that went and came
}

// diffLine is a line of the comparison of documents, Sign being "-", "+", "@" or "".
type diffLine struct{ Text, Sign string }

// fileChange is a file that only one version has, or that differs.
type fileChange struct{ Path, What string }

// diff compares a version with another one of the same name.
func (p *pages) diff(r *http.Request, kind ledger.Kind, name, version string) (*view, error) {
	params := api.Parameters{Values: r.URL.Query()}
	against := params.Text("against", api.MaxText)
	switch {
	case params.Err != nil:
		return nil, params.Err
	case against == "":
		return nil, registry.NewProblem(http.StatusBadRequest, "name the version to compare with: ?against=VERSION")
	}
	var sides [2]side
	for i, v := range []string{against, version} {
		s, err := p.side(r.Context(), kind, name, v)
		if errors.Is(err, registry.ErrNotFound) {
			return nil, registry.NewProblem(http.StatusNotFound, "version %.200s of %s %.200s is not in this registry",
				v, kind, name)
		}
		if err != nil {
			return nil, err
		}
		sides[i] = *s
	}
	data := compareSides(kind, sides[0], sides[1])
	return &view{Template: "diff", Title: name + " " + data.Old.Version + " to " + data.New.Version,
		Section: registry.ArchiveKindOf(kind).Title, Data: data}, nil
}

// side reads one version.
func (p *pages) side(ctx context.Context, kind ledger.Kind, name, version string) (*side, error) {
	if kind == ledger.Server {
		rec, err := p.Records.Get(ctx, name, version)
		if err != nil {
			return nil, err
		}
		if rec.Status == registry.Deleted {
			return nil, deletedPage(string(kind), rec.Name, rec.Version, rec.StatusMessage)
		}
		return &side{Name: rec.Name, Version: rec.Version, Page: versionPath(kind, rec.Name, rec.Version),
			document: rec.Document,
			digests:  []labelledDigest{{"document", rec.Digest}},
			reason:   "The registry knows no surface of a server that it has only the document of."}, nil
	}
	rec, err := p.ArchiveRecords.Archive(ctx, kind, name, version)
	if err != nil {
		return nil, err
	}
	if rec.Status == registry.Deleted {
		return nil, deletedPage(string(kind), rec.Name, rec.Version, rec.StatusMessage)
	}
	document, err := rec.Document()
	if err != nil {
		return nil, err
	}
	s := &side{Name: rec.Name, Version: rec.Version, Page: versionPath(kind, rec.Name, rec.Version),
		document: rec.Manifest, files: rec.Assets,
		digests: []labelledDigest{{"manifest", document}, {"content_integrity", rec.ContentIntegrity},
			{"api_surface", rec.APISurface}}}
	if !registry.ArchiveKindOf(kind).Shows {
		s.reason = "What is captured is the surface of a server, not of a " + string(kind) + "."
		return s, nil
	}
	s.surface, s.reason, err = p.packedSurface(ctx, rec)
	return s, err
}

// compareSides sets two versions beside each other.
func compareSides(kind ledger.Kind, old, new side) diffData {
	d := diffData{Kind: kind, Old: old, New: new}
	for i, o := range old.digests {
		n := new.digests[i]
		if o.sum.IsZero() && n.sum.IsZero() {
			continue
		}
		pair := digestPair{Label: o.label, Old: sumText(o.sum), New: sumText(n.sum)}
		pair.Same = !o.sum.IsZero() && !n.sum.IsZero() && evidence.Same(o.sum, n.sum)
		d.Digests = append(d.Digests, pair)
	}
	switch {
	case old.surface == nil && new.surface == nil && old.reason == new.reason:
		d.Reason = old.reason
	case old.surface == nil:
		d.Reason = old.Version + ": " + old.reason
	case new.surface == nil:
		d.Reason = new.Version + ": " + new.reason
	default:
		d.surfaces(old.surface, new.surface)
	}
	d.documents(old.document, new.document)
	for _, path := range registry.SortedKeys(old.files) {
		if _, ok := new.files[path]; !ok {
			d.file(path, "removed")
		} else if !evidence.Same(old.files[path], new.files[path]) {
			d.file(path, "changed")
		}
	}
	for _, path := range registry.SortedKeys(new.files) {
		if _, ok := old.files[path]; !ok {
			d.file(path, "added")
		}
	}
	return d
}

func sumText(d digest.Digest) string {
	if d.IsZero() {
		return "none"
	}
	return d.String()
}

func (d *diffData) file(path, what string) {
	if len(d.Files) == maxRows {
		d.MoreFile++
		return
	}
	d.Files = append(d.Files, fileChange{path, what})
}

// surfaces fills in what differs of the surfaces.
func (d *diffData) surfaces(old, new *surface.Surface) {
	room := maxDiff
	for _, c := range surface.Diff(old, new) {
		if len(d.Changes) == maxChanges || room <= 0 {
			d.More++
			continue
		}
		var text []surface.Piece
		for _, line := range surface.ChangeLines([]surface.Change{c})[2:] { // item, severity and summary stand above
			if len(text) > 0 {
				text = append(text, surface.Piece{Text: "\n"})
			}
			if line[0].Text = strings.TrimPrefix(line[0].Text, "    "); len(text) == 0 {
				line[0].Text = strings.TrimLeft(line[0].Text, " ")
			}
			text = append(text, line...)
		}
		text, room = clipPieces(text, room)
		d.Changes = append(d.Changes,
			changeText{string(c.Severity), string(c.Class), c.Item, c.Path, c.Summary, text})
	}
}

// clipPieces returns the beginning of a text, and how much room it leaves.
func clipPieces(text []surface.Piece, room int) ([]surface.Piece, int) {
	for i := range text {
		if text[i].Text = clip(text[i].Text, max(room, 0)); room < len(text[i].Text) {
			return text[:i+1], 0
		}
		room -= len(text[i].Text)
	}
	return text, room
}

// documents fills in what differs of the documents, line by line in canonical order.
func (d *diffData) documents(old, new json.RawMessage) {
	var texts [2]string
	for i, raw := range []json.RawMessage{old, new} {
		if len(raw) > maxCompared {
			d.TooLarge = "A document is too large to be compared here."
			return
		}
		canonical, err := serverjson.Canonical(raw)
		var b bytes.Buffer
		if err == nil {
			err = json.Indent(&b, canonical, "", " ")
		}
		if err != nil || b.Len() > maxCompared {
			d.TooLarge = "A document is too large to be compared here, or has no canonical form."
			return
		}
		b.WriteByte('\n')
		texts[i] = b.String()
	}
	if d.Same = texts[0] == texts[1]; d.Same {
		return
	}
	unified := clip(udiff.Unified(d.Old.Version, d.New.Version, texts[0], texts[1]), maxDiff)
	for i, line := range strings.Split(strings.TrimSuffix(unified, "\n"), "\n") {
		if i < 2 || line == "" {
			continue // the names of the two
		}
		switch sign := line[:1]; sign {
		case "-", "+", "@":
			d.Document = append(d.Document, diffLine{line, sign})
		default:
			d.Document = append(d.Document, diffLine{line, ""})
		}
	}
}
