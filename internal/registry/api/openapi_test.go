package api_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

// described is the description of a registry with everything.
func described(t *testing.T) *huma.OpenAPI {
	t.Helper()
	db := servertest.OpenSQLite(t, filepath.Join(t.TempDir(), "registry.db"))
	api, err := api.DescriptionOf(api.Config{Records: db, Statuses: db, Version: "1.2.3", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// What the registry answers has the form that it describes, members of raw JSON
// included, and every answer is described.
func TestAnswersAreAsDescribed(t *testing.T) {
	api := described(t)
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil)
	token := servertest.NewToken(t, f, "io.github.o/*")
	body := string(registrytest.Document("io.github.o/notes", "1.0.0"))
	const json1 = "application/json"
	for _, c := range []struct {
		method, path, route, body string
		status                    string
	}{
		{"POST", "/publish", "/publish", body, "200"},
		{"POST", "/publish", "/publish", strings.Replace(body, "1.0.0", "^1", 1), "422"},
		{"POST", "/validate", "/validate", body, "200"},
		{"GET", "/servers", "/servers", "", "200"},
		{"GET", "/servers?limit=0", "/servers", "", "422"},
		{"GET", "/servers/io.github.o%2Fnotes/versions", "/servers/{name}/versions", "", "200"},
		{"GET", "/servers/io.github.o%2Fnotes/versions/latest", "/servers/{name}/versions/{version}", "", "200"},
		{"GET", "/servers/io.github.o%2Fnotes/versions/9", "/servers/{name}/versions/{version}", "", "404"},
		{"PATCH", "/servers/io.github.o%2Fnotes/versions/1.0.0/status", "/servers/{name}/versions/{version}/status",
			`{"status":"deprecated","statusMessage":"use 2"}`, "200"},
		{"PATCH", "/servers/io.github.o%2Fnotes/status", "/servers/{name}/status", `{"status":"active"}`, "200"},
		{"PATCH", "/servers/io.github.o%2Fnotes/status", "/servers/{name}/status", `{"status":"active"}`, "400"},
		{"POST", "/auth/none", "/auth/none", "", "404"},
		{"GET", "/ping", "/ping", "", "200"},
		{"GET", "/health", "/health", "", "200"},
		{"GET", "/version", "/version", "", "200"},
	} {
		headers := []string{"Authorization", "Bearer " + token}
		if c.body != "" {
			headers = append(headers, "Content-Type", json1)
		}
		res, text := registrytest.Send(t, c.method, f.URL+"/v0.1"+c.path, c.body, headers...)
		if got := res.Status[:3]; got != c.status {
			t.Errorf("%s %s: %s %s, want %s", c.method, c.path, got, text, c.status)
			continue
		}
		op := reflect.ValueOf(api.Paths["/v0.1"+c.route]).Elem().FieldByName(
			c.method[:1] + strings.ToLower(c.method[1:])).Interface().(*huma.Operation)
		answer := op.Responses[c.status]
		if answer == nil {
			answer = op.Responses["default"]
		}
		media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
		if answer == nil || answer.Content[media] == nil {
			t.Errorf("%s %s: %s with %s is not described", c.method, c.route, c.status, media)
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		var found huma.ValidateResult
		huma.Validate(api.Components.Schemas, answer.Content[media].Schema, huma.NewPathBuffer(nil, 0),
			huma.ModeReadFromServer, value, &found)
		for _, err := range found.Errors {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
	}
}

// A client that was generated from the description sends a document, not text in base64.
func TestOpenAPI(t *testing.T) {
	api := described(t)
	for _, path := range []string{"/v0/publish", "/v0.1/publish", "/v0.1/validate"} {
		body := api.Paths[path].Post.RequestBody.Content
		if len(body) != 1 || body["application/json"] == nil ||
			body["application/json"].Schema.Ref != "#/components/schemas/ServerJSON" {
			t.Errorf("%s: body %+v", path, body)
		}
	}
	for _, path := range []string{"/v0/publish", "/v0.1/publish", "/v0.1/servers/{name}/status"} {
		op := api.Paths[path].Post
		if op == nil {
			op = api.Paths[path].Patch
		}
		if len(op.Security) != 1 {
			t.Errorf("%s: security %v", path, op.Security)
		}
		for _, p := range op.Parameters {
			if p.Name == "Authorization" {
				t.Errorf("%s: a header Authorization, which clients ignore", path)
			}
		}
	}
	f := servertest.Serve(t, nil, nil)
	res, text := registrytest.Send(t, "GET", f.URL+"/openapi.yaml", "")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/yaml" {
		t.Errorf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	for _, part := range []string{"openapi: 3.1.0", "file_hashes", "/v0.1/auth/dns:", "/v0/auth/github-oidc:",
		"application/problem+json"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in the description", part)
		}
	}
	for _, part := range []string{"base64", "ErrorModel"} {
		if strings.Contains(text, part) {
			t.Errorf("%q in the description", part)
		}
	}
}

// The page shows every path and asks nobody for anything.
func TestDocs(t *testing.T) {
	f := servertest.Serve(t, nil, nil)
	res, text := registrytest.Send(t, "GET", f.URL+"/docs", "")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	for _, part := range []string{"POST /publish", "PATCH /servers/{name}/status", "POST /auth/dns",
		"include_deleted"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not have %q", part)
		}
	}
	for _, part := range []string{"//", "<script", "src=", "@import", "url("} {
		if strings.Contains(text, part) {
			t.Errorf("the page has %q", part)
		}
	}
	csp := res.Header.Get("Content-Security-Policy")
	_, sheet, _ := strings.Cut(text, "<style>")
	sheet, _, _ = strings.Cut(sheet, "</style>")
	if !strings.HasPrefix(csp, "default-src 'none'") || !strings.Contains(csp, api.Hash(sheet)) {
		t.Errorf("policy %q does not let the page's own style in", csp)
	}
}

func TestMetrics(t *testing.T) {
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil)
	registrytest.Send(t, "GET", f.URL+"/v0/servers/a%2Fb/versions/1", "")
	registrytest.Send(t, "GET", f.URL+"/v0/whatever/"+strings.Repeat("x", 50), "")
	registrytest.Send(t, "BREW", f.URL+"/v0/ping", "")
	registrytest.Send(t, "POST", f.URL+"/v0/publish", string(registrytest.Document("io.github.o/notes", "1.0.0")),
		"Content-Type", "application/json")
	_, text := registrytest.Send(t, "GET", f.URL+"/metrics", "")
	for _, part := range []string{
		`hallmark_registry_publishes_total{result="published"} 1`,
		`hallmark_registry_hash_failures_total{status="mismatch"} 0`,
		`hallmark_registry_request_seconds_count{method="GET",route="GET /v0/servers/{name}/versions/{version}",` +
			`status="404"} 1`,
		`hallmark_registry_request_seconds_count{method="GET",route="/",status="404"} 1`,
		`hallmark_registry_request_seconds_count{method="other",route="/",status="405"} 1`,
		"hallmark_registry_check_seconds_count 1",
		"go_goroutines",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in\n%s", part, text)
		}
	}
	if strings.Contains(text, "whatever") || strings.Contains(text, "BREW") {
		t.Error("what a client chose is a label")
	}
}
