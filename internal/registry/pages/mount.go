package pages

import (
	"html/template"
	"net/http"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// Mount registers the paths of the pages of s.
func Mount(mux *http.ServeMux, s *api.Server) error {
	p := &pages{Server: s, surfaces: surfaceShelf{turns: make(chan struct{}, surfaceTurns)}}
	var err error
	if p.templates, err = template.New("pages").Funcs(pageFuncs).Parse(pagesTemplate); err != nil {
		return err
	}
	mux.HandleFunc("GET /{$}", p.serve(p.home))
	for _, kind := range p.kinds() {
		at := "/" + registry.Plural(kind)
		mux.HandleFunc("GET "+at, p.serve(func(r *http.Request) (*view, error) { return p.list(r, kind) }))
		mux.HandleFunc("GET "+at+"/{path...}", p.serve(func(r *http.Request) (*view, error) {
			return p.viewNamed(r, kind, strings.TrimPrefix(r.URL.EscapedPath(), at+"/"))
		}))
	}
	if s.Log != nil {
		mux.HandleFunc("GET /log", p.serve(p.log))
		mux.HandleFunc("GET /log/{index}", p.serve(p.entry))
	}
	return nil
}

// viewNamed answers the pages about one name.
func (p *pages) viewNamed(r *http.Request, kind ledger.Kind, path string) (*view, error) {
	name, rest, ok := api.SplitName(path)
	if ok && kind == ledger.Server && !strings.Contains(name, "/") && len(rest) > 0 {
		name, rest = name+"/"+rest[0], rest[1:] // a server's name has two parts
	}
	if ok && len(name) <= api.MaxText {
		switch {
		case len(rest) == 0:
			return p.versionList(r, kind, name)
		case len(rest) == 2 && rest[0] == "versions" && len(rest[1]) <= api.MaxText:
			return p.oneVersion(r, kind, name, rest[1])
		case len(rest) == 3 && rest[0] == "versions" && rest[2] == "diff" && len(rest[1]) <= api.MaxText:
			return p.diff(r, kind, name, rest[1])
		}
	}
	return nil, registry.NewProblem(http.StatusNotFound, "there is no such page")
}
