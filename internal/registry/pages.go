package registry

import (
	"bytes"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
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
	*server
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

// mountPages registers the paths of the pages of s.
func mountPages(mux *http.ServeMux, s *server) error {
	p := &pages{server: s, surfaces: surfaceShelf{turns: make(chan struct{}, surfaceTurns)}}
	var err error
	if p.templates, err = template.New("pages").Funcs(pageFuncs).Parse(pagesTemplate); err != nil {
		return err
	}
	mux.HandleFunc("GET /{$}", p.serve(p.home))
	for _, kind := range p.kinds() {
		at := "/" + plural(kind)
		mux.HandleFunc("GET "+at, p.serve(func(r *http.Request) (*view, error) { return p.list(r, kind) }))
		mux.HandleFunc("GET "+at+"/{path...}", p.serve(func(r *http.Request) (*view, error) {
			return p.named(r, kind, strings.TrimPrefix(r.URL.EscapedPath(), at+"/"))
		}))
	}
	if s.Log != nil {
		mux.HandleFunc("GET /log", p.serve(p.log))
		mux.HandleFunc("GET /log/{index}", p.serve(p.entry))
	}
	return nil
}

// kinds are those that have pages.
func (p *pages) kinds() []ledger.Kind {
	kinds := []ledger.Kind{ledger.Server}
	for _, k := range p.Archives {
		kinds = append(kinds, k.Kind)
	}
	return kinds
}

// named answers the pages about one name.
func (p *pages) named(r *http.Request, kind ledger.Kind, path string) (*view, error) {
	name, rest, ok := splitName(path)
	if ok && kind == ledger.Server && !strings.Contains(name, "/") && len(rest) > 0 {
		name, rest = name+"/"+rest[0], rest[1:] // a server's name has two parts
	}
	if ok && len(name) <= maxText {
		switch {
		case len(rest) == 0:
			return p.versionList(r, kind, name)
		case len(rest) == 2 && rest[0] == "versions" && len(rest[1]) <= maxText:
			return p.oneVersion(r, kind, name, rest[1])
		case len(rest) == 3 && rest[0] == "versions" && rest[2] == "diff" && len(rest[1]) <= maxText:
			return p.diff(r, kind, name, rest[1])
		}
	}
	return nil, problem(http.StatusNotFound, "there is no such page")
}

// serve is the handler of a page.
func (p *pages) serve(page func(*http.Request) (*view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := page(r)
		var body []byte
		if err == nil {
			body, err = p.render(v)
		}
		if err != nil {
			p.refuse(w, r, err)
			return
		}
		h := w.Header()
		pageHeader(h, cachePage)
		h.Set("ETag", `"`+digest.FromBytes(body).Hex()[:32]+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}
}

// refuse answers an error as a page.
func (p *pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrNotFound) {
		err = problem(http.StatusNotFound, "it is not in this registry")
	}
	var answer *Problem
	if !errors.As(p.failure(r.Context(), err), &answer) {
		return
	}
	if answer.Status == http.StatusUnprocessableEntity { // a distinction for programs
		answer.Status, answer.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
	}
	body, err := p.render(&view{Template: "problem", Title: answer.Title, Data: answer})
	if err != nil {
		logger(r.Context()).Error("no page", "error", err)
		writeProblem(w, answer)
		return
	}
	h := w.Header()
	for k, v := range answer.GetHeaders() {
		h[k] = v
	}
	pageHeader(h, "no-store")
	w.WriteHeader(answer.Status)
	w.Write(body) // an error here is the client's connection
}

func pageHeader(h http.Header, cache string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", cache)
	h.Set("Content-Security-Policy", pageSecurity)
	h.Set("Referrer-Policy", "no-referrer")
}

// render gives the HTML of a view.
func (p *pages) render(v *view) ([]byte, error) {
	v.Style = template.CSS(pagesStyle)
	for _, kind := range p.kinds() {
		v.Sections = append(v.Sections, section{kindTitle(kind), "/" + plural(kind)})
	}
	if p.Log != nil {
		v.Sections = append(v.Sections, section{"Log", "/log"})
	}
	v.Sections = append(v.Sections, section{"API", "/docs"})
	b := bounded{room: maxPage}
	err := p.templates.ExecuteTemplate(&b, v.Template, v)
	if errors.Is(err, errPageFull) {
		err = problem(http.StatusInternalServerError, "the page would have more than %d MiB; programs get all of it from the API", maxPage>>20)
	}
	return b.Bytes(), err
}

var errPageFull = errors.New("the page is full")

// bounded is a buffer with an end.
type bounded struct {
	bytes.Buffer
	room int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.room {
		return 0, errPageFull
	}
	return b.Buffer.Write(p)
}

// kindTitle is what a list of a kind is called. An artifact is a server whose files the
// registry has.
func kindTitle(kind ledger.Kind) string {
	switch kind {
	case ledger.Server:
		return "Servers"
	case ledger.Facet:
		return "Facets"
	case ledger.Artifact:
		return "Packed servers"
	case ledger.Plugin:
		return "Plugins"
	}
	return plural(kind)
}

// pagePath is the path of a page about a name: name's parts as they are where that can be
// read back, URL-encoded as one segment elsewhere.
func pagePath(kind ledger.Kind, name string, rest ...string) string {
	path := "/" + plural(kind) + "/"
	if a, b, ok := strings.Cut(name, "/"); ok && plainSegment(a) && plainSegment(b) && (kind == ledger.Server || strings.HasPrefix(a, "@")) {
		path += name
	} else {
		path += url.PathEscape(name)
	}
	for _, r := range rest {
		path += "/" + url.PathEscape(r)
	}
	return path
}

// versionPath is the path of the page of a version.
func versionPath(kind ledger.Kind, name, version string) string {
	return pagePath(kind, name, "versions", version)
}

// apiPath is the path of the same in the API.
func apiPath(kind ledger.Kind, name, version string, rest ...string) string {
	path := "/v0/" + plural(kind) + "/" + url.PathEscape(name) + "/versions/" + url.PathEscape(version)
	for _, r := range rest {
		path += "/" + r
	}
	return path
}

func plainSegment(s string) bool {
	return s != "" && s != "." && s != ".." && strings.Trim(s, plainText) == ""
}

// plainText is what a name or version may have to be part of a command that is copied,
// or of a path as it is.
const plainText = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@._-"

// typeable reports whether text can be copied into a command or a file without a thought:
// no shell and no format sees more in it than a word.
func typeable(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if !plainSegment(strings.ReplaceAll(part, "+", "")) || part[0] == '-' {
			return false
		}
	}
	return true
}

//go:embed pages.html
var pagesTemplate string

// pageFuncs are what the templates call.
var pageFuncs = template.FuncMap{
	"shown":  shown,
	"link":   outLink,
	"teaser": func(s string) string { return clip(s, maxTeaser) },
	"field":  func(s string) string { return clip(s, maxField) },
	"prose":  func(s string) string { return clip(s, maxProse) },
	"count":  evidence.Count,
	"size":   evidence.Group,
	"when":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
}
