package pages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/pages"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/internal/registry/sqlite"
	"github.com/hallmark-mcp/hallmark/ledger"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// evil is what a publisher may put into any text: markup, ends of attributes and elements,
// what reorders or hides, a template's own marks.
const evil = `<script>evil()</script><evil-tag ` +
	`evil-attr=1>"'> onclick=evil() x="</textarea></title></pre></style><style>*{}</style>` +
	"<img src=x onerror=evil()><a href=\"javascript:evil()\">{{.}}<!-- ]]> " +
	"\u202e\u2066\u200b\u200d\u00ad\ufeff\U000e0041\u009b\u2028 &lt;b&gt; \\\"\\u003cevil>"

// pagesServer is a registry of everything that has pages.
func pagesServer(t *testing.T) (*servertest.Fixture, *sqlite.DB) {
	f, _ := servertest.FacetServer(t, func(c *api.Config) { c.Archives = registry.ArchiveKinds(archive.Limits{}) })
	return f, f.Config.Records.(*sqlite.DB)
}

// at sends a GET for a page, and demands its status and headers.
func at(t *testing.T, f *servertest.Fixture, path string, status int) string {
	t.Helper()
	res, err := http.Get(f.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, pages.MaxPage+1))
	if err != nil {
		t.Fatal(err)
	}
	h := res.Header
	switch {
	case res.StatusCode != status:
		t.Fatalf("%s: %d, want %d\n%.500s", path, res.StatusCode, status, body)
	case h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Referrer-Policy") != "no-referrer":
		t.Fatalf("%s: %v", path, h)
	case len(body) > pages.MaxPage:
		t.Fatalf("%s: more than %d bytes", path, pages.MaxPage)
	}
	_, sheet, _ := strings.Cut(string(body), "<style>")
	sheet, _, _ = strings.Cut(sheet, "</style>")
	if want := "default-src 'none'; style-src '" + api.Hash(sheet) +
		"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"; h.Get("Content-Security-Policy") != want {
		t.Fatalf("%s: policy %q, want %q", path, h.Get("Content-Security-Policy"), want)
	}
	return string(body)
}

// pageElements are what the templates have, with the attributes that they may have.
var pageElements = map[string][]string{
	"html": {"lang"}, "head": nil, "meta": {"charset", "name", "content"}, "title": nil, "style": nil, "body": nil,
	"header": nil, "nav": nil, "main": nil, "footer": nil, "section": nil, "h1": nil, "h2": {"id"}, "h3": nil,
	"p": {"class"},
	"a": {"class", "href", "rel", "referrerpolicy", "aria-current"}, "ul": {"class"}, "li": {"class"}, "dl": nil,
	"dt": nil, "dd": nil,
	"span": {"class"}, "strong": nil, "code": nil, "pre": {"class"}, "bdi": nil, "mark": {"title"},
	"time":    {"datetime"},
	"details": nil, "summary": nil, "del": {"class"}, "ins": nil, "form": {"class", "role", "action", "method"},
	"label": {"for"}, "button": nil,
	"input": {"id", "name", "type", "minlength", "maxlength", "value", "required"},
}

// wholesome demands that nothing but text of a page comes from anybody else, and returns
// its links within the registry.
func wholesome(t *testing.T, path, page string) (links []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for n := range doc.Descendants() {
		switch n.Type {
		case html.TextNode:
			if hidden := surface.FindHidden(n.Data); len(hidden) > 0 {
				t.Errorf("%s: text with hidden characters: %+.100q", path, n.Data)
			}
		case html.CommentNode:
			t.Errorf("%s: comment %.100q", path, n.Data)
		case html.ElementNode:
			known, ok := pageElements[n.Data]
			if !ok {
				t.Errorf("%s: element %q", path, n.Data)
			}
			attr := map[string]string{}
			for _, a := range n.Attr {
				if !slices.Contains(known, a.Key) || a.Namespace != "" {
					t.Errorf("%s: attribute %s of %s", path, a.Key, n.Data)
				}
				if strings.Contains(a.Val, "evil") && a.Key != "href" && (n.Data != "form" || a.Key != "action") {
					t.Errorf("%s: attribute %s=%q of %s", path, a.Key, a.Val, n.Data)
				}
				attr[a.Key] = a.Val
			}
			if id := attr["id"]; id != "" && ids[id] {
				t.Errorf("%s: id %s twice", path, id)
			} else {
				ids[id] = true
			}
			for _, key := range []string{"href", "action"} {
				to, ok := attr[key]
				if !ok {
					continue
				}
				u, err := url.Parse(to)
				switch {
				case err != nil:
					t.Errorf("%s: link %q: %v", path, to, err)
				case u.Scheme == "" && u.Host == "" && strings.HasPrefix(to, "/") || to == "openapi.yaml":
					if n.Data == "a" {
						links = append(links, "/"+strings.TrimPrefix(to, "/"))
					}
				case (u.Scheme == "https" || u.Scheme == "http") && key == "href":
					if attr["rel"] != "noopener nofollow ugc" || attr["referrerpolicy"] != "no-referrer" {
						t.Errorf("%s: link %q without its rel: %v", path, to, attr)
					}
				default:
					t.Errorf("%s: link %q", path, to)
				}
			}
		}
	}
	return links
}

// crawl follows every link from / on and returns the pages.
func crawl(t *testing.T, f *servertest.Fixture, gone ...string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	todo := []string{"/"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if _, ok := seen[path]; ok {
			continue
		}
		if len(seen) > 2000 {
			t.Fatal("there is no end of links")
		}
		if strings.HasPrefix(path, "/v0/") || path == "/docs" || path == "/openapi.yaml" { // not ours
			seen[path] = ""
			// of what was shelved there are no bytes
			if res, _ := registrytest.Send(t, "GET", f.URL+path, ""); res.StatusCode != 200 &&
				!strings.HasSuffix(path, "/archive") {
				t.Errorf("%s: %d", path, res.StatusCode)
			}
			continue
		}
		status := http.StatusOK
		if slices.Contains(gone, path) {
			status = http.StatusGone
		}
		seen[path] = at(t, f, path, status)
		todo = append(todo, wholesome(t, path, seen[path])...)
	}
	return seen
}

// publishEvil fills a registry with records whose every text is evil.
func publishEvil(t *testing.T, f *servertest.Fixture, db *sqlite.DB) (names []string) {
	t.Helper()
	ctx := context.Background()
	long := strings.Repeat("x", 100_000) + evil
	prose := strings.Repeat(evil+" ", 100<<10/len(evil))
	list := func(n int) string {
		text, err := json.Marshal(slices.Repeat([]string{evil}, n))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	claims := fmt.Sprintf(
		`[{"subject":%[1]s,"scheme":%[1]s,"authority":%[1]s,"where":%[1]s,"outcome":%[1]s,"expected":%[1]s,"actual":%[1]s,
		"from":"javascript:evil()","size":7,"weak":true,"cause":%[1]s,"reason":%[1]s},
		{"subject":%[2]s,"outcome":"mismatch","from":"https://evil.example.com/a?b=<c>"},{"subject":{"evil":1},"outcome":["evil"]}]`, quoted(evil), quoted(long))
	name := "io.evil" + evil[:60] + "/\u202en" // names have few bytes in the log
	for i, version := range []string{"1.0.0", "evil\"><\u202e/../ver sion&x=1#", "3.0.0"} {
		doc := fmt.Sprintf(
			`{"name":%[1]s,"version":%[2]s,"title":%[3]s,"description":%[4]s,"websiteUrl":"javascript:evil()//%[5]d","file_hashes":{%[3]s:%[3]s},
			"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"file_hashes":{%[3]s:%[3]s}}},
			"repository":{"url":"https://evil.example.com/\"onclick=evil()","subfolder":%[3]s},
			"packages":[{"registryType":%[3]s,"registryBaseUrl":"data:text/html,evil","identifier":%[3]s,"version":%[3]s,"fileSha256":%[3]s,"runtimeHint":%[3]s,
				"transport":{"type":%[3]s,"url":"https://evil@evil.example.com/"},"environmentVariables":[{"name":%[3]s,"description":%[4]s,"isRequired":true,"isSecret":true}]}],
			"remotes":[{"type":%[3]s,"url":"JaVaScRiPt:evil()","headers":[{"name":%[3]s,"description":%[3]s}]},{"type":"sse","url":"https://good.example.com/sse"},
				{"type":"sse","url":"//evil.example.com"},{"type":"sse","url":" https://evil.example.com"},{"type":"sse","url":"https:evil"},{"type":5,"url":"https://\u202eevil.example.com"}]}`,
			quoted(name), quoted(version), quoted(evil), quoted(prose[i*len(prose)/3:]), i)
		rec := registrytest.Record(t, name, version, i)
		rec.Document, rec.Digest = json.RawMessage(doc), registrytest.CanonicalDigest(t, doc)
		rec.Evidence, rec.Build, rec.Publisher = json.RawMessage(claims), evil, evil
		if i == 1 {
			rec.Origin, rec.ImportedAt, rec.Status, rec.StatusMessage = "https://evil.example.com/<b>",
				registrytest.Epoch, registry.Deprecated, evil
		}
		registrytest.Insert(t, db, rec)
		if err := db.AddFinding(ctx,
			registry.Finding{Name: name, Version: version, At: registrytest.Epoch.Add(time.Hour), Build: evil,
				Evidence: json.RawMessage(claims)}); err != nil {
			t.Fatal(err)
		}
	}
	names = append(names, name)
	manifest := func(name, version string) json.RawMessage {
		object := fmt.Sprintf(`{%s:{"description":%s}}`, quoted(evil), quoted(prose))
		return json.RawMessage(
			fmt.Sprintf(`{"name":%[1]s,"version":%[2]s,"description":%[4]s,"author":%[3]s,"skills":%[5]s,"agents":%[5]s,"commands":%[5]s,
			"servers":{%[3]s:{"command":%[3]s}},"facets":%[6]s,"runtime":%[3]s,"entry":%[3]s,"capabilities":{"tools":%[6]s,"resources":%[6]s,"prompts":%[6]s},
			"dependencies":%[6]s,"externalDependencies":[{"name":%[3]s}],"permissions":{%[3]s:%[3]s},"signatures":[{"alg":%[3]s,"keyId":%[3]s}]}`,
				quoted(name), quoted(version), quoted(evil), quoted(prose), object, list(20)))
	}
	for _, kind := range []ledger.Kind{ledger.Facet, ledger.Artifact, ledger.Plugin} {
		for i, version := range []string{"1.0.0", "2\"><script>evil()</script>\u202e"} {
			rec := registrytest.NewArchiveRecord(kind, name, version, 10+i)
			rec.Manifest, rec.Publisher, rec.Build, rec.StatusMessage = manifest(name, version), evil, evil, evil
			rec.APISurface = registrytest.Sum("evil")
			if i == 0 {
				rec.Status = registry.Deprecated
			}
			rec.Assets = map[string]digest.Digest{evil: registrytest.Sum("a")}
			for n := range 10 + pages.MaxRows*(1-i) {
				if kind != ledger.Facet && n == 20 {
					break
				}
				rec.Assets[fmt.Sprint(evil, n, i)] = registrytest.Sum(fmt.Sprint(n))
			}
			registrytest.Shelve(t, db, rec)
			if err := db.AddArchiveFinding(ctx,
				registry.Finding{Kind: kind, Name: name, Version: version, At: registrytest.Epoch, Build: evil,
					Evidence: json.RawMessage(claims)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	prose = strings.Repeat(evil, 3)
	tool := func(text string) json.RawMessage {
		return json.RawMessage(
			fmt.Sprintf(`{"name":%[1]s,"title":%[1]s,"description":%[2]s,"inputSchema":{"type":"object",`+
				`"properties":{%[1]s:{"type":"string","description":%[1]s,"enum":[%[1]s]}}}}`,
				quoted(text), quoted(prose+text)))
	}
	other := json.RawMessage(
		fmt.Sprintf(`{"name":%[1]s,"uri":%[1]s,"uriTemplate":%[1]s,"description":%[1]s}`, quoted(evil)))
	for i, text := range []string{evil, evil + " [-evil-]{+evil+} "} {
		s, err := surface.New(
			surface.Listing{Instructions: evil + fmt.Sprint(i),
				Tools:   []json.RawMessage{tool(text), tool("same" + evil)},
				Prompts: []json.RawMessage{other}, Resources: []json.RawMessage{other},
				ResourceTemplates: []json.RawMessage{other}})
		if err != nil {
			t.Fatal(err)
		}
		shows(t, f, "@acme/evil", fmt.Sprintf("1.0.%d", i), s)
	}
	return append(names, "@acme/evil")
}

// shows publishes a packed server that says what it shows.
func shows(t *testing.T, f *servertest.Fixture, name, version string, s *surface.Surface) {
	t.Helper()
	data, _ := servertest.PackFacet(t, map[string]string{
		"server.json": fmt.Sprintf(
			`{"name": %q, "version": %q, "runtime": "node", "entry": "main.js", "api_surface": %q}`, name, version,
			s.APISurface().String()),
		"main.js": "0", pages.SurfaceFile: string(s.FormatIndented()),
	})
	if _, err := servertest.Put(f, ledger.Artifact, name, data, ""); err != nil {
		t.Fatal(err)
	}
}

// awaitSigned waits until the log covers all entries.
func awaitSigned(t *testing.T, f *servertest.Fixture) {
	t.Helper()
	state, err := f.Config.Log.Entries().LogState(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Config.Log.Covering(context.Background(), state.Size-1); err != nil {
		t.Fatal(err)
	}
}

// Whatever a publisher writes is text.
func TestPagesHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("asks for pages as TestPages does")
	}
	f, db := pagesServer(t)
	publishEvil(t, f, db)
	awaitSigned(t, f)
	found := crawl(t, f)
	has := func(part string) (n int) {
		for path := range found {
			if strings.Contains(path, part) {
				n++
			}
		}
		return n
	}
	for part, want := range map[string]int{"/servers/": 5, "/facets/": 3, "/artifacts/": 6, "/plugins/": 3,
		"/diff?against=": 7, "/log/": 15} {
		if got := has(part); got < want {
			t.Errorf("%d pages with %s were found, want %d", got, part, want)
		}
	}
	var all strings.Builder
	for _, page := range found {
		all.WriteString(page)
	}
	for _, want := range []string{
		`<mark title="bidi control">\u{202e}\u{2066}</mark>`, `<mark title="tag character">\u{e0041}</mark>`,
		`<mark title="control">\u{9b}</mark>`,
		`<a href="https://good.example.com/sse" rel="noopener nofollow ugc"`, "&lt;script&gt;evil()",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no page has %s", want)
		}
	}
	for _, path := range []string{"/?search=script", "/servers?search=script", "/facets?search=script",
		"/plugins?search=script"} {
		wholesome(t, path, at(t, f, path, 200))
	}
	for _, path := range []string{"/servers/" + url.PathEscape("a"+evil[:50]), "/facets/%22%3E%3Cevil%3E",
		"/servers/a/b/versions/%3Cevil%3E%E2%80%AE", "/servers/a/b/versions/1/diff?against=%3Cevil%3E"} {
		wholesome(t, path, at(t, f, path, 404))
	}
}

// publishPlain fills a registry as its users do, with so many more servers.
func publishPlain(t *testing.T, f *servertest.Fixture, db *sqlite.DB, more int) {
	t.Helper()
	ctx := context.Background()
	doc := func(name, version, description string) []byte {
		return []byte(
			strings.Replace(string(registrytest.Document(name, version)), "reads <notes> & more", description, 1))
	}
	for i, version := range []string{"1.0.0", "1.1.0", "1.2.0", "2.0.0-beta.1"} {
		if _, err := f.Publish(ctx,
			doc("io.github.acme/notes", version, fmt.Sprint("Reads notes, writes none, and keeps ", i, " copies")),
			""); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := db.SetStatus(ctx, "io.github.acme/notes", "1.0.0",
		registry.Change{Status: registry.Deleted, Message: "leaked <a> key",
			At: registrytest.Epoch.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.SetStatus(ctx, "io.github.acme/notes", "1.1.0",
		registry.Change{Status: registry.Deprecated, Message: "use 1.2.0",
			At: registrytest.Epoch.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for i := range more {
		if _, err := f.Publish(ctx, doc(fmt.Sprintf("com.example/tool-%02d", i), "1.0.0", "One of many"), ""); err !=
			nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		data, _ := servertest.NewFacet(t, "@acme/review", version, "# Critic of "+version)
		if _, err := servertest.Put(f, ledger.Facet, "@acme/review", data, ""); err != nil {
			t.Fatal(err)
		}
	}
	for i, description := range []string{"Reads a file from disk", "Reads a file from disk and mails\u200b it"} {
		s, err := surface.New(surface.Listing{Instructions: "Be brief.", Tools: []json.RawMessage{json.RawMessage(
			`{"name":"read_file","description":"` + description +
				`","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`)}})
		if err != nil {
			t.Fatal(err)
		}
		shows(t, f, "@acme/files", fmt.Sprintf("1.0.%d", i), s)
	}
	registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Plugin, "redact", "1.0.0", 100))
	registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Facet, "redact", "1.1.0", 99))
	registrytest.Shelve(t, db, registrytest.NewArchiveRecord(ledger.Plugin, "redact", "1.1.0", 101))
	if _, _, err := db.SetArchiveStatus(ctx, ledger.Plugin, "redact", "1.1.0",
		registry.Change{Status: registry.Deleted, At: registrytest.Epoch.Add(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	awaitSigned(t, f)
}

// Every page is found from the first one, and none leads anywhere else.
func TestPages(t *testing.T) {
	f, db := pagesServer(t)
	publishPlain(t, f, db, 65)
	gone := "/servers/io.github.acme/notes/versions/1.0.0"
	goneToo := "/plugins/redact/versions/1.1.0"
	found := crawl(t, f, gone, goneToo)
	for path, want := range map[string][]string{
		"/":                             {"@acme/files", "redact", "com.example/tool-64"},
		"/servers":                      {"com.example/tool-00", "One of many"},
		"/servers/io.github.acme/notes": {"1.2.0", "deprecated", "latest", "2.0.0-beta.1"},
		"/servers/io.github.acme/notes/versions/1.2.0": {"Reads notes, writes none, and keeps 2 copies",
			"[providers.mcp.notes]", "io.github.acme/notes@1.2.0", "hallmark pin notes",
			"@example/server", "c2sp.org/tlog-proof@v1", `<span class="tag match">match</span>`, "/diff?against=1.1.0",
			"entry 2",
			`<span class="tag unverifiable">unverifiable</span> <strong><bdi>npm:@example/server@1.0.0</bdi></strong>`,
			"this registry did not recompute it"},
		"/servers/io.github.acme/notes/versions/1.1.0":                    {"use 1.2.0"},
		"/servers/io.github.acme/notes/versions/1.2.0/diff?against=1.1.0": {"keeps 1 copies", "keeps 2 copies"},
		gone: {"was deleted: leaked &lt;a&gt; key"},
		"/facets/@acme/review/versions/1.1.0": {"critic", "Criticises", "hallmark add @acme/review@1.1.0",
			"agents/critic.md"},
		"/facets/@acme/review/versions/1.1.0/diff?against=1.0.0": {"agents/critic.md", "changed"},
		"/artifacts/@acme/files/versions/1.0.1": {"read_file", "Be brief.", "&#34;required&#34;",
			`<mark title="zero width">\u{200b}</mark>`, pages.SurfaceFile + " in the archive"},
		"/artifacts/@acme/files/versions/1.0.1/diff?against=1.0.0": {"description-changed", "<ins>", "mails",
			"\\u{200b}", "high"},
		"/plugins/redact/versions/1.0.0": {"hallmark plugin install redact@1.0.0"},
		"/log":                           {"artifact", "Older entries"},
	} {
		page, ok := found[path]
		if !ok {
			t.Errorf("%s was not found", path)
			continue
		}
		for _, part := range want {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q", path, part)
			}
		}
	}
	if strings.Contains(found["/"]+found["/plugins"]+found["/plugins/redact"], goneToo) ||
		!strings.Contains(found["/"], "redact") || strings.Contains(found["/servers/io.github.acme/notes"], gone) {
		t.Error("a deleted version is listed")
	}
	if strings.Contains(found[gone], "Reads notes") {
		t.Error("a deleted version is shown")
	}
	if page := found["/facets/redact/versions/1.1.0"]; page == "" || strings.Contains(page, "status: deleted") {
		t.Error("a facet has the status of a plugin of its name")
	}
	if page := found["/facets/@acme/review/versions/1.1.0/diff?against=1.0.0"]; strings.Count(page, ">differs<") != 2 ||
		strings.Contains(page, ">same<") {
		t.Error("the fingerprints of two versions are not told apart")
	}
	// The log is the whole history, the message of a deletion excepted.
	log := found["/log"]
	for path, page := range found {
		if strings.HasPrefix(path, "/log?") {
			log += page
		}
	}
	for _, part := range []string{"status: deleted", "status: deprecated", gone} {
		if !strings.Contains(log, part) {
			t.Errorf("the log lacks %q", part)
		}
	}
	if strings.Contains(log, "leaked") {
		t.Error("the log shows a message")
	}
	lists := 0
	for path := range found {
		if strings.HasPrefix(path, "/servers?") {
			lists++
		}
	}
	if lists != 2 {
		t.Errorf("%d further pages of 66 servers", lists)
	}
}

// What an older document locates is a package of its page.
func TestLocatedPackages(t *testing.T) {
	f, _ := pagesServer(t)
	doc := []byte(`{"$schema":"` + serverjson.CurrentSchema + `","name":"io.github.acme/located","description":"d","version":"1.0.0",
		"package_location":{"type":"npm","package_name":"@acme/located","version":"1.0.0"}}`)
	if _, err := f.Publish(t.Context(), doc, ""); err != nil {
		t.Fatal(err)
	}
	page := at(t, f, "/servers/io.github.acme/located/versions/1.0.0", http.StatusOK)
	if !strings.Contains(page, "@acme/located") || !strings.Contains(page, "Packages") {
		t.Error(page)
	}
}
