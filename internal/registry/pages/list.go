package pages

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Numbers of what lists show.
const (
	maxFound   = 10  // of each kind, of a search in all
	maxNewest  = 30  //
	newestSeen = 200 // entries of the log, among which the newest are looked for
)

// listRow is a line of a list.
type listRow struct {
	Kind          ledger.Kind
	Name, Version string
	Title         string
	Description   string
	Publisher     string
	At            time.Time // when it was published
	Status        registry.Status
	Latest        bool
	Verified      bool // each package's bytes were recomputed and matched
	Failing       bool // something was found later
	Page          string
	Versions      string // page of the name
}

// listPart is a part of a list.
type listPart struct {
	Kind  ledger.Kind
	Title string
	Items []listRow
	More  string // path of the rest; "" if there is none
}

// homeData is what the first page shows.
type homeData struct {
	Validation registry.Validation
	Logged     bool
	Newest     []listRow
}

// home is the search, and without one what was published last.
func (p *pages) home(r *http.Request) (*view, error) {
	params := api.Parameters{Values: r.URL.Query()}
	search := params.Text("search", api.MaxText)
	if params.Err != nil {
		return nil, params.Err
	}
	if strings.TrimSpace(search) == "" {
		data := homeData{Validation: p.Policy().Validation, Logged: p.Log != nil}
		var err error
		data.Newest, err = p.newest(r.Context())
		return &view{Template: "home", Title: "MCP registry", Data: data}, err
	}
	q, err := searchQuery(search)
	if err != nil {
		return nil, err
	}
	var all []listPart
	for _, kind := range p.kinds() {
		q.Limit = maxFound
		items, next, err := p.page(r.Context(), kind, q)
		if err != nil {
			return nil, err
		}
		part := listPart{Kind: kind, Title: registry.ArchiveKindOf(kind).Title, Items: items}
		if next != "" {
			part.More = listPath(kind, search, "")
		}
		all = append(all, part)
	}
	return &view{Template: "found", Title: "Search", Search: search, Data: all}, nil
}

// searchQuery returns the query for a search by a person: of each name the latest version.
func searchQuery(text string) (registry.Query, error) {
	q := registry.Query{Search: strings.TrimSpace(text), Version: registry.Latest}
	if n := utf8.RuneCountInString(q.Search); n > 0 && n < api.MinSearch {
		return q, registry.NewProblem(http.StatusBadRequest, "a search needs at least %d characters", api.MinSearch)
	}
	return q, nil
}

// list is one kind, by name.
func (p *pages) list(r *http.Request, kind ledger.Kind) (*view, error) {
	params := api.Parameters{Values: r.URL.Query()}
	search, cursor := params.Text("search", api.MaxText), params.Text("cursor", registry.MaxCursor)
	if params.Err != nil {
		return nil, params.Err
	}
	q, err := searchQuery(search)
	if err != nil {
		return nil, err
	}
	q.Cursor = cursor
	items, next, err := p.page(r.Context(), kind, q)
	if err != nil {
		return nil, err
	}
	part := listPart{Kind: kind, Title: registry.ArchiveKindOf(kind).Title, Items: items}
	if next != "" {
		part.More = listPath(kind, search, next)
	}
	return &view{Template: "list", Title: part.Title, Section: part.Title, Search: search, Data: part}, nil
}

// page is a page of a list.
func (p *pages) page(ctx context.Context, kind ledger.Kind, q registry.Query) (items []listRow, next string,
	err error) {
	if kind == ledger.Server {
		records, next, err := p.Records.List(ctx, q)
		return listedServers(records), next, err
	}
	records, next, err := p.ArchiveRecords.ListArchives(ctx, kind, q)
	return listedArchives(records), next, err
}

func listedServers(records []registry.Record) (items []listRow) {
	for _, rec := range records {
		var doc serverText
		loosely(rec.Document, &doc)
		items = append(items, listRow{
			Kind: ledger.Server, Name: rec.Name, Version: rec.Version, Title: doc.Title, Description: doc.Description,
			At:     rec.PublishedAt,
			Status: rec.Status, Latest: rec.IsLatest, Verified: !rec.VerifiedAt.IsZero(),
			Failing: failing(rec.Findings),
			Page:    versionPath(ledger.Server, rec.Name, rec.Version), Versions: pagePath(ledger.Server, rec.Name),
		})
	}
	return items
}

func listedArchives(records []registry.ArchiveRecord) (items []listRow) {
	for _, rec := range records {
		kind := ledger.Kind(rec.Kind)
		var m manifestText
		loosely(rec.Manifest, &m)
		items = append(items, listRow{
			Kind: kind, Name: rec.Name, Version: rec.Version, Description: m.Description, Publisher: rec.Publisher,
			At:     rec.PublishedAt,
			Status: rec.Status, Latest: rec.IsLatest, Failing: failing(rec.Findings),
			Page: versionPath(kind, rec.Name, rec.Version), Versions: pagePath(kind, rec.Name),
		})
	}
	return items
}

// failing reports whether the newest finding is that something does not hold.
func failing(found []registry.Finding) bool {
	return len(found) > 0 && len(found[0].Failing()) > 0
}

// loosely reads the members of a JSON document that have the form that v has. Documents
// were read strictly when they were published, but not all of them here or by this build.
func loosely(document json.RawMessage, v any) { _ = json.Unmarshal(document, v) }

// versionsData is what the page of a name shows.
type versionsData struct {
	Kind ledger.Kind
	Name string
	listPart
}

// versionList is the page of a name.
func (p *pages) versionList(r *http.Request, kind ledger.Kind, name string) (*view, error) {
	params := api.Parameters{Values: r.URL.Query()}
	cursor := params.Text("cursor", registry.MaxCursor)
	if params.Err != nil {
		return nil, params.Err
	}
	items, next, err := p.versionsOf(r.Context(), kind, name, cursor, registry.MaxLimit)
	if err == nil && len(items) == 0 && cursor == "" {
		err = registry.ErrNotFound
	}
	if errors.Is(err, registry.ErrNotFound) {
		return nil, registry.NewProblem(http.StatusNotFound, "%s %.200s is not in this registry", kind, name)
	}
	if err != nil {
		return nil, err
	}
	data := versionsData{kind, name, listPart{Kind: kind, Items: items}}
	if next != "" {
		data.More = pagePath(kind, name) + "?" + url.Values{"cursor": {next}}.Encode()
	}
	return &view{Template: "versions", Title: name, Section: registry.ArchiveKindOf(kind).Title, Data: data}, nil
}

// versionsOf returns versions of a name from a cursor on, newest first, without deleted ones: at most
// first of one page.
func (p *pages) versionsOf(
	ctx context.Context, kind ledger.Kind, name, cursor string, first int,
) ([]listRow, string, error) {
	if kind == ledger.Server {
		records, next, err := p.ShownVersions(ctx, &api.VersionsInput{Name: name, Cursor: cursor})
		return listedServers(records[:min(len(records), first)]), next, err
	}
	records, next, err := p.ArchiveRecords.ArchiveVersions(ctx, kind, name, cursor, false)
	return listedArchives(records[:min(len(records), first)]), next, err
}

// newest is what was published last and is not deleted, as the log has it.
func (p *pages) newest(ctx context.Context) (items []listRow, err error) {
	if p.Log == nil {
		items, _, err = p.page(ctx, ledger.Server, registry.Query{Version: registry.Latest})
		return items, err
	}
	entries, err := p.entriesBefore(ctx, p.Log.Head().Size, newestSeen)
	if err != nil {
		return nil, err
	}
	type subject struct {
		kind          ledger.Kind
		name, version string
	}
	status := map[subject]string{} // the newest
	kinds := p.kinds()
	for _, e := range entries {
		leaf := e.Leaf
		switch {
		case leaf.Kind == ledger.Status:
			at := subject{leaf.Of, leaf.Name, leaf.Version}
			if status[at] == "" {
				status[at] = leaf.Status
			}
		case slices.Contains(kinds, leaf.Kind) && len(items) < maxNewest:
			now := registry.Status(status[subject{leaf.Kind, leaf.Name, leaf.Version}])
			if now == registry.Deleted {
				continue
			}
			items = append(items,
				listRow{Kind: leaf.Kind, Name: leaf.Name, Version: leaf.Version, Publisher: leaf.Publisher, At: leaf.At,
					Status: now,
					Page:   versionPath(leaf.Kind, leaf.Name, leaf.Version), Versions: pagePath(leaf.Kind, leaf.Name)})
		}
	}
	return items, nil
}
