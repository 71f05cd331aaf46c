package operate

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// packageSite serves pages by path, with its own URL in place of BASE.
func packageSite(t *testing.T, pages map[string]string) (base string, roots *x509.CertPool) {
	t.Helper()
	var s *httptest.Server
	s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		switch {
		case strings.Contains(r.URL.Path, "/manifests/"):
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		case strings.HasPrefix(page, "{"):
			w.Header().Set("Content-Type", "application/json")
		}
		io.WriteString(w, strings.ReplaceAll(page, "BASE", s.URL))
	}))
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.URL, roots
}

// kindPages are one package of each kind, all of the server io.github.o/notes.
func kindPages() map[string]string {
	const config = `{"os":"linux","architecture":"amd64",` +
		`"config":{"Labels":{"io.modelcontextprotocol.server.name":"io.github.o/notes"}}}`
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%d},"layers":[]}`,
		hexSum(config), len(config))
	file := func(name, body, more string) string {
		return fmt.Sprintf(`{"filename":%q,"url":"BASE/files/%s","digests":{"sha256":"%s"}%s}`, name, name,
			hexSum(body), more)
	}
	return map[string]string{
		"/pypi/notes/1.0/json": `{"info":{"name":"notes","version":"1.0","description":"text <!-- mcp-name: ` +
			`io.github.o/notes -->"},"urls":[` +
			file("notes-1.0.tar.gz", "sdist", "") + "," +
			file("notes-1.0-py3-none-any.whl", "wheel", `,"yanked":true,"yanked_reason":"leaks"`) + `]}`,
		"/files/notes-1.0.tar.gz":           "sdist",
		"/files/notes-1.0-py3-none-any.whl": "wheel",
		"/nuget.json": `{"version":"3.0.0","resources":[{"@id":"BASE/flat/",` +
			`"@type":"PackageBaseAddress/3.0.0"},{"@id":"BASE/readme/{lower_id}/{lower_version}",` +
			`"@type":"ReadmeUriTemplate/6.13.0"}]}`,
		"/flat/notes/1.0.0/notes.1.0.0.nupkg": "nupkg",
		"/readme/notes/1.0.0":                 "mcp-name: io.github.o/notes",
		"/index/config.json":                  `{"dl":"BASE/dl","api":"BASE"}`,
		"/index/no/te/notes": fmt.Sprintf(
			`{"name":"notes","vers":"1.0.0","deps":[],"cksum":"%s"}`, hexSum("crate")) + "\n",
		"/dl/notes/1.0.0/download":          "crate",
		"/api/v1/crates/notes/1.0.0/readme": `{"url":"BASE/readme.html"}`,
		"/readme.html":                      "<p>mcp-name: io.github.o/notes</p>",
		"/v2/":                              "{}",
		"/v2/o/a/manifests/1.0.0":           manifest,
		"/v2/o/a/manifests/sha256:" + hexSum(manifest): manifest,
		"/v2/o/a/blobs/sha256:" + hexSum(config):       config,
	}
}

func kindClient(t *testing.T, pages map[string]string) (*fetch.Client, string) {
	base, roots := packageSite(t, pages)
	c := fetch.Config{Dir: t.TempDir(), RootCAs: roots, Limits: fetch.Limits{Retries: -1}}
	c.PyPI.Base, c.NuGet.Index, c.Cargo.Index = base, base+"/nuget.json", base+"/index/"
	client := fetch.New(c)
	t.Cleanup(client.CloseIdleConnections)
	return client, strings.TrimPrefix(base, "https://")
}

// Each kind of package says in its own way which server it is for.
func TestOwnershipOfKinds(t *testing.T) {
	client, host := kindClient(t, kindPages())
	for _, text := range []string{"pypi:notes==1.0", "nuget:notes@1.0.0", "cargo:notes@1.0.0", "oci:" + host +
		"/o/a:1.0.0"} {
		ref, err := artifact.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]evidence.Outcome{"io.github.o/notes": evidence.Match,
			"io.github.o/other": evidence.Mismatch, "io.github.o/notes2": evidence.Mismatch} {
			got, err := checkOwnership(t.Context(), client, name, ref, nil)
			if err != nil {
				t.Fatal(err)
			}
			// Text that names nobody, or another, is never the owner.
			if (got.Outcome == evidence.Match) != (want == evidence.Match) || got.Outcome == evidence.Unverifiable {
				t.Errorf("%s of %s: %s (%s)", text, name, got.Outcome, got.Reason)
			}
		}
		silent, _ := kindClient(t, map[string]string{})
		if got, err := checkOwnership(t.Context(), silent, "io.github.o/notes", ref, nil); text[:3] != "oci" &&
			(err != nil || got.Outcome != evidence.Unverifiable) {
			t.Errorf("%s, gone: %s, %v", text, got.Outcome, err)
		}
	}
}

// pypiDocument has one PyPI release and hashes of the named files.
func pypiDocument(t *testing.T, hashes map[string]string) *serverjson.Document {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"$schema": model.CurrentSchemaURL, "name": "io.github.o/notes", "description": "d", "version": "1.0.0",
		"packages": []any{map[string]any{"registryType": "pypi", "registryBaseUrl": model.RegistryURLPyPI,
			"identifier": "notes", "version": "1.0",
			"transport": map[string]any{"type": "stdio"}}},
		"file_hashes": hashes,
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := document.Parse("server.json", raw)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

const (
	wheelRef = "pypi:notes==1.0/notes-1.0-py3-none-any.whl"
	sdistRef = "pypi:notes==1.0/notes-1.0.tar.gz"
)

// A release stands for all of its files.
func TestReleaseFiles(t *testing.T) {
	client, _ := kindClient(t, kindPages())
	h := &host.Host{Fetch: client}
	hashes, err := document.HashFiles(t.Context(), h, pypiDocument(t, map[string]string{}), "server.json")
	if err != nil || len(hashes.Files) != 2 {
		t.Fatalf("%+v, %v", hashes, err)
	}
	for i, want := range []serverjson.FileHash{{Key: wheelRef, Value: "sha256:" + hexSum("wheel")},
		{Key: sdistRef, Value: "sha256:" + hexSum("sdist")}} {
		if got := hashes.Files[i]; got.Key != want.Key || got.Value != want.Value {
			t.Errorf("%s %s, want %s %s", got.Key, got.Value, want.Key, want.Value)
		}
	}
	for _, e := range reportOf(hashes.Verdict) {
		if withdrawn := document.SameRef(e.Subject,
			mustRef(t, wheelRef)); withdrawn != (e.Reason == "withdrawn by its publisher: leaks") {
			t.Errorf("%s: %q", e.Subject, e.Reason)
		}
	}

	count := func(r evidence.Report, ref string, o evidence.Outcome) (n int) {
		for _, e := range r {
			if document.SameRef(e.Subject, mustRef(t, ref)) && e.Authority == evidence.Publisher && e.Outcome == o {
				n++
			}
		}
		return n
	}
	// What is claimed of one file says nothing of the other.
	doc := pypiDocument(t, map[string]string{wheelRef: "sha256:" + hexSum("wheel")})
	report, err := checkClaims(t.Context(), client, doc, nil)
	if err != nil || count(report, wheelRef, evidence.Match) != 1 || count(report, sdistRef, evidence.Absent) != 1 ||
		count(report, "pypi:notes==1.0", evidence.Absent) != 0 {
		t.Errorf("%v, %v", report, err)
	}
	v, err := document.Verify(t.Context(), h, doc, "server.json", policy.Settings{})
	if err != nil || count(reportOf(v), wheelRef, evidence.Match) != 1 ||
		count(reportOf(v), sdistRef, evidence.Absent) != 1 {
		t.Errorf("%v, %v", reportOf(v), err)
	}
	doc = pypiDocument(t, map[string]string{wheelRef: "sha256:" + hexSum("wheel"), sdistRef: "sha256:" +
		hexSum("other")})
	report, err = checkClaims(t.Context(), client, doc, nil)
	if err != nil || count(report, sdistRef, evidence.Mismatch) != 1 || count(report, sdistRef, evidence.Absent) != 0 {
		t.Errorf("%v, %v", report, err)
	}
}

func mustRef(t *testing.T, text string) artifact.Ref {
	t.Helper()
	ref, err := artifact.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func reportOf(v policy.Verdict) (r evidence.Report) {
	for _, f := range v.Findings {
		r = append(r, f.Evidence)
	}
	return r
}

// However much a package says of itself, its evidence stays small enough to be shown in
// a list of records.
func TestEvidenceStaysSmall(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	pages := kindPages()
	pages["/pypi/notes/1.0/json"] = strings.Replace(pages["/pypi/notes/1.0/json"], "leaks", long, 1)
	client, host := kindClient(t, pages)
	report, err := checkClaims(t.Context(), client, pypiDocument(t, map[string]string{
		wheelRef: "sha256:" + hexSum("wheel"), sdistRef: "sha256:" + hexSum("sdist")}), nil)
	if err != nil || !strings.Contains(fmt.Sprint(report), "withdrawn by its publisher: xxx") {
		t.Fatalf("%.300s, %v", fmt.Sprint(report), err)
	}
	for _, e := range report {
		if e.Outcome != evidence.Match {
			t.Errorf("%s: %s", e.Title(), e.Outcome)
		}
	}
	// An owner's name.
	config := strings.Replace(pages["/v2/o/a/blobs/"+ociConfigOf(pages)], "io.github.o/notes", long, 1)
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%d},"layers":[]}`,
		hexSum(config), len(config))
	pages["/v2/o/a/manifests/1.0.0"], pages["/v2/o/a/blobs/sha256:"+hexSum(config)] = manifest, config
	ref, err := artifact.Parse("oci:" + host + "/o/a:1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := checkOwnership(t.Context(), client, "io.github.o/notes", ref, nil)
	if err != nil || owner.Outcome != evidence.Mismatch {
		t.Errorf("owner: %s, %v", owner.Outcome, err)
	}
	// Why a file is missing.
	missing := document.Reason(&wire.Error{Err: errors.New(long)})
	text, err := json.Marshal(append(report, owner))
	if err != nil || len(text) > 16<<10 || len(missing) > document.MaxReason {
		t.Errorf("%d bytes of evidence, %d of a reason, %v", len(text), len(missing), err)
	}
}

// ociConfigOf is the digest of the image's configuration.
func ociConfigOf(pages map[string]string) string {
	for path := range pages {
		if digest, ok := strings.CutPrefix(path, "/v2/o/a/blobs/"); ok {
			return digest
		}
	}
	return ""
}

// A release whose files nobody tells is not one without claims: hashes may be required.
func TestReleaseWithoutFiles(t *testing.T) {
	pages := kindPages()
	before, _, _ := strings.Cut(pages["/pypi/notes/1.0/json"], `"urls":[`)
	pages["/pypi/notes/1.0/json"] = before + `"urls":[]}`
	client, _ := kindClient(t, pages)
	report, err := checkClaims(t.Context(), client, pypiDocument(t, map[string]string{}), nil)
	if err != nil || len(report) != 2 || report[0].Outcome != evidence.Unverifiable ||
		report[1].Outcome != evidence.Match {
		t.Fatalf("%+v, %v", report, err)
	}
	if policy.Judge(policy.Accept, policy.Settings{RequireHashes: true}, report).Allowed() {
		t.Error("allowed though hashes are required")
	}
}
