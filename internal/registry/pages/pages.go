// Package pages shows a registry to people: search, lists, versions with their evidence, what
// differs between two, and the log. What a publisher supplied becomes text and nothing else.
// [NewSite] joins them with the API in one HTTP handler.
package pages

import (
	_ "embed"
	"html/template"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Limits of a page.
const (
	maxPage   = 4 << 20 // bytes of HTML; a page that would be larger is not shown
	maxRows   = 500     // of a table; how many more there are is said
	maxField  = 4 << 10 // bytes of a text that a publisher supplied
	maxProse  = 128 << 10
	maxTeaser = 300 // bytes of a text in a list
)

// cachePage is how long a page may be kept: a finding or a deletion must not take longer
// to be seen.
const cachePage = "public, max-age=10"

// pages are the registry for people, rendered here and usable without a script:
//
//	/                                    search, and what was published last
//	/KIND                                a list: servers, facets, artifacts, plugins
//	/KIND/{name}                         the versions of one name
//	/KIND/{name}/versions/{version}      one version with its evidence; "latest" works
//	/KIND/…/versions/{version}/diff      ?against=VERSION: what differs
//	/log, /log/{index}                   the log's head and newest entries; one entry
//
// A name is written as in the API, or with its slash as it is. What a publisher supplied
// becomes text and nothing else: hidden characters are shown by their number, links are
// to http and https only, and what is long is cut.
type pages struct {
	*api.Server
	templates *template.Template
	surfaces  surfaceShelf
}

// view is one page to be rendered.
type view struct {
	Template string // of pages.html
	Title    string
	Section  string // of the navigation
	Search   string // what the field of the search holds
	Data     any

	Style    template.CSS
	Sections []section
}

// section is a link of the navigation.
type section struct{ Name, Href string }

// kinds are those that have pages.
func (p *pages) kinds() []ledger.Kind {
	kinds := []ledger.Kind{ledger.Server}
	for _, k := range p.Archives {
		kinds = append(kinds, k.Kind)
	}
	return kinds
}

//go:embed pages.html
var pagesTemplate string

// pageFuncs are what the templates call.
var pageFuncs = template.FuncMap{
	"shown":  splitShown,
	"link":   outLink,
	"teaser": func(s string) string { return clip(s, maxTeaser) },
	"field":  func(s string) string { return clip(s, maxField) },
	"prose":  func(s string) string { return clip(s, maxProse) },
	"count":  evidence.Count,
	"size":   evidence.Group,
	"when":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}
