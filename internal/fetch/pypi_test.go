package fetch

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

// release is a document of the JSON API with files "name" or "name=body claimed".
func release(name, version string, files ...string) string {
	var urls []string
	for _, f := range files {
		file, body, _ := strings.Cut(f, "=")
		urls = append(urls,
			fmt.Sprintf(`{"filename":"%s","url":"BASE/files/%s","digests":{"md5":"00","sha256":"%s"},"yanked":false}`,
				file, file, sha(body)))
	}
	return fmt.Sprintf(`{"info":{"name":"%s","version":"%s","description":"the text"},"urls":[%s]}`, name, version,
		strings.Join(urls, ","))
}

func TestPyPI(t *testing.T) {
	config := testConfig(t)
	s := newSite(t, map[string]string{
		"/pypi/a-b/1.0/json": release("A.b", "1.0.0", "a_b-1.0.0-py3-none-any.whl=wheel", "a_b-1.0.0.tar.gz=other",
			"a_b-1.0.0-lost-py3-none-any.whl=x"),
		"/pypi/two/1.0/json": release("two", "1.0", "two-1.0.zip=a", "two-1.0.tar.gz=b"),
		"/pypi/one/1.0/json": release("one", "1.0", "one-1.0.tar.gz=sdist"),
		"/pypi/yank/1.0/json": `{"info":{"name":"yank","version":"1.0"},"urls":[
			{"filename":"yank-1.0.tar.gz","url":"BASE/files/one-1.0.tar.gz","digests":{"sha512":"` +
			strings.Repeat("0", 128) + `"},"yanked":true,"yanked_reason":"leaks"},
			{"filename":"yank-1.0.zip","url":"BASE/files/one-1.0.tar.gz","digests":{"md5":"00"},
				"yanked":true,"yanked_reason":null},
			{"filename":"yank-1.0.tgz","url":"BASE/files/one-1.0.tar.gz","digests":{}},
			{"filename":"yank-1.0.tar.xz","url":"BASE/files/one-1.0.tar.gz","digests":{"sha256":"12"}}]}`,
		"/files/a_b-1.0.0-py3-none-any.whl": "wheel",
		"/files/a_b-1.0.0.tar.gz":           "sdist",
		"/files/one-1.0.tar.gz":             "sdist",
	})
	config.PyPI.Base = s.base + "/"
	c := newClient(t, config)

	ref := "pypi:a_B==1.0/a_b-1.0.0-py3-none-any.whl"
	d, err := get(t, c, ref)
	if err == nil && (d.Observed.From != s.base+"/files/a_b-1.0.0-py3-none-any.whl" || d.Yanked != "" ||
		d.Claims[0].Where != "the PyPI registry, digests.sha256") {
		t.Errorf("%+v", d)
	}
	if got := outcomes(t, d, err); !slices.Equal(got, []evidence.Outcome{evidence.Match}) {
		t.Errorf("%s: %v", ref, got)
	}
	d, err = get(t, c, ref)
	wantBody(t, d, err, "wheel")

	// The registry claims the digest of other bytes.
	d, err = get(t, c, "pypi:a-b==1.0/a_b-1.0.0.tar.gz")
	if got := outcomes(t, d, err); !slices.Equal(got, []evidence.Outcome{evidence.Mismatch}) {
		t.Errorf("%v", got)
	}
	// The file was replaced between two fetches.
	d, err = get(t, c, "pypi:one==1.0")
	if got := outcomes(t, d, err); !slices.Equal(got, []evidence.Outcome{evidence.Match}) {
		t.Errorf("%v", got)
	}
	s.pages["/files/one-1.0.tar.gz"] = "replaced"
	d, err = get(t, c, "pypi:one==1.0")
	if got := outcomes(t, d, err); !slices.Equal(got, []evidence.Outcome{evidence.Mismatch}) {
		t.Errorf("%v", got)
	}

	for file, want := range map[string]struct {
		yanked   string
		outcomes string
	}{
		"yank-1.0.tar.gz": {"leaks", "[mismatch]"},
		"yank-1.0.zip":    {"no reason given", "[unverifiable]"},
		"yank-1.0.tgz":    {"", "[]"},
		"yank-1.0.tar.xz": {"", "[unverifiable]"},
	} {
		d, err := get(t, c, "pypi:yank==1.0/"+file)
		if err != nil {
			t.Fatal(err)
		}
		if d.Yanked != want.yanked {
			t.Errorf("%s: yanked %q", file, d.Yanked)
		}
		if got := fmt.Sprint(outcomes(t, d, nil)); got != want.outcomes {
			t.Errorf("%s: %s", file, got)
		}
	}

	_, err = get(t, c, "pypi:a.b==1.0")
	e := wantError(t, err, evidence.Ambiguous, "3 files", ", a_b-1.0.0.tar.gz")
	if len(e.Files) != 3 || !strings.Contains(e.Hint, "pypi:a.b==1.0/a_b-") {
		t.Errorf("files %v, hint %q", e.Files, e.Hint)
	}
	_, err = get(t, c, "pypi:two==1.0")
	wantError(t, err, evidence.Ambiguous, "2 files: two-1.0.tar.gz, two-1.0.zip")
	_, err = get(t, c, "pypi:a.b==1.0/a_b-1.0.0-lost-py3-none-any.whl")
	wantError(t, err, evidence.NotFound, "404", "/files/")
	_, err = get(t, c, "pypi:a.b==1.0/a_b-1.0.0.zip")
	wantError(t, err, evidence.NotFound, "404") // of the simple API, which is asked too
	_, err = get(t, c, "pypi:a.b==2.0/a_b-2.0.zip")
	if e := wantError(t, err, evidence.NotFound, "404"); e.Hint == "" {
		t.Error("no hint")
	}

	refs, err := c.Files(context.Background(), mustRef(t, "pypi:A_b==1.0"))
	if want := "[pypi:A_b==1.0/a_b-1.0.0-lost-py3-none-any.whl pypi:A_b==1.0/a_b-1.0.0-py3-none-any.whl " +
		"pypi:A_b==1.0/a_b-1.0.0.tar.gz]"; err != nil || fmt.Sprint(refs) != want {
		t.Errorf("%v, %v", refs, err)
	}
	s.requests()
	for _, ref := range []string{ref, "npm:a@1.0.0", "https://files.example.com/f"} {
		refs, err := c.Files(context.Background(), mustRef(t, ref))
		if err != nil || len(refs) != 1 || refs[0] != mustRef(t, ref) {
			t.Errorf("%v, %v", refs, err)
		}
	}
	if log := s.requests(); len(log) != 0 {
		t.Errorf("requests %v", log)
	}

	text, err := c.Description(context.Background(), mustRef(t, "pypi:a-b==1.0"))
	if err != nil || text != "the text" {
		t.Errorf("%q, %v", text, err)
	}
	_, err = c.Description(context.Background(), mustRef(t, "pypi:a-b==9"))
	wantError(t, err, evidence.NotFound, "404")
	// A mirror without documents of releases: that of the project, if it is of this one.
	s.pages["/pypi/a-b/json"] = release("a-b", "9")
	text, err = c.Description(context.Background(), mustRef(t, "pypi:a-b==9.0"))
	if err != nil || text != "the text" {
		t.Errorf("%q, %v", text, err)
	}
	_, err = c.Description(context.Background(), mustRef(t, "pypi:a-b==8"))
	wantError(t, err, evidence.NotFound, `"9"`)
}

func TestPyPIRefusals(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	config.Limits.DocumentSize = 2200
	file := func(name, url string) string {
		return fmt.Sprintf(`{"info":{"name":"%s","version":"1"},"urls":[{"filename":"f.zip","url":"%s","digests":{}}]}`,
			name, url)
	}
	s := newSite(t, map[string]string{
		"/pypi/html/1/json":      "<html>log in</html>",
		"/pypi/list/1/json":      "[]",
		"/pypi/other/1/json":     release("another", "1", "f.zip"),
		"/pypi/version/1/json":   release("version", "1.0.1", "f.zip"),
		"/pypi/noversion/1/json": release("noversion", "none", "f.zip"),
		"/pypi/none/1/json":      release("none", "1"),
		"/pypi/large/1/json":     strings.Repeat(" ", 2201),
		"/pypi/broken/1/json":    "500",
		"/pypi/private/1/json":   "403",
		"/pypi/plain/1/json":     file("plain", "http://files.example.com/f"),
		"/pypi/ftp/1/json":       file("ftp", "ftp://files.example.com/f"),
		"/pypi/user/1/json":      file("user", "https://u:secret@files.example.com/f"),
		"/pypi/bad/1/json":       file("bad", "https://[::1"),
		"/pypi/long/1/json": file("long",
			"https://files.example.com/"+strings.Repeat("a", 1990)+"?"+strings.Repeat("b", 40)),
		"/pypi/encoded/1/json": release("encoded", "1", "f.zip"),
		"/pypi/gzip/1/json":    release("gzip", "1", "gzip.zip"),
		"/pypi/twice/1/json":   release("twice", "1", "f.zip=a", "f.zip=b"),
		"/pypi/same/1/json":    release("same", "1", "f.zip=x", "f.zip=x"),
		"/files/gzip.zip":      "x",
		"/files/f.zip":         "x",
	})
	s.kinds["/pypi/encoded/1/json"], s.kinds["/files/gzip.zip"] = "encoded gzip", "encoded gzip"
	config.PyPI.Base = s.base
	c := newClient(t, config)
	for name, want := range map[string]struct {
		cause evidence.Cause
		part  string
	}{
		"html":      {evidence.Unreachable, "not a release's document"},
		"list":      {evidence.Unreachable, "not a release's document"},
		"other":     {evidence.NotFound, "404"},
		"version":   {evidence.NotFound, "404"},
		"noversion": {evidence.NotFound, "404"},
		"none":      {evidence.NotFound, "404"},
		"large":     {evidence.TooLarge, "limit of 2,200"},
		"broken":    {evidence.Unreachable, "500"},
		"private":   {evidence.Unreachable, "403"},
		"plain":     {evidence.Unsupported, "plain http"},
		"ftp":       {evidence.Unsupported, `"ftp"`},
		"user":      {evidence.Unsupported, "user name or password"},
		"long":      {evidence.Unsupported, "longer than 2048"},
		"bad":       {evidence.Unsupported, "cannot be parsed"},
		"encoded":   {evidence.Unsupported, `encoded as "gzip"`},
		"gzip":      {evidence.Unsupported, `encoded as "gzip"`},
		"twice":     {evidence.Ambiguous, `"f.zip" twice`},
	} {
		_, err := get(t, c, "pypi:"+name+"==1")
		wantError(t, err, want.cause, want.part)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d, err := get(t, c, "pypi:same==1")
	wantBody(t, d, err, "x")

	// Whose document it is says the error of the JSON API itself.
	from, _ := url.Parse(s.base)
	_, _, err = c.fetchPyPIRelease(context.Background(), mustRef(t, "pypi:other==1"), from.String(),
		"other", "1", "json")
	wantError(t, err, evidence.NotFound, `"another"`)
	_, _, err = c.fetchPyPIRelease(context.Background(), mustRef(t, "pypi:version==1"), from.String(),
		"version", "1", "json")
	wantError(t, err, evidence.NotFound, `"1.0.1"`)

	for _, base := range []string{"http://pypi.example.com", "https://u:secret@pypi.example.com", "https://%zz",
		"pypi.example.com"} {
		config.PyPI.Base = base
		_, err := get(t, newClient(t, config), "pypi:a==1")
		wantError(t, err, evidence.Unsupported)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}

// TestPyPIIndexes: the file comes from the first index that has it. An index that does not
// answer ends the search, so that a stranger's package cannot take its place.
func TestPyPIIndexes(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	page := `<a href="../../f/a-1.0.tar.gz">x</a><a href="../../f/a-2.0.tar.gz">y</a>`
	first := newSite(t, map[string]string{"/simple/a/": page, "/f/a-1.0.tar.gz": "first"})
	second := newSite(t,
		map[string]string{"/simple/a/": page + `<a href="/f/a-3.0.tar.gz">`, "/f/a-1.0.tar.gz": "second",
			"/f/a-3.0.tar.gz": "third", "/simple/b/": `<a href="/f/a-1.0.tar.gz#sha256=0">`})
	config.PyPI.Indexes = []string{first.base + "/simple", second.base + "/simple/"}
	c := newClient(t, config)
	d, err := get(t, c, "pypi:a==1.0/a-1.0.tar.gz")
	wantBody(t, d, err, "first")
	if log := second.requests(); len(log) != 0 {
		t.Errorf("requests %v", log)
	}
	d, err = get(t, c, "pypi:a==3.0")
	wantBody(t, d, err, "third")
	_, err = get(t, c, "pypi:a==4.0")
	if e := wantError(t, err, evidence.NotFound); !strings.Contains(e.Hint, "none of the 2") {
		t.Errorf("hint %q", e.Hint)
	}
	for _, status := range []string{"500", "403", "401", "429"} {
		first.pages["/simple/a/"] = status
		second.requests()
		_, err = get(t, c, "pypi:a==3.0")
		wantError(t, err, evidence.Unreachable, status)
		if log := second.requests(); len(log) != 0 {
			t.Errorf("%s: requests %v", status, log)
		}
	}
}

func TestPyPISources(t *testing.T) {
	public := model.RegistryURLPyPI
	for _, tt := range []struct {
		config userconfig.PyPI
		want   []pypiSource
	}{
		{userconfig.PyPI{}, []pypiSource{{public, public + "/simple"}}},
		{userconfig.PyPI{Base: "https://pypi.example.com/"},
			[]pypiSource{{"https://pypi.example.com", "https://pypi.example.com/simple"}}},
		{userconfig.PyPI{Indexes: []string{"https://pypi.example.com/simple", public + "/simple/"}},
			[]pypiSource{{"", "https://pypi.example.com/simple"}, {public, public + "/simple/"}}},
	} {
		if got := pypiSources(tt.config); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v", tt.config, got)
		}
	}
}

func TestReleaseOf(t *testing.T) {
	for _, tt := range []struct{ project, file, version string }{
		{"a-b", "a_b-1.0-py3-none-any.whl", "1.0"},
		{"a-b", "A.B-1.0-1-py3-none-any.whl", "1.0"},
		{"a", "a-1.0+cpu-py3-none-any.whl", "1.0+cpu"},
		{"a-b", "a-b-1.0-py3-none-any.whl", ""},
		{"a", "b-1.0-py3-none-any.whl", ""},
		{"a", "a-1.0.whl", ""},
		{"a-b", "a-b-1.0.tar.gz", "1.0"},
		{"a-b", "a_b-1.0.zip", "1.0"},
		{"a-b", "a_b-1.0-2.tar.bz2", "1.0-2"},
		{"a", "a-b-1.0.tar.gz", "b-1.0"}, // no version, so of no release
		{"a", "a-1.0-py2.7.egg", "1.0"},
		{"a", "b-1.0-py2.7.egg", ""},
		{"a", "a.egg", ""},
		{"a", "a-1.0.exe", ""},
		{"a", "a.tar.gz", ""},
		{"a", "", ""},
	} {
		if got, ok := releaseOf(tt.project, tt.file); got != tt.version || ok != (tt.version != "") {
			t.Errorf("%s: %q %v", tt.file, got, ok)
		}
	}
}

func TestSimplePages(t *testing.T) {
	config := testConfig(t)
	s := newSite(t, map[string]string{
		"/simple/json/": `{"meta":{"api-version":"1.4"},"name":"json","files":[
			{"filename":"json-1.0.tar.gz","url":"../../f?x=1","hashes":{"sha256":"` + sha("x") + `"},"yanked":false},
			{"filename":"json-1.0.zip","url":"BASE/f","hashes":{},"yanked":"broken"},
			{"filename":"json-1.0.tgz","url":"BASE/f","hashes":{"sha256":"` + sha("y") + `"},"yanked":true},
			{"filename":"json-1.1.tgz","url":"BASE/f","hashes":{}},
			{"filename":"","url":"BASE/f","hashes":{}}, 7]}`,
		"/simple/html/": `<!DOCTYPE html><html><head><base href="BASE/x/"></head><body>
			<a href="html-1.0.tar.gz#sha256=` + sha("x") + `">any text</a><br>
			<A HREF='html-1.0.zip' data-yanked="">b</a>
			<a href="/x/html-1.0.tgz#md5=00" data-yanked="a &lt; b">c</a>
			<a href="html-1.0.tar.xz#sha256=` + sha("y") + `&amp;egg=z" />
			<a href="html-1.0+cpu-py3-none-any.whl">d</a><a href="../../../etc/passwd">e</a><a>f</a>
			<a href="https://[">`,
		"/simple/moved/":                  "-> BASE/pages/deep/moved/",
		"/pages/deep/moved/":              `<a href="moved-1.0.zip">`,
		"/simple/old/":                    `{"meta":{"api-version":"2.0"},"files":[]}`,
		"/simple/notjson/":                `{`,
		"/simple/text/":                   `x`,
		"/f":                              "x",
		"/x/html-1.0.tar.gz":              "x",
		"/x/html-1.0.zip":                 "x",
		"/x/html-1.0.tgz":                 "x",
		"/x/html-1.0.tar.xz":              "x",
		"/pages/deep/moved/moved-1.0.zip": "x",
		"/simple/huge/":                   `<a href="` + strings.Repeat("x", 70<<10) + `">`,
	})
	for _, p := range []string{"json", "old", "notjson"} {
		s.kinds["/simple/"+p+"/"] = simpleJSON + "; charset=utf-8"
	}
	s.kinds["/simple/text/"], s.kinds["/simple/html/"], s.kinds["/simple/huge/"] = "text/plain", simpleHTML, "text/html"
	config.PyPI.Indexes = []string{s.base + "/simple/"}
	c := newClient(t, config)
	for ref, want := range map[string]struct{ yanked, outcomes string }{
		"json==1.0/json-1.0.tar.gz": {"", "[match]"},
		"json==1/json-1.0.zip":      {"broken", "[]"},
		"JSON==1.0.0/json-1.0.tgz":  {"no reason given", "[mismatch]"},
		"html==1.0/html-1.0.tar.gz": {"", "[match]"},
		"html==1.0/html-1.0.zip":    {"no reason given", "[]"},
		"html==1.0/html-1.0.tgz":    {"a < b", "[unverifiable]"},
		"html==1.0/html-1.0.tar.xz": {"", "[mismatch]"},
		"moved==1.0":                {"", "[]"},
	} {
		d, err := get(t, c, "pypi:"+ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		if d.Yanked != want.yanked || strings.Contains(d.Observed.From, "?") {
			t.Errorf("%s: %+v", ref, d)
		}
		if got := fmt.Sprint(outcomes(t, d, nil)); got != want.outcomes {
			t.Errorf("%s: %s", ref, got)
		}
	}
	refs, err := c.Files(context.Background(), mustRef(t, "pypi:html==1.0"))
	if err != nil || len(refs) != 4 ||
		!slices.IsSortedFunc(refs, func(a, b artifact.Ref) int { return strings.Compare(a.Filename(), b.Filename()) }) {
		t.Errorf("%v, %v", refs, err)
	}
	for ref, part := range map[string]string{
		"old==1":     `"2.0"`,
		"notjson==1": `""`,
		"text==1":    `"text/plain"`,
		"huge==1":    "max buffer",
	} {
		_, err := get(t, c, "pypi:"+ref)
		wantError(t, err, evidence.Unreachable, part)
	}
	// A file of another release is not given for this one.
	_, err = get(t, c, "pypi:json==1.0/json-1.1.tgz")
	wantError(t, err, evidence.NotFound, "no such file")
	_, err = get(t, c, "pypi:html==1.0/passwd")
	wantError(t, err, evidence.NotFound, "no such file")
}

func FuzzSimpleHTML(f *testing.F) {
	from, _ := url.Parse("https://pypi.example.com/simple/a/")
	f.Add(`<base href="x"><a href="a-1.0.zip#sha256=00" data-yanked>`)
	f.Add(`<a href="https://[::1"><a href='#'><!-- <a href=x> -->`)
	f.Fuzz(func(t *testing.T, text string) {
		files, err := parseSimpleHTML([]byte(text), from)
		if err != nil {
			return
		}
		for _, f := range files {
			if f.url == nil || f.name == "" || strings.Contains(f.name, "/") && f.name != "/" || f.url.Fragment != "" {
				t.Errorf("%+v", f)
			}
		}
	})
}
