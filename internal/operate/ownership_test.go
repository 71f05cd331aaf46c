package operate

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// npmTarball is a tarball with that package.json alone.
func npmTarball(manifest string) []byte {
	return (&forge.Tar{Gzip: true, End: make([]byte, 1024),
		Members: []*forge.Member{forge.NewMember("package/package.json", '0', []byte(manifest))}}).Bytes()
}

// npmDocument has the npm package notes@1.0.0, with a hash if data is not nil.
func npmDocument(t *testing.T, data []byte) *serverjson.Document {
	t.Helper()
	hashes := ""
	if data != nil {
		hashes = fmt.Sprintf(`,"file_hashes":{"npm:notes@1.0.0":%q}`, digest.FromBytes(data))
	}
	doc, err := document.Parse("server.json", fmt.Appendf(nil, `{"$schema":%q,"name":"io.github.o/notes","description":"d",
		"version":"1.0.0","packages":[{"registryType":"npm","identifier":"notes","version":"1.0.0",
		"transport":{"type":"stdio"}}]%s}`, model.CurrentSchemaURL, hashes))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Which server a package is for is read from the bytes that were hashed. What its registry says is read where no bytes were
// fetched or none can be read, and counts beside them where it names another server.
func TestOwnershipFromBytes(t *testing.T) {
	const own, other = `{"name":"notes","version":"1.0.0","mcpName":"io.github.o/notes"}`,
		`{"name":"notes","version":"1.0.0","mcpName":"io.github.o/other"}`
	const none = `{"name":"notes","version":"1.0.0"}`
	for name, c := range map[string]struct {
		packed    []byte
		document  string // of the version, at the registry
		unclaimed bool
		authority string // of the ownership evidence, and its outcomes
	}{
		"both":                 {npmTarball(own), own, false, "manifest match"},
		"bytes alone":          {npmTarball(own), none, false, "manifest match"},
		"registry alone":       {npmTarball(none), own, false, "manifest absent, registry match"},
		"neither":              {npmTarball(none), none, false, "manifest absent"},
		"bytes of another":     {npmTarball(other), own, false, "manifest mismatch, registry match"},
		"registry of another":  {npmTarball(own), other, false, "manifest match, registry mismatch"},
		"bytes not readable":   {[]byte("junk"), own, false, "registry match"},
		"bytes not fetched":    {npmTarball(none), own, true, "registry match"},
		"not readable nor own": {[]byte("junk"), other, false, "registry mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			pages := map[string]string{"/notes-1.0.0.tgz": string(c.packed),
				"/notes/1.0.0": strings.TrimSuffix(c.document, "}") + `,"dist":{"tarball":"BASE/notes-1.0.0.tgz"}}`}
			base, roots := packageSite(t, pages)
			config := fetch.Config{Dir: t.TempDir(), RootCAs: roots, Limits: fetch.Limits{Retries: -1}}
			config.NPM.Setting = func(key string) string { return map[string]string{"registry": base}[key] }
			client := fetch.New(config)
			defer client.CloseIdleConnections()

			claimed := c.packed
			if c.unclaimed {
				claimed = nil
			}
			doc := npmDocument(t, claimed)
			report, err := checkClaims(t.Context(), client, doc, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := ownersOf(report); got != c.authority {
				t.Errorf("the registry found %s, want %s", got, c.authority)
			}
			fine := !strings.Contains(c.authority, "mismatch") && !strings.Contains(c.authority, "absent")
			if policy.Judge(policy.Accept, policy.Settings{}, report).Allowed() != fine {
				t.Errorf("accepted: %t, want %t", !fine, fine)
			}
			if c.unclaimed {
				return // verify fetches all
			}
			// Its author hears of it before anything is sent, and is not refused.
			h := &host.Host{Fetch: client}
			verdict, err := document.Verify(t.Context(), h, doc, "server.json", policy.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			warned := false
			for _, f := range verdict.Warnings() {
				warned = warned || f.Evidence.Scheme == evidence.Ownership
			}
			if !verdict.Allowed() || warned == fine {
				t.Errorf("verify: allowed %t, warned %t", verdict.Allowed(), warned)
			}
		})
	}
}

// ownersOf lists the evidence of owners: who says it, and its outcome.
func ownersOf(report evidence.Report) string {
	var all []string
	for _, e := range report {
		if e.Scheme == evidence.Ownership {
			all = append(all, string(e.Authority)+" "+string(e.Outcome))
		}
	}
	return strings.Join(all, ", ")
}

// All files of a release that name one server give one piece of evidence, and one that names another gives its own.
func TestOwnersOfARelease(t *testing.T) {
	wheel := func(name, server string) string {
		return string(forge.Wheel("notes-1.0", "notes-1.0.dist-info/METADATA", "Name: notes\n\nmcp-name: "+server+"\n", "m.py", name))
	}
	pages, hashes := release(3)
	for i, server := range []string{"io.github.o/notes", "io.github.o/other", "io.github.o/notes"} {
		name := fmt.Sprintf("notes-1.0-cp%d-none-any.whl", i)
		data := wheel(name, server)
		pages["/files/"+name], hashes["pypi:notes==1.0/"+name] = data, "sha256:"+hexSum(data)
		pages["/pypi/notes/1.0/json"] = strings.Replace(pages["/pypi/notes/1.0/json"], hexSum("w"), hexSum(data), 1)
	}
	client, _ := kindClient(t, pages)
	report, err := checkClaims(t.Context(), client, pypiDocument(t, hashes), nil)
	if got := ownersOf(report); err != nil || got != "manifest match, manifest mismatch" {
		t.Errorf("%s, %v", got, err)
	}
}

// An index that has only pages of files, and a registry of npm that a document names, are those of companies: what the operator
// configured is where packages are published from.
func TestCompanyRegistries(t *testing.T) {
	wheel := string(forge.Wheel("notes-1.0", "notes-1.0.dist-info/METADATA", "Name: notes\n\nmcp-name: io.github.o/notes\n", "m.py", ""))
	tarball := npmTarball(`{"name":"notes","version":"1.0.0","mcpName":"io.github.o/notes"}`)
	base, roots := packageSite(t, map[string]string{
		"/simple/notes/":              `<!DOCTYPE html><a href="/notes-1.0-py3-none-any.whl">notes</a>`,
		"/notes-1.0-py3-none-any.whl": wheel,
		"/notes/1.0.0": `{"name":"notes","version":"1.0.0","mcpName":"io.github.o/notes",` +
			`"dist":{"tarball":"BASE/notes-1.0.0.tgz"}}`,
		"/notes-1.0.0.tgz": string(tarball),
	})
	client := func(npm, pypi string) *fetch.Client {
		config := fetch.Config{Dir: t.TempDir(), RootCAs: roots, Limits: fetch.Limits{Retries: -1}}
		config.NPM.Setting = func(key string) string { return map[string]string{"registry": npm}[key] }
		config.PyPI.Base = pypi
		c := fetch.New(config)
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	at := func(kind, version, base string, hashes string) *serverjson.Document {
		doc, err := document.Parse("server.json", fmt.Appendf(nil, `{"$schema":%q,"name":"io.github.o/notes","description":"d",
			"version":"1.0.0","packages":[{"registryType":%q,"registryBaseUrl":%q,"identifier":"notes","version":%q,
			"transport":{"type":"stdio"}}],"file_hashes":{%s}}`, model.CurrentSchemaURL, kind, base, version, hashes))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	own := client(base+"/", base)
	for name, doc := range map[string]*serverjson.Document{
		"npm":               at("npm", "1.0.0", base, `"npm:notes@1.0.0":"`+digest.FromBytes(tarball).String()+`"`),
		"pypi":              at("pypi", "1.0", base, `"pypi:notes==1.0":"`+digest.FromBytes([]byte(wheel)).String()+`"`),
		"pypi at its pages": at("pypi", "1.0", base+"/simple/", ""),
	} {
		report, err := checkClaims(t.Context(), own, doc, nil)
		if err != nil || !policy.Judge(policy.Accept, policy.Settings{}, report).Allowed() {
			t.Errorf("%s: %v, %v", name, report, err)
		}
		if issues := doc.ValidateForPublish().Errors(); len(issues) > 0 {
			t.Errorf("%s: %v", name, issues)
		}
		hashes, err := document.HashFiles(t.Context(), &host.Host{Fetch: own}, doc, "server.json")
		if err != nil || len(hashes.Files) != 1 {
			t.Fatalf("%s: %+v, %v", name, hashes, err)
		}
		if _, _, err := serverjson.SetHashes(doc.Raw, hashes.Files, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Only a package index has a page of all projects, and only an index of crates a mark for how it is asked.
	for _, doc := range []*serverjson.Document{at("npm", "1.0.0", base+"/simple", ""), at("pypi", "1.0", base+"/other/simple", "")} {
		doc.AtRegistries(own.AsksAt)
		if issues := doc.ValidateForPublish().Errors(); len(issues) != 1 || issues[0].Reference != "registry-base-url-unknown" {
			t.Errorf("%v", issues)
		}
	}
	// Whoever asks another registry would get another package.
	doc := at("npm", "1.0.0", "https://npm.example.com", "")
	for name, c := range map[string]*fetch.Client{"other": own, "usual": client("", "")} {
		if _, err := document.Verify(t.Context(), &host.Host{Fetch: c}, doc, "server.json", policy.Settings{}); err == nil ||
			!strings.Contains(err.Error(), "configure that registry") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a host refuses, who it is, and whether it is there at all are different things, and each leads somewhere else.
func TestUnfetched(t *testing.T) {
	answer := func(status int) string {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	own, roots := packageSite(t, map[string]string{})
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct {
		base string
		know bool // the authority of its certificate
		says string
		hint string
	}{
		"401":     {answer(http.StatusUnauthorized), true, "answered 401", "it may be private: check the credentials"},
		"404":     {own, true, "answered 404", "is this version published"},
		"503":     {answer(http.StatusServiceUnavailable), true, "answered 503", "try again when the server can be reached"},
		"refused": {closed.URL, true, "connection refused", "try again when the server can be reached"},
		"unknown": {own, false, "certificate", "SSL_CERT_FILE"},
	} {
		config := fetch.Config{Dir: t.TempDir(), Limits: fetch.Limits{Retries: -1}}
		if c.know {
			config.RootCAs = roots // httptest has one certificate
		}
		config.NPM.Setting = func(key string) string { return map[string]string{"registry": c.base}[key] }
		client := fetch.New(config)
		defer client.CloseIdleConnections()
		v, err := document.Verify(t.Context(), &host.Host{Fetch: client}, npmDocument(t, nil), "server.json", policy.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if v.Class() != evidence.Operation || !strings.Contains(v.Err().Error(), c.says) ||
			!strings.Contains(v.Err().Error(), "\n  hint: ") || !strings.Contains(v.Err().Error(), c.hint) {
			t.Errorf("%s: %v", name, v.Err())
		}
	}
}
