package fetch

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// TestNPMPackument: a registry that has no documents of single versions is asked for that of the
// package, as npm does. What it says of other statuses stays as it is.
func TestNPMPackument(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	config.Limits.DocumentSize = 1000
	document := func(name, version string) string {
		return fmt.Sprintf(`{"name":%q,"version":%q,"mcpName":"io.example/notes","dist":{"tarball":"BASE/t","integrity":%q}}`,
			name, version, sri("the tarball"))
	}
	all := func(name string, versions ...string) string {
		text := `{"_id":"x","dist-tags":{"latest":"9.0.0"},"versions":{`
		for i, v := range versions {
			text += map[bool]string{true: ","}[i > 0] + fmt.Sprintf("%q:", v) + document(name, v)
		}
		return text + `},"time":{"1.0.0":"2026-01-01"},"readme":"text \u0041"}`
	}
	for status, cause := range map[int]evidence.Cause{400: "", 404: "", 405: "", 410: evidence.NotFound,
		401: evidence.Unreachable, 403: evidence.Unreachable, 500: evidence.Unreachable, 501: evidence.Unreachable} {
		s := newSite(t, map[string]string{"/@acme%2Fnotes/1.0.0": fmt.Sprint(status),
			"/@acme%2Fnotes": all("@acme/notes", "0.9.0", "1.0.0", "2.0.0"), "/t": "the tarball"})
		config.NPM = settings(map[string]string{"registry": s.base + "/", "//" + s.host() + "/:_authToken": "T"})
		d, err := get(t, newClient(t, config), "npm:@acme/notes@1.0.0")
		if cause != "" {
			wantError(t, err, cause, fmt.Sprint(status))
			if asked := s.requests(); len(asked) != 1 {
				t.Errorf("%d: asked %v", status, asked)
			}
			continue
		}
		wantBody(t, d, err, "the tarball")
		if v := d.NPM; v.Version != "1.0.0" || v.MCPName != "io.example/notes" || v.From != s.base+"/@acme%2Fnotes" {
			t.Errorf("%d: %+v", status, v)
		}
		if asked := s.requests(); len(asked) != 3 || asked[1] != "/@acme%2Fnotes <- Bearer T" {
			t.Errorf("%d: asked %v", status, asked)
		}
	}
	once := document("a", "1.0.0")
	for name, tt := range map[string]struct {
		version, packument string // "" answers 404
		cause              evidence.Cause
		part               string
	}{
		"neither":               {"404", "", evidence.NotFound, "/a/1.0.0: answered 404"},
		"no package":            {"405", "", evidence.NotFound, "/a: answered 404"},
		"not this version":      {"404", all("a", "2.0.0"), evidence.NotFound, "/a/1.0.0: answered 404"},
		"not this version, 405": {"405", all("a", "2.0.0"), evidence.NotFound, "no such version"},
		"private":               {"404", "401", evidence.Unreachable, "401"},
		"out of order":          {"404", "500", evidence.Unreachable, "500"},
		"another package":       {"405", all("b", "1.0.0"), evidence.NotFound, `"b"`},
		"twice": {"405", `{"versions":{"1.0.0":` + once + `,"1.0.0":` + once + `}}`,
			evidence.Ambiguous, "twice"},
		"two lists": {"405", `{"versions":{"1.0.0":` + once + `},"versions":{"1.0.0":` + once + `}}`,
			evidence.Ambiguous, "twice"},
		"exact names": {"405", `{"Versions":{"1.0.0":` + once + `}}`,
			evidence.NotFound, "no such version"},
		"no object": {"405", `[]`, evidence.Unreachable, "not a package's document"},
		"no versions": {"405", `{"versions":["1.0.0"]}`,
			evidence.Unreachable, "not a package's document"},
		"cut": {"405", `{"versions":{"1.0.0":` + once,
			evidence.Unreachable, "not a package's document"},
		"more after it": {"405", `{"versions":{"1.0.0":` + once + `}} {}`,
			evidence.Unreachable, "not a package's document"},
		"html": {"405", `<html>`, evidence.Unreachable, "not a package's document"},
		"a version that is long": {"405", `{"versions":{"1.0.0":{"x":"` + strings.Repeat("x", 3000) + `"}}}`,
			evidence.TooLarge, "1,000"},
		"another that is long": {"405", `{"versions":{"2.0.0":{"x":"` + strings.Repeat("x", 3000) + `"}}}`,
			evidence.TooLarge, "1,000"},
		"a name that is long": {"405", `{"versions":{"` + strings.Repeat("x", 3000) + `":{}}}`,
			evidence.TooLarge, "1,000"},
		"spaces without an end": {"405", `{"versions":` + strings.Repeat(" ", 3000) + `{}}`,
			evidence.TooLarge, "1,000"},
		"no tarball in a version": {"405", `{"versions":{"1.0.0":{"name":"a","version":"1.0.0"}}}`,
			evidence.NotFound, "no tarball"},
	} {
		pages := map[string]string{"/a/1.0.0": tt.version}
		if tt.packument != "" {
			pages["/a"] = tt.packument
		}
		config.NPM = settings(map[string]string{"registry": newSite(t, pages).base})
		_, err := get(t, newClient(t, config), "npm:a@1.0.0")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if e := wantError(t, err, tt.cause, tt.part); e.Cause == evidence.NotFound && e.Hint == "" {
			t.Errorf("%s: no hint", name)
		}
	}
}

// TestNPMPackumentInParts: a package of very many versions is read without holding it, and one
// beyond the limit is refused.
func TestNPMPackumentInParts(t *testing.T) {
	version := `"%d.0.0":{"name":"big","version":"%d.0.0","readme":"` + strings.Repeat("x", 20_000) + `"},`
	const versions = 2000 // 40 MB
	parts := []io.Reader{strings.NewReader(`{"versions":{`)}
	for i := range versions {
		parts = append(parts, strings.NewReader(strings.ReplaceAll(version, "%d", strconv.Itoa(i+2))))
	}
	parts = append(parts, strings.NewReader(`"1.0.0":{"name":"big"}}}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	data, _, err := newPackument(io.MultiReader(parts...), 1<<20).find("1.0.0")
	runtime.ReadMemStats(&after)
	if err != nil || string(data) != `{"name":"big"}` {
		t.Errorf("%s, %v", data, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were allocated for a document of 40 MB", used)
	}

	config := testConfig(t)
	config.Limits.FileSize = 1000
	config.NPM = settings(map[string]string{"registry": newSite(t, map[string]string{"/big/1.0.0": "405",
		"/big": strings.Repeat(" ", 1001)}).base})
	_, err = get(t, newClient(t, config), "npm:big@1.0.0")
	wantError(t, err, evidence.TooLarge, "1,000")
}
