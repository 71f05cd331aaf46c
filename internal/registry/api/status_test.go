package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/internal/registry/api"
	"github.com/hallmark-mcp/hallmark/internal/registry/registrytest"
	"github.com/hallmark-mcp/hallmark/internal/registry/servertest"
)

func TestStatusRequests(t *testing.T) {
	f := servertest.Serve(t, evidence.Report{registrytest.Matching(registrytest.NpmID)}, nil)
	ctx := context.Background()
	const name = "io.github.o/notes"
	for _, v := range []string{"1.0.0", "2.0.0"} {
		if _, err := f.Publish(ctx, registrytest.Document(name, v), ""); err != nil {
			t.Fatal(err)
		}
	}
	mine, other := servertest.NewToken(t, f, "io.github.o/*"), servertest.NewToken(t, f, "io.github.other/*")
	const path = "/v0/servers/io.github.o%2Fnotes"
	long := strings.Repeat("é", 500)
	for _, c := range []struct {
		path, token, body string
		status            int
		part              string
	}{
		{"/versions/1.0.0/status", "", `{"status":"deleted"}`, 401, "token"},
		{"/versions/1.0.0/status", other, `{"status":"deleted"}`, 403, "io.github.other/*"},
		{"/status", other, `{"status":"deleted"}`, 403, "io.github.other/*"},
		{"/versions/1.0.0/status", mine, `{"status":"active"}`, 400, "nothing to change"},
		{"/versions/1.0.0/status", mine, `{"status":"active","statusMessage":"x"}`, 400, "does not go with"},
		{"/versions/1.0.0/status", mine, `{"status":"active","statusMessage":""}`, 400, "does not go with"},
		{"/versions/1.0.0/status", mine, `{"status":"gone"}`, 422, "status"},
		{"/versions/1.0.0/status", mine, `{}`, 422, "status"},
		{"/versions/1.0.0/status", mine, `{"status":"deleted","other":1}`, 422, "other"},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"` + long + `x"}`, 422, "500"},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"a\u0000b"}`, 422, "NUL"},
		{"/versions/9.0.0/status", mine, `{"status":"deleted"}`, 404, "not found"},
		{"/versions/latest/status", mine, `{"status":"deleted"}`, 404, "name a version"},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"` + long + `"}`, 200,
			`"status":"deprecated"`},
		{"/versions/1.0.0/status", mine, `{"status":"deprecated","statusMessage":"` + long + `"}`, 400,
			"nothing to change"},
		{"/versions/1.0.0/status", mine, `{"status":"deleted"}`, 200, `"status":"deleted"`},
		{"/versions/1.0.0/status", mine, `{"status":"deleted","statusMessage":""}`, 400, "nothing to change"},
		{"/status", mine, `{"status":"deprecated","statusMessage":"x"}`, 200, `"updatedCount":2`},
		{"/status", mine, `{"status":"deprecated","statusMessage":"x"}`, 400, "nothing to change"},
		{"/status", mine, `{"status":"active"}`, 200, `"updatedCount":2`},
		{"/versions/1.0.0/status", mine, `{"status":"deleted","statusMessage":"bad"}`, 200, `"statusMessage":"bad"`},
	} {
		headers := []string{"Content-Type", "application/json"}
		if c.token != "" {
			headers = append(headers, "Authorization", "Bearer "+c.token)
		}
		res, text := registrytest.Send(t, "PATCH", f.URL+path+c.path, c.body, headers...)
		if res.StatusCode != c.status || !strings.Contains(text, c.part) {
			t.Errorf("%s %.80s: %d %s, want %d with %s", c.path, c.body, res.StatusCode, text, c.status, c.part)
		}
	}

	// 1.0.0 is deleted now, 2.0.0 is not.
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{path + "/versions/1.0.0", 404, ""},
		{path + "/versions/1.0.0?include_deleted=true", 200, `"status":"deleted"`},
		{path + "/versions/latest", 200, "\"version\": \"2.0.0\""},
		{path + "/versions", 200, `"count":1`},
		{path + "/versions?include_deleted=true", 200, `"count":2`},
		{"/v0/servers", 200, `"count":1`},
		{"/v0/servers?include_deleted=false", 200, `"count":1`},
		{"/v0/servers?include_deleted=true", 200, `"count":2`},
		{"/v0/servers?include_deleted=maybe", 422, "include_deleted"},
		{"/v0/servers?updated_since=2026-01-01T00:00:00Z", 200, `"count":2`},
		{"/v0/servers?updated_since=2026-01-01T00:00:00Z&include_deleted=true", 200, `"count":2`},
		{"/v0/servers?updated_since=2026-01-01T00:00:00Z&include_deleted=false", 400, "learn of them"},
	} {
		res, text := registrytest.Send(t, "GET", f.URL+c.path, "")
		if res.StatusCode != c.status ||
			!strings.Contains(strings.ReplaceAll(text, `"version":"`, `"version": "`), c.want) {
			t.Errorf("%s: %d %s, want %d with %s", c.path, res.StatusCode, text, c.status, c.want)
		}
	}
	registrytest.Send(t, "PATCH", f.URL+path+"/versions/2.0.0/status", `{"status":"deleted"}`, "Content-Type",
		"application/json", "Authorization", "Bearer "+mine)
	if res, _ := registrytest.Send(t, "GET", f.URL+path+"/versions", ""); res.StatusCode != 404 {
		t.Errorf("all deleted: %d", res.StatusCode)
	}
	if res, _ := registrytest.Send(t, "GET", f.URL+path+"/versions/latest", ""); res.StatusCode != 404 {
		t.Errorf("all deleted: latest is %d", res.StatusCode)
	}
	// What was published stays published: the version cannot be taken by another document.
	_, err := f.Publish(ctx,
		[]byte(strings.Replace(string(registrytest.Document(name, "2.0.0")), "reads", "writes", 1)), mine)
	registrytest.WantProblem(t, err, 409)
	if got := f.Counters.StatusChanges.Load(); got != 8 {
		t.Errorf("%d changes counted", got)
	}
}

// deletedPages are so many pages of a name's versions that are deleted, and one that is not.
type deletedPages struct {
	registry.Records
	pages, read int
}

func (d *deletedPages) Versions(_ context.Context, name, after string) ([]registry.Record, string, error) {
	d.read++
	at, err := registry.ParseCursor(after)
	if err != nil {
		return nil, "", err
	}
	n := 0
	if after != "" {
		if _, err := fmt.Sscanf(at.Version, "1.0.%d", &n); err != nil {
			return nil, "", err
		}
	}
	rec := registry.Record{Name: name, Version: fmt.Sprintf("1.0.%d", n+1), Status: registry.Deleted}
	rec.Document = fmt.Appendf(nil, `{"name":%q,"version":%q}`, name, rec.Version)
	if n == d.pages {
		rec.Status = registry.Active
		return []registry.Record{rec}, "", nil
	}
	return []registry.Record{rec}, registry.Cursor{Name: name, Version: rec.Version}.String(), nil
}

// One request does not read everything that was ever deleted, and who follows the
// cursors finds what was not.
func TestManyDeleted(t *testing.T) {
	for pages, reads := range map[int]int{0: 1, 2: 3, api.MaxSkipped: api.MaxSkipped + 1,
		3*api.MaxSkipped + 5: api.MaxSkipped + 1} {
		d := &deletedPages{pages: pages}
		f := servertest.Serve(t, nil, func(c *api.Config) { d.Records, c.Records = c.Records, d })
		res, err := http.Get(f.URL + "/v0/servers/com.example%2Fnotes/versions")
		if err != nil || res.StatusCode != 200 || d.read != reads {
			t.Errorf("%d pages: %d reads, %v", pages, d.read, err)
		}
		res.Body.Close()
		all, err := f.Versions(t.Context(), "com.example/notes")
		if err != nil || len(all) != 1 {
			t.Errorf("%d pages: %d versions, %v", pages, len(all), err)
		}
	}
}

// What an answer says of a record, the log says too: who verifies both would refuse the
// record otherwise.
func TestStatusIsInTheLogWhenAnswered(t *testing.T) {
	ctx := context.Background()
	f, l := servertest.ServeLog(t, nil)
	const name = "io.github.acme/notes"
	for _, v := range []string{"1.0.0", "2.0.0"} {
		if _, err := f.Publish(ctx, registrytest.Document(name, v), ""); err != nil {
			t.Fatal(err)
		}
	}
	token := servertest.NewToken(t, f, "io.github.acme/*")
	size := int64(2)
	for i, c := range []struct {
		path, body string
		entries    int64
	}{
		{"/versions/1.0.0/status", `{"status":"deleted"}`, 1},
		{"/versions/1.0.0/status", `{"status":"active"}`, 1},
		{"/status", `{"status":"deprecated"}`, 2},
		{"/status", `{"status":"active"}`, 2},
	} {
		path := f.URL + "/v0/servers/" + strings.Replace(name, "/", "%2F", 1) + c.path
		if res, text := registrytest.Send(t, "PATCH", path, c.body, "Content-Type", "application/json", "Authorization",
			"Bearer "+token); res.StatusCode != 200 {
			t.Fatalf("change %d: %d %s", i, res.StatusCode, text)
		}
		if size += c.entries; l.Head().Size != size {
			t.Errorf("change %d was answered with a checkpoint of %d entries, want %d", i, l.Head().Size, size)
		}
	}
}
