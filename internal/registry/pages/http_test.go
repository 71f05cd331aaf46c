package pages_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/blobs"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Mistakes of a person are answered with a page, those of a program as before.
func TestPagesRefuse(t *testing.T) {
	f, db := pagesServer(t)
	publishPlain(t, f, db, 1)
	for path, status := range map[string]int{
		"/?search=ab":           400,
		"/?search=a&search=b":   400,
		"/servers?cursor=%21":   400,
		"/servers?search=ab":    400,
		"/servers/a":            404,
		"/servers/a/b":          404,
		"/servers/a/b/c":        404,
		"/servers/a/b/versions": 404,
		"/servers/%ff%fe/b":     404,
		"/facets/none":          404,
		"/facets/@acme":         404,
		"/plugins/redact/x/y":   404,
		"/log?before=x":         400,
		"/log?before=-1":        400,
		"/log/007":              404,
		"/log/99999":            404,
		"/log/-1":               404,
		"/servers/io.github.acme/notes?cursor=AAAA":                          400,
		"/servers/io.github.acme/notes/versions/9.9.9":                       404,
		"/servers/io.github.acme/notes/versions/1.2.0/diff":                  400,
		"/servers/io.github.acme/notes/versions/1.2.0/diff?against=9.9.9":    404,
		"/servers/io.github.acme/notes/versions/1.2.0/diff?against=1.0.0":    410,
		"/servers/io.github.acme/notes/versions/1.0.0/diff?against=1.2.0":    410,
		"/facets/@acme/review/versions/9.9.9":                                404,
		"/servers/" + strings.Repeat("a", 2000) + "/b":                       404,
		"/servers/a/b/versions/" + strings.Repeat("1", 2000):                 404,
		"/servers/a/b/versions/1/diff?against=" + strings.Repeat("1", 2_000): 400,
	} {
		wholesome(t, path, at(t, f, path, status))
	}
	for _, path := range []string{"/servers/io.github.acme%2Fnotes/versions/latest", "/facets/@acme%2Freview",
		"/servers/io.github.acme/notes/versions/1.2.0/diff?against=1.2.0", "/log?before=3",
		"/log?before=999999999999999999"} {
		wholesome(t, path, at(t, f, path, 200))
	}
	// What programs are answered does not change with what they accept.
	for _, path := range []string{"/v0/servers", "/v0.1/servers/io.github.acme%2Fnotes/versions", "/v0/facets",
		"/v0/nothing", "/nothing", "/robots.txt"} {
		res, text := registrytest.Send(t, "GET", f.URL+path, "", "Accept", "text/html")
		if media := res.Header.Get("Content-Type"); media != "application/json" && media != registry.ProblemType ||
			strings.Contains(text, "<html") {
			t.Errorf("%s: %s %.100s", path, media, text)
		}
	}
	for _, path := range []string{"/", "/servers", "/log", "/facets/@acme/review"} {
		if res, _ := registrytest.Send(t, "POST", f.URL+path, ""); res.StatusCode != http.StatusMethodNotAllowed ||
			res.Header.Get("Content-Type") != registry.ProblemType {
			t.Errorf("POST %s: %d", path, res.StatusCode)
		}
		head, err := http.Head(f.URL + path)
		if err != nil || head.StatusCode != 200 || head.ContentLength <= 0 {
			t.Errorf("HEAD %s: %v %v", path, head, err)
		}
	}
}

// A page has an end, whatever is in a record.
func TestPagesBounded(t *testing.T) {
	f, db := pagesServer(t)
	rec := registrytest.Record(t, "com.example/large", "1.0.0", 0)
	doc := `{"name":"com.example/large","version":"1.0.0","remotes":[{"type":"sse","url":"https://example.com",` +
		`"headers":[{}` +
		strings.Repeat(`,{"name":"`+strings.Repeat("a\u200b", 70)+`"}`, 1500) + `]}]}`
	rec.Document, rec.Digest = []byte(doc), registrytest.CanonicalDigest(t, doc)
	registrytest.Insert(t, db, rec)
	awaitSigned(t, f)
	page := at(t, f, "/servers/com.example/large/versions/1.0.0", 500)
	if wholesome(t, "", page); !strings.Contains(page, "from the API") {
		t.Errorf("%s", page)
	}
}

// A page that did not change is not sent again.
func TestPagesCached(t *testing.T) {
	f, db := pagesServer(t)
	publishPlain(t, f, db, 1)
	const path = "/servers/io.github.acme/notes/versions/1.2.0"
	res, _ := registrytest.Send(t, "GET", f.URL+path, "")
	tag := res.Header.Get("ETag")
	if len(tag) < 20 || res.Header.Get("Cache-Control") != pages.CachePage {
		t.Fatalf("%v", res.Header)
	}
	if res, text := registrytest.Send(t, "GET", f.URL+path, "", "If-None-Match", tag); res.StatusCode !=
		http.StatusNotModified || text != "" {
		t.Errorf("%d %q", res.StatusCode, text)
	}
	if err := db.AddFinding(context.Background(),
		registry.Finding{Name: "io.github.acme/notes", Version: "1.2.0", At: registrytest.Epoch, Build: "9",
			Evidence: []byte(`[{"subject":"npm:x@1","outcome":"mismatch"}]`)}); err != nil {
		t.Fatal(err)
	}
	res, text := registrytest.Send(t, "GET", f.URL+path, "", "If-None-Match", tag)
	if res.StatusCode != 200 || !strings.Contains(text, "Found later") ||
		!strings.Contains(text, `<span class="tag mismatch">finding</span>`) {
		t.Errorf("%d: the finding is not shown", res.StatusCode)
	}
	if res, _ := registrytest.Send(t, "GET", f.URL+"/nothing/of/this", ""); res.Header.Get("ETag") != "" {
		t.Error("an error has a tag")
	}
}

// A registry without a log and archives has pages for what it has.
func TestPagesAlone(t *testing.T) {
	f := servertest.Serve(t, nil, nil)
	registrytest.Send(t, "POST", f.URL+"/v0/publish", string(registrytest.Document("io.github.o/notes", "1.0.0")),
		"Content-Type", "application/json")
	pages := crawl(t, f)
	if page := pages["/servers/io.github.o/notes/versions/1.0.0"]; !strings.Contains(page, "no entry about it") ||
		strings.Contains(pages["/"], "/log") {
		t.Errorf("%s", page)
	}
	for _, path := range []string{"/log", "/facets", "/log/0"} {
		if res, _ := registrytest.Send(t, "GET", f.URL+path, ""); res.StatusCode != 404 ||
			res.Header.Get("Content-Type") != registry.ProblemType {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// A record that is not what the log says is seen to be so.
func TestPagesOfAnAlteredRecord(t *testing.T) {
	f, db := pagesServer(t)
	publishPlain(t, f, db, 1)
	servertest.Alter(t, db, `UPDATE servers SET document = replace(document, 'keeps 2', 'keeps 9') WHERE version = '1.2.0'`)
	page := at(t, f, "/servers/io.github.acme/notes/versions/1.2.0", 200)
	if !strings.Contains(page, "keeps 9") || !strings.Contains(page, `<span class="tag mismatch">mismatch</span>`) {
		t.Error("the page does not show that the record is another one")
	}
	servertest.Alter(t, db, `UPDATE archives SET content_integrity = content_hash WHERE name = '@acme/review'`)
	if page := at(t, f, "/facets/@acme/review/versions/1.1.0", 200); !strings.Contains(page,
		`<span class="tag mismatch">mismatch</span>`) {
		t.Error("the page does not show that the facet is another one")
	}
	servertest.Alter(t, db, `UPDATE archives SET manifest = replace(manifest, 'a <b>', 'an <i>') WHERE name = 'redact'`)
	if page := at(t, f, "/plugins/redact/versions/1.0.0", 200); !strings.Contains(page,
		`<span class="tag mismatch">mismatch</span>`) {
		t.Error("the page does not show that the manifest is another one")
	}
}

// What a packed server shows is its publisher's word, and seen where it is not what the
// record says.
func TestPagesSurface(t *testing.T) {
	f, _ := pagesServer(t)
	s, err := surface.New(surface.Listing{Instructions: "Do."})
	if err != nil {
		t.Fatal(err)
	}
	publish := func(version, api, file string) registry.ArchiveRecord {
		t.Helper()
		data, _ := servertest.PackFacet(t, map[string]string{
			"server.json": fmt.Sprintf(
				`{"name": "@acme/srv", "version": %q, "runtime": "node", "entry": "main.js", "api_surface": %q}`,
				version, api),
			"main.js": "0", pages.SurfaceFile: file,
		})
		rec, err := servertest.Put(f, ledger.Artifact, "@acme/srv", data, "")
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	publish("1.0.0", registrytest.Sum("other").String(), string(s.FormatIndented()))
	publish("1.0.1", s.APISurface().String(), `{"evil":1}`)
	publish("1.0.2", s.APISurface().String(), strings.Repeat(" ", pages.MaxSurface+1))
	awaitSigned(t, f)
	for version, want := range map[string]string{"1.0.0": `<span class="tag mismatch">mismatch</span>`,
		"1.0.1": "is no hallmark.surface/v1", "1.0.2": "too large"} {
		for range 2 { // the second time from what is kept
			if page := at(t, f, "/artifacts/@acme/srv/versions/"+version, 200); !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", version, want)
			}
		}
	}
	if page := at(t, f, "/artifacts/@acme/srv/versions/1.0.1/diff?against=1.0.0", 200); !strings.Contains(page,
		"1.0.1: ") {
		t.Error("a surface was compared with none")
	}
	// What is missing or damaged now may be there later, what was read once is kept.
	rec := publish("1.0.3", s.APISurface().String(), string(s.FormatIndented()))
	blob, err := f.Config.Blobs.(*blobs.Files).Path(rec.ContentHash)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := servertest.NewServerArchive(t, "@acme/srv", "1.0.3")
	for _, step := range []struct {
		change func() error
		want   string
	}{
		{func() error { return os.Rename(blob, blob+".away") }, "The archive is gone."},
		{func() error { return os.Rename(blob+".away", blob) }, "Instructions</h3>"},
		{func() error { return os.WriteFile(blob, other, 0o644) }, "Instructions</h3>"},
		{func() error { return os.WriteFile(blob, whole, 0o644) }, "Instructions</h3>"},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if page := at(t, f, "/artifacts/@acme/srv/versions/1.0.3", 200); !strings.Contains(page, step.want) {
			t.Errorf("no %q", step.want)
		}
	}
	// So is what breaks off within the surface: it is no other file than the one that was published.
	var text strings.Builder
	for range 1000 { // which a compression does not make short
		text.WriteString(rand.Text())
	}
	long, err := surface.New(surface.Listing{Instructions: text.String()})
	if err != nil {
		t.Fatal(err)
	}
	rec = publish("1.0.4", long.APISurface().String(), string(long.FormatIndented()))
	if blob, err = f.Config.Blobs.(*blobs.Files).Path(rec.ContentHash); err != nil {
		t.Fatal(err)
	}
	if whole, err = os.ReadFile(blob); err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		size int
		want string
	}{{len(whole) * 3 / 4, "cannot be read now"}, {len(whole), "Instructions</h3>"}} {
		if err := os.WriteFile(blob, whole[:part.size], 0o644); err != nil {
			t.Fatal(err)
		}
		if page := at(t, f, "/artifacts/@acme/srv/versions/1.0.4", 200); !strings.Contains(page, part.want) {
			t.Errorf("of %d bytes of %d: no %q", part.size, len(whole), part.want)
		}
	}
}
