package operate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/policy"
)

// release is a PyPI release with n wheels of one byte, and what a document may claim of it.
func release(n int) (pages, hashes map[string]string) {
	pages, hashes = map[string]string{}, map[string]string{}
	var files []string
	for i := range n {
		name := fmt.Sprintf("notes-1.0-cp%d-none-any.whl", i)
		pages["/files/"+name] = "w"
		hashes["pypi:notes==1.0/"+name] = "sha256:" + hexSum("w")
		files = append(files, fmt.Sprintf(`{"filename":%q,"url":"BASE/files/%s","digests":{"sha256":"%s"}}`, name, name,
			hexSum("w")))
	}
	pages["/pypi/notes/1.0/json"] = `{"info":{"name":"notes","version":"1.0","description":"mcp-name: ` +
		`io.github.o/notes"},"urls":[` + strings.Join(files, ",") + `]}`
	return pages, hashes
}

// A release counts as its files and not as one more. At the limit everything goes
// through, on both sides; beyond it both sides say so.
func TestFilesOfARelease(t *testing.T) {
	pages, hashes := release(document.MaxFiles)
	client, _ := kindClient(t, pages)
	h := &host.Host{Fetch: client}
	got, err := document.HashFiles(t.Context(), h, pypiDocument(t, map[string]string{}), "server.json")
	if err != nil || len(got.Files) != document.MaxFiles {
		t.Fatalf("%d hashes, %v", len(got.Files), err)
	}
	doc := pypiDocument(t, hashes)
	v, err := document.Verify(t.Context(), h, doc, "server.json", policy.Settings{RequireHashes: true})
	if err != nil || !v.Allowed() {
		t.Errorf("%v, %v", v.Err(), err)
	}
	report, err := checkClaims(t.Context(), client, doc, nil)
	if err != nil || !policy.Judge(policy.Accept, policy.Settings{RequireHashes: true}, report).Allowed() {
		t.Errorf("%v, %v", report, err)
	}

	// One file was added since: the 64 that are claimed are not all that would be fetched.
	pages, _ = release(document.MaxFiles + 1)
	client, _ = kindClient(t, pages)
	h = &host.Host{Fetch: client}
	for what, f := range map[string]func() error{
		"verify": func() error {
			_, err := document.Verify(t.Context(), h, doc, "server.json", policy.Settings{})
			return err
		},
		"hash-gen": func() error {
			_, err := document.HashFiles(t.Context(), h, pypiDocument(t, map[string]string{}), "server.json")
			return err
		},
	} {
		if err := f(); evidence.ClassOf(err) != evidence.Validation ||
			!strings.Contains(err.Error(), "65 files; the limit is 64") {
			t.Errorf("%s: %v", what, err)
		}
	}
	report, err = checkClaims(t.Context(), client, doc, nil) // which fetches what is claimed
	if err != nil || policy.Judge(policy.Accept, policy.Settings{}, report).Class() != evidence.OK ||
		report.Count(evidence.Absent) != 1 {
		t.Errorf("%v, %v", report, err)
	}

	// Packages without a claim count too.
	raw := strings.Replace(string(doc.Raw), `"packages":[`,
		`"packages":[{"registryType":"npm","identifier":"more","version":"1.0.0","transport":{"type":"stdio"}},`, 1)
	if more, err := document.Parse("server.json", []byte(raw)); err == nil {
		if _, _, err := document.Subjects(client, more, "server.json", true); err == nil ||
			!strings.Contains(err.Error(), "65 files") {
			t.Errorf("with one package more: %v", err)
		}
	} else if !strings.Contains(err.Error(), "65 files") {
		t.Error(err)
	}
}

// The files of one publish have a budget together: what does not fit is too large, the
// rest is checked, and nothing waits.
func TestPublishBudget(t *testing.T) {
	pages, hashes := release(3)
	for path := range pages {
		if strings.HasPrefix(path, "/files/") {
			pages[path] = strings.Repeat("w", 1000)
		}
	}
	for id := range hashes {
		hashes[id] = "sha256:" + hexSum(strings.Repeat("w", 1000))
	}
	pages["/pypi/notes/1.0/json"] = strings.ReplaceAll(pages["/pypi/notes/1.0/json"], hexSum("w"),
		hexSum(strings.Repeat("w", 1000)))
	base, roots := packageSite(t, pages)
	check := func(together int64) evidence.Report {
		t.Helper()
		c := fetch.Config{Dir: t.TempDir(), RootCAs: roots,
			Limits: fetch.Limits{Retries: -1, Parallel: 1, Together: together}}
		c.PyPI.Base = base
		client := fetch.New(c)
		defer client.CloseIdleConnections()
		report, err := checkClaims(t.Context(), client, pypiDocument(t, hashes), nil)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	index := int64(len(strings.ReplaceAll(pages["/pypi/notes/1.0/json"], "BASE", base)))
	indexes := 5 * index // for each file, for all there are, and for the owner
	if report := check(3*1000 + indexes); report.Count(evidence.Unverifiable) != 0 ||
		report.Count(evidence.Mismatch) != 0 {
		t.Errorf("with room for all: %v", report)
	}
	report := check(2*(1000+index) + index/2)
	var large []string
	for _, e := range report {
		if e.Outcome == evidence.Unverifiable && e.Cause == evidence.TooLarge &&
			strings.Contains(e.Reason, "for all files together") {
			large = append(large, e.Subject)
		}
	}
	text, _ := json.Marshal(report)
	if !slices.ContainsFunc(large, func(id string) bool { return hashes[id] != "" }) ||
		report.Count(evidence.Match) != 2*2 || policy.Judge(policy.Accept, policy.Settings{}, report).Allowed() {
		t.Errorf("with room for two: %q\n%s", large, text)
	}
}
