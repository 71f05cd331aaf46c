package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// recordData is what the page of a version shows, of whatever kind.
type recordData struct {
	listRow
	Now       statusText
	Links     []labelledText // of the publisher
	API       string         // path of the same for programs
	Download  string         // path of the archive; "" if it is none
	Install   []string       // to be copied, a text each
	Facts     []fact
	Claims    []claimText
	MoreRows  int // claims that are not shown
	Findings  []findingText
	Packages  []packageText
	Remotes   []transportText
	Contents  []contents
	Files     []fileText
	MoreFiles int // files that are not shown
	AllFiles  int
	Surface   *surfaceText
	NoSurface string // why there is none
	Earlier   []listRow
	Proof     proofText
	Later     []logEntry // entries about the version, newest first
	Logged    bool       // there is a log
}

// statusText is the life of a record.
type statusText struct {
	Message string
	At      time.Time
}

// labelledText is a text with what it is.
type labelledText struct{ Label, Text string }

// fact is a text of the registry's own words or of a publisher, or a digest.
type fact struct {
	Label, Text string
	Code        bool // it is a digest
}

// contents is a part of an archive's manifest.
type contents struct {
	Title string
	Items []labelledText
	More  int
}

// fileText is a file of an archive.
type fileText struct{ Path, Digest string }

// claimText is a piece of evidence in the form in which it is kept.
type claimText struct {
	Subject, Scheme, Authority, Where string
	Outcome, Expected, Actual, From   string
	Size                              int64
	Weak                              bool
	Cause, Reason                     string
}

// Class is the outcome if it is one, for the style sheet.
func (c claimText) Class() string {
	switch o := evidence.Outcome(c.Outcome); o {
	case evidence.Match, evidence.Mismatch, evidence.Absent, evidence.Waived, evidence.Unverifiable:
		return string(o)
	}
	return "other"
}

// findingText is what was found later.
type findingText struct {
	At     time.Time
	Build  string
	Claims []claimText
}

// claimsOf are the claims of a JSON array in the form of package evidence.
func claimsOf(kept json.RawMessage) (claims []claimText) {
	loosely(kept, &claims)
	return claims
}

// claimOf is e in that form.
func claimOf(e evidence.Evidence) (c claimText) {
	text, err := e.MarshalJSON()
	if err != nil {
		return claimText{Subject: e.Subject, Scheme: string(e.Scheme), Outcome: string(evidence.Unverifiable),
			Reason: err.Error()}
	}
	loosely(text, &c)
	return c
}

// oneVersion is the page of a version.
func (p *pages) oneVersion(r *http.Request, kind ledger.Kind, name, version string) (*view, error) {
	var data *recordData
	var err error
	ctx := r.Context()
	if kind == ledger.Server {
		data, err = p.serverVersion(ctx, name, version)
	} else {
		data, err = p.archiveVersion(ctx, kind, name, version)
	}
	if errors.Is(err, registry.ErrNotFound) {
		return nil, registry.NewProblem(http.StatusNotFound, "version %.200s of %s %.200s is not in this registry",
			version, kind, name)
	}
	if err != nil {
		return nil, err
	}
	data.API = apiPath(kind, name, data.Version)
	if data.Earlier, err = p.earlier(ctx, kind, name, data.Version); err != nil {
		return nil, err
	}
	return &view{Template: "version", Title: name + " " + data.Version, Section: registry.ArchiveKindOf(kind).Title,
		Data: data}, nil
}

// deletedPage answers for a version that was deleted: that it was published stays in the
// log, what it says is not shown.
func deletedPage(kind, name, version, message string) error {
	p := registry.NewProblem(http.StatusGone, "version %.200s of %s %.200s was deleted", version, kind, name)
	if message != "" {
		p.Detail += ": " + message
	}
	return p
}

// maxEarlier is how many earlier versions the page of a version names.
const maxEarlier = 10

// earlier are the versions before one.
func (p *pages) earlier(ctx context.Context, kind ledger.Kind, name, version string) ([]listRow, error) {
	items, _, err := p.versionsOf(ctx, kind, name, registry.Cursor{Name: name, Version: version}.String(), maxEarlier)
	if errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrCursor) {
		return nil, nil // the name cannot be in a cursor
	}
	return items, err
}

// addLogged fills in what the log says of a version, and sets that beside the record.
func (p *pages) addLogged(ctx context.Context, data *recordData, document, integrity, api digest.Digest) error {
	if p.Log == nil {
		return nil
	}
	index, err := p.Log.Entries().LogIndex(ctx, data.Kind, data.Name, data.Version)
	if errors.Is(err, registry.ErrNotFound) {
		return nil // of a database that was filled before it had a log
	}
	if err != nil {
		return err
	}
	data.Logged = true
	if data.Proof, err = p.proofOf(ctx, index); err != nil {
		return err
	}
	leaves, err := p.Log.Entries().LogEntries(ctx, index, 1)
	if err != nil || len(leaves) != 1 {
		return cmp.Or(err, registry.ErrNotFound)
	}
	leaf := p.readEntry(index, leaves[0]).Leaf
	data.Publisher = cmp.Or(data.Publisher, leaf.Publisher)
	for _, c := range []struct {
		scheme    evidence.Scheme
		want, got digest.Digest
		from      string
	}{
		{evidence.Document, leaf.Document, document, "the record's document, in canonical form"},
		{registry.ArchiveKindOf(data.Kind).Fingerprint, leaf.ContentIntegrity, integrity, "the record"},
		{evidence.APISurface, leaf.APISurface, api, "the record"},
	} {
		if c.want.IsZero() && c.got.IsZero() {
			continue
		}
		claim := evidence.Claim{Subject: data.Name + "@" + data.Version, Scheme: c.scheme, Authority: evidence.Log,
			Where: "entry " + evidence.Group(index)}
		if !c.want.IsZero() {
			claim.Want = []digest.Digest{c.want}
		}
		data.Claims = append(data.Claims,
			claimOf(evidence.Compare(claim, evidence.Observed{Digests: []digest.Digest{c.got}, From: c.from})))
	}
	return p.later(ctx, data)
}

// maxLaterShown is how many statuses, and how many findings, of a version its page shows.
const maxLaterShown = 10

// later fills in the entries of statuses and findings.
func (p *pages) later(ctx context.Context, data *recordData) error {
	indexes, err := p.Log.Entries().LogLater(ctx, data.Kind, data.Name, data.Version, maxLaterShown)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		leaves, err := p.Log.Entries().LogEntries(ctx, index, 1)
		if err != nil {
			return err
		}
		if len(leaves) != 1 {
			continue
		}
		data.Later = append([]logEntry{p.readEntry(index, leaves[0])}, data.Later...)
	}
	return nil
}

// cut shortens the lists of a page to maxRows.
func (d *recordData) cut() {
	if n := len(d.Claims) - maxRows; n > 0 {
		d.Claims, d.MoreRows = d.Claims[:maxRows], n
	}
	d.AllFiles = len(d.Files)
	if n := len(d.Files) - maxRows; n > 0 {
		d.Files, d.MoreFiles = d.Files[:maxRows], n
	}
	for i := range d.Contents {
		c := &d.Contents[i]
		if n := len(c.Items) - maxRows; n > 0 {
			c.Items, c.More = c.Items[:maxRows], n
		}
	}
}

// findingsText are the findings of a record, newest first.
func findingsText(found []registry.Finding) (out []findingText) {
	for _, f := range found {
		claims := claimsOf(f.Evidence)
		out = append(out, findingText{f.At, f.Build, claims[:min(len(claims), maxRows)]})
	}
	return out
}

// buildText is the program that checked something; "" if nobody says which.
func buildText(version string) string {
	if version == "" {
		return ""
	}
	return "Hallmark " + version
}

// installTexts are what a person copies to use a version; none if its name or version is more
// than a word.
func installTexts(kind ledger.Kind, name, version string) []string {
	if !isPlainWord(name) || !isPlainWord(version) {
		return nil
	}
	return registry.ArchiveKindOf(kind).Install(name, version, localName(name))
}

// localName is what a project may call a server: the last part of its name, or a word that
// fits where that does not.
func localName(name string) string {
	short := name[strings.LastIndex(name, "/")+1:]
	if short == "" || strings.Trim(short, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" ||
		short[0] == '-' {
		return "server"
	}
	return short
}
