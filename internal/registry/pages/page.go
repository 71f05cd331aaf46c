package pages

import (
	"bytes"
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
)

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
	if errors.Is(err, registry.ErrNotFound) {
		err = registry.NewProblem(http.StatusNotFound, "it is not in this registry")
	}
	var answer *registry.Problem
	if !errors.As(p.Failure(r.Context(), err), &answer) {
		return
	}
	if answer.Status == http.StatusUnprocessableEntity { // a distinction for programs
		answer.Status, answer.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
	}
	body, err := p.render(&view{Template: "problem", Title: answer.Title, Data: answer})
	if err != nil {
		api.Logger(r.Context()).Error("no page", "error", err)
		api.WriteProblem(w, answer)
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
	h.Set("Content-Security-Policy", api.Security)
	h.Set("Referrer-Policy", "no-referrer")
}

// render gives the HTML of a view.
func (p *pages) render(v *view) ([]byte, error) {
	v.Style = template.CSS(api.Sheet)
	for _, kind := range p.kinds() {
		v.Sections = append(v.Sections, section{registry.ArchiveKindOf(kind).Title, "/" + registry.Plural(kind)})
	}
	if p.Log != nil {
		v.Sections = append(v.Sections, section{"Log", "/log"})
	}
	v.Sections = append(v.Sections, section{"API", "/docs"})
	b := boundedBuffer{room: maxPage}
	err := p.templates.ExecuteTemplate(&b, v.Template, v)
	if errors.Is(err, errPageFull) {
		err = registry.NewProblem(http.StatusInternalServerError,
			"the page would have more than %d MiB; programs get all of it from the API", maxPage>>20)
	}
	return b.Bytes(), err
}

var errPageFull = errors.New("the page is full")

// boundedBuffer is a buffer that refuses more than room bytes.
type boundedBuffer struct {
	bytes.Buffer
	room int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.room {
		return 0, errPageFull
	}
	return b.Buffer.Write(p)
}
