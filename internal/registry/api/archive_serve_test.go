package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
	"github.com/hallmark-mcp/hallmark/ledger"
)

// A deleted version has no archive, and the log says why; so does the record.
func TestFacetsDeleted(t *testing.T) {
	ctx := context.Background()
	f, l := servertest.FacetServer(t, nil)
	for _, version := range []string{"1.0.0", "1.1.0"} {
		data, _ := servertest.NewFacet(t, "notes", version, "x")
		if _, err := servertest.Put(f, ledger.Facet, "notes", data, ""); err != nil {
			t.Fatal(err)
		}
	}
	text := servertest.NewToken(t, f, "*")
	patch := func(path, body, token string) (int, string) {
		r, _ := http.NewRequest("PATCH", f.URL+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		got, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(got)
	}
	const one = "/v0/facets/notes/versions/1.1.0/status"
	for body, want := range map[string]int{
		`{"status": "broken"}`: 422, `{`: 422, `{"status": "deleted", "why": "x"}`: 422,
		`{"status": "active", "statusMessage": "x"}`:                                 400,
		`{"status": "deleted", "statusMessage": "` + strings.Repeat("x", 501) + `"}`: 422,
		`{"status": "deleted"} {}`:                                                   422,
	} {
		if got, answer := patch(one, body, text); got != want {
			t.Errorf("%s: %d %s", body, got, answer)
		}
	}
	if got, answer := patch(one, `{"status": "deleted", "statusMessage": "leaked a key"}`, "hlmk_x"); got !=
		http.StatusUnauthorized {
		t.Errorf("%d %s", got, answer)
	}
	if got, answer := patch("/v0/facets/notes/versions/latest/status", `{"status": "deleted"}`, text); got !=
		http.StatusNotFound {
		t.Errorf("%d %s", got, answer)
	}
	if got, answer := patch(one, `{"status": "deleted", "statusMessage": "leaked a key"}`, text); got !=
		http.StatusOK || !strings.Contains(answer, `"status":"deleted"`) {
		t.Errorf("%d %s", got, answer)
	}
	_, _, err := f.OpenArchive(ctx, "facet", "notes", "1.1.0")
	p := servertest.RequireRefused(t, err, http.StatusGone, "leaked a key")
	proof, err := ledger.ParseProof([]byte(p.Proof))
	if err != nil {
		t.Fatal(err)
	}
	if proven, err := proof.Verify(l.Trust); err != nil || proven.Leaf.Kind != ledger.Status ||
		proven.Leaf.Of != ledger.Facet || proven.Leaf.Status != "deleted" || proven.Leaf.Version != "1.1.0" {
		t.Errorf("%+v, %v", proven.Leaf, err)
	}
	if answer, _ := registrytest.Download(t, "GET", f.URL+"/v0/facets/notes/versions/1.1.0"); answer.StatusCode !=
		http.StatusGone {
		t.Errorf("%d", answer.StatusCode)
	}
	if rec, err := f.ArchiveRecord(ctx, "facet", "notes", "1.1.0"); err != nil || rec.Status != registry.Deleted ||
		rec.StatusMessage != "leaked a key" {
		t.Errorf("%+v, %v", rec, err)
	}
	if e, err := f.LogOf(ctx, ledger.Facet, "notes", "1.1.0"); err != nil || len(e.Later) != 1 ||
		e.Later[0] != proof.Index || e.Index >= proof.Index {
		t.Errorf("%+v, %v", e, err)
	}
	for path, want := range map[string]int{
		"/v0/facets/notes/versions/1.1.0/log": 200, "/v0.1/facets/notes/versions/1.0.0/log": 200,
		"/v0/facets/notes/versions/latest/log": 404,
		"/v0/facets/notes/versions/9.9.9/log":  404, "/v0/artifacts/notes/versions/1.1.0/log": 404,
		"/v0/facets/notes/versions/1.1.0/log/x": 404,
	} {
		if answer, body := registrytest.Download(t, "GET", f.URL+path); answer.StatusCode != want {
			t.Errorf("%s: %d %s", path, answer.StatusCode, body)
		}
	}
	if answer, _ := registrytest.Download(t, "DELETE",
		f.URL+"/v0/facets/notes/versions/1.1.0/log"); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%d", answer.StatusCode)
	}
	if answer, text := registrytest.Download(t, "GET", f.URL+"/openapi.yaml"); answer.StatusCode != http.StatusOK ||
		!strings.Contains(text, "/v0/facets/{name}/versions/{version}/log") {
		t.Errorf("%d", answer.StatusCode)
	}
	if all, err := f.ArchiveVersions(ctx, "facet", "notes"); err != nil || len(all) != 1 || all[0].Version != "1.0.0" {
		t.Errorf("%v, %v", registrytest.ArchiveSubjects(all), err)
	}
	if answer, body := registrytest.Download(t, "GET", f.URL+"/v0/facets/notes/latest-version"); answer.StatusCode !=
		http.StatusOK || !strings.Contains(body, `"version":"1.0.0"`) {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	if got, answer := patch("/v0.1/facets/notes/status", `{"status": "deprecated"}`, text); got != http.StatusOK ||
		!strings.Contains(answer, `"updatedCount":2`) {
		t.Errorf("%d %s", got, answer)
	}
	if got, answer := patch("/v0.1/facets/none/status", `{"status": "deprecated"}`, text); got != http.StatusNotFound {
		t.Errorf("%d %s", got, answer)
	}
}

// Lists take what those of servers take, and refuse the rest.
func TestFacetsListed(t *testing.T) {
	f, _ := servertest.FacetServer(t, nil)
	for _, name := range []string{"@acme/notes", "@acme/review", "notes"} {
		data, _ := servertest.NewFacet(t, name, "1.0.0", "x")
		if _, err := servertest.Put(f, ledger.Facet, name, data, ""); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for cursor := ""; ; {
		answer, text := registrytest.Download(t, "GET",
			f.URL+"/v0/facets?search=notes&limit=1&cursor="+url.QueryEscape(cursor))
		var p registry.ArchivePage
		if err := json.Unmarshal([]byte(text), &p); err != nil || answer.StatusCode != http.StatusOK ||
			p.Metadata.Count != len(p.Archives) || len(p.Archives) > 1 {
			t.Fatalf("%d %s", answer.StatusCode, text)
		}
		names = append(names, registrytest.ArchiveSubjects(p.Archives)...)
		if cursor = p.Metadata.NextCursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(names, []string{"@acme/notes@1.0.0", "notes@1.0.0"}) {
		t.Errorf("%v", names)
	}
	if answer, text := registrytest.Download(t, "GET", f.URL+"/v0/artifacts"); answer.StatusCode != http.StatusOK ||
		!strings.Contains(text, `"archives":[]`) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	for path, want := range map[string]int{
		"/v0/facets?limit=0": 422, "/v0/facets?limit=101": 422, "/v0/facets?limit=x": 422, "/v0/facets?search=ab": 422,
		"/v0/facets?updated_since=today": 400,
		"/v0/facets?cursor=?":            400, "/v0/facets?include_deleted=maybe": 422,
		"/v0/facets?version=latest&version=1": 422,
		"/v0/facets/none/versions":            404, "/v0/facets/none/versions/1.0.0": 404,
		"/v0/facets/none/latest-version": 404, "/v0/facets/none/versions/1.0.0/archive": 404,
		"/v0/facets/none": 404, "/v0/facets/none/other": 404, "/v0/facets/@acme": 404,
		"/v0/facets/notes/versions/1.0.0/other": 404, "/v0/plugins": 404,
	} {
		if answer, text := registrytest.Download(t, "GET", f.URL+path); answer.StatusCode != want {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	for path, want := range map[string]string{"/v0/facets": "GET, HEAD", "/v0/facets/notes/versions/1.0.0": "GET, HEAD",
		"/v0/facets/notes/versions": "GET, HEAD, POST", "/v0/facets/notes/status": "PATCH"} {
		if answer, _ := registrytest.Download(t, "DELETE", f.URL+path); answer.StatusCode !=
			http.StatusMethodNotAllowed || answer.Header.Get("Allow") != want {
			t.Errorf("%s: %d %q", path, answer.StatusCode, answer.Header.Get("Allow"))
		}
	}
	if answer, text := registrytest.Download(t, "GET", f.URL+"/openapi.yaml"); answer.StatusCode != http.StatusOK ||
		!strings.Contains(text, "/v0/facets/{name}/versions/{version}/archive") ||
		!strings.Contains(text, "content_integrity") {
		t.Errorf("%d", answer.StatusCode)
	}
}
