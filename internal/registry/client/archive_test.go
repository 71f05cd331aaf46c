package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// What a registry answers about archives is believed only as far as it is what was asked.
func TestClientArchivesHostile(t *testing.T) {
	ctx := context.Background()
	var answer http.HandlerFunc
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer srv.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Authorization"]) > 0 {
			t.Error("a token was sent elsewhere")
		}
		io.WriteString(w, "bytes")
	}))
	defer elsewhere.Close()
	c := &Client{Base: srv.URL}
	good := registrytest.NewArchiveRecord(ledger.Facet, "notes", "1.0.0", 0)
	good.Status = registry.Active
	for what, change := range map[string]func(*registry.ArchiveRecord){
		"another kind":      func(r *registry.ArchiveRecord) { r.Kind = "artifact" },
		"another name":      func(r *registry.ArchiveRecord) { r.Name = "other" },
		"another version":   func(r *registry.ArchiveRecord) { r.Version = "1.0.1" },
		"no status":         func(r *registry.ArchiveRecord) { r.Status = "" },
		"no version":        func(r *registry.ArchiveRecord) { r.Version = "" },
		"no fingerprint":    func(r *registry.ArchiveRecord) { r.ContentIntegrity = digest.Digest{} },
		"no transport hash": func(r *registry.ArchiveRecord) { r.ContentHash = digest.Digest{} },
		"a weak transport hash": func(r *registry.ArchiveRecord) {
			r.ContentHash, _ = digest.Parse("sha1:" + strings.Repeat("0", 40))
		},
		"no size":     func(r *registry.ArchiveRecord) { r.Size = 0 },
		"no manifest": func(r *registry.ArchiveRecord) { r.Manifest = nil },
	} {
		rec := good
		change(&rec)
		manifest := rec.Manifest != nil
		answer = func(w http.ResponseWriter, r *http.Request) {
			text, _ := json.Marshal(rec)
			if !manifest {
				text = []byte(strings.Replace(string(text), `"manifest":null,`, "", 1))
			}
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/versions") && r.Method == "GET" ||
				strings.HasSuffix(r.URL.Path, "/facets") {
				fmt.Fprintf(w, `{"archives": [%s], "metadata": {"count": 1}}`, text)
				return
			}
			w.Write(text)
		}
		if got, err := c.ArchiveRecord(ctx, "facet", "notes", "1.0.0"); err == nil {
			t.Errorf("%s: one %+v", what, got)
		}
		if got, err := c.ArchiveVersions(ctx, "facet", "notes"); err == nil && what != "another version" {
			t.Errorf("%s: versions %+v", what, got)
		}
		if got, err := c.PublishArchive(ctx, "facet", "notes", Upload{Body: strings.NewReader("x"), Size: 1}); err == nil &&
			what != "another version" {
			t.Errorf("%s: published %+v", what, got)
		}
	}
	text, _ := json.Marshal(good)
	for what, page := range map[string]string{
		"does not end": `{"archives": [%s], "metadata": {"nextCursor": "again"}}`,
		"empty":        `{"archives": [], "metadata": {"nextCursor": "%d"}}`, // always another one
	} {
		asked := 0
		answer = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			asked++
			io.WriteString(w, strings.NewReplacer("%s", string(text), "%d", strconv.Itoa(asked)).Replace(page))
		}
		if _, err := c.ArchiveVersions(ctx, "facet", "notes"); err == nil ||
			!strings.Contains(err.Error(), "do not end") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, h := range map[string]http.HandlerFunc{
		"encoded": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "x")
		},
		"unknown length": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		},
		"http elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://mirror.example.com/x", http.StatusFound)
		},
		"for ever": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"part":     func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusPartialContent) },
		"absent":   http.NotFound,
	} {
		answer = h
		if body, _, err := c.OpenArchive(ctx, "facet", "notes", "1.0.0"); err == nil {
			body.Close()
			t.Errorf("%s: opened", what)
		}
	}
	answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/bucket", http.StatusTemporaryRedirect)
	}
	body, size, err := c.OpenArchive(ctx, "facet", "notes", "1.0.0")
	if err != nil || size != 5 {
		t.Fatalf("%d, %v", size, err)
	}
	body.Close()
	// What is published goes nowhere else, and neither does its token.
	if _, err := c.PublishArchive(ctx, "facet", "notes", Upload{Body: strings.NewReader("x"), Size: 1, Token: "secret"}); err == nil {
		t.Error("published elsewhere")
	}
	for _, kind := range []string{"server", "status", "", "../x"} {
		if _, err := c.ArchiveRecord(ctx, kind, "notes", "1.0.0"); err == nil ||
			!strings.Contains(err.Error(), "no kind of archive") {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if _, err := c.ArchiveRecord(ctx, "facet", "..", "1.0.0"); err == nil {
		t.Error("a path outside")
	}
}
