package fetch

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

// gitHubRelease is the API's answer for a tag with assets "name digest".
func gitHubRelease(tag string, assets ...string) string {
	var list []string
	for i, a := range assets {
		name, digest, _ := strings.Cut(a, " ")
		if digest == "" {
			digest = "null"
		} else {
			digest = `"` + digest + `"`
		}
		list = append(list,
			fmt.Sprintf(`{"id":%d,"name":"%s","digest":%s,"browser_download_url":"SITE/o/r/releases/download/%s/%s"}`,
				100+i, name, digest, tag, name))
	}
	return fmt.Sprintf(`{"tag_name":"%s","assets":[%s]}`, tag, strings.Join(list, ","))
}

func TestGitHub(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = 2
	storage := newSite(t, map[string]string{"/blob": "asset"})
	www := newSite(t, map[string]string{
		"/o/r/releases/download/v1/a.zip":     "-> " + storage.base + "/blob",
		"/o/r/releases/download/v1/old.zip":   "old",
		"/o/r/releases/download/v1/bad.zip":   "bad",
		"/o/r/releases/download/v1/odd.zip":   "odd",
		"/o/r/releases/download/x%2Fv2/a.zip": "slash",
		"/o/r/releases/download/x/v2/a.zip":   "slash",
	})
	api := newSite(t, map[string]string{
		"/repos/o/r/releases/tags/v1": gitHubRelease("v1", "a.zip sha256:"+sha("asset"), "old.zip",
			"bad.zip sha256:"+sha("other"), "odd.zip md5:00", "gone.zip"),
		"/repos/o/r/releases/tags/x%2Fv2":  gitHubRelease("x/v2", "a.zip sha256:"+sha("slash")),
		"/repos/o/r/releases/tags/moved":   gitHubRelease("other", "a.zip"),
		"/repos/o/r/releases/tags/html":    "<html>",
		"/repos/o/r/releases/tags/limited": "403",
		"/repos/o/r/releases/tags/busy":    "429",
		"/repos/o/r/releases/tags/down":    "500",
		"/repos/o/r/releases/tags/token":   "401",
		"/repos/o/r/releases/assets/100":   "-> " + storage.base + "/blob",
	})
	for path, page := range api.pages {
		api.pages[path] = strings.ReplaceAll(page, "SITE", www.base)
	}
	config.GitHub = userconfig.GitHub{Base: www.base, API: api.base}
	c := newClient(t, config)

	for ref, want := range map[string]string{
		"v1/a.zip":   "[match]",
		"v1/old.zip": "[]",
		"v1/bad.zip": "[mismatch]",
		"v1/odd.zip": "[unverifiable]",
		"x/v2/a.zip": "[match]",
	} {
		d, err := get(t, c, "github:o/r/"+ref)
		if err == nil && (len(d.Notes) != 0 ||
			!strings.HasPrefix(d.Observed.From, www.base+"/o/r/releases/download/")) {
			t.Errorf("%s: %+v", ref, d)
		}
		if got := fmt.Sprint(outcomes(t, d, err)); got != want {
			t.Errorf("%s: %s", ref, got)
		}
	}
	for _, s := range []*site{api, www, storage} {
		for _, r := range s.requests() {
			if strings.Contains(r, "<-") {
				t.Errorf("%s", r)
			}
		}
	}
	for ref, want := range map[string]struct {
		cause evidence.Cause
		part  string
		hint  string
	}{
		"v1/none.zip":   {evidence.NotFound, `no such asset, it has "a.zip", "old.zip"`, ""},
		"v9/a.zip":      {evidence.NotFound, "404", "GITHUB_TOKEN"},
		"moved/a.zip":   {evidence.NotFound, `"other"`, ""},
		"html/a.zip":    {evidence.Unreachable, "not a release", ""},
		"v1/gone.zip":   {evidence.NotFound, "/download/v1/gone.zip", ""},
		"down/a.zip":    {evidence.Unreachable, "3 attempts", ""},
		"token/a.zip":   {evidence.Unreachable, "401", "credentials"},
		"limited/a.zip": {evidence.NotFound, "/download/limited/a.zip", ""},
	} {
		_, err := get(t, c, "github:o/r/"+ref)
		if e := wantError(t, err, want.cause, want.part); !strings.Contains(e.Hint, want.hint) {
			t.Errorf("%s: hint %q", ref, e.Hint)
		}
	}

	// Without the API the asset still comes, with nobody's claim and a note.
	api.requests()
	for _, tag := range []string{"limited", "busy"} {
		www.pages["/o/r/releases/download/"+tag+"/a.zip"] = "asset"
		d, err := get(t, c, "github:o/r/"+tag+"/a.zip")
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Claims)+len(d.Unverifiable) != 0 || len(d.Notes) != 1 ||
			!strings.Contains(d.Notes[0], "GITHUB_TOKEN") {
			t.Errorf("%+v", d)
		}
		wantBody(t, d, nil, "asset")
	}
	if log := api.requests(); len(log) != 2 {
		t.Errorf("asked again: %v", log)
	}

	// With a token: the API's own download, and the token for its host alone.
	config.GitHub.Token = "T"
	c = newClient(t, config)
	www.requests()
	storage.requests()
	d, err := get(t, c, "github:o/r/v1/a.zip")
	wantBody(t, d, err, "asset")
	if log := api.requests(); !slices.Equal(log,
		[]string{"/repos/o/r/releases/tags/v1 <- Bearer T", "/repos/o/r/releases/assets/100 <- Bearer T"}) {
		t.Errorf("%v", log)
	}
	if a, b := www.requests(), storage.requests(); len(a) != 0 || !slices.Equal(b, []string{"/blob"}) {
		t.Errorf("%v, %v", a, b)
	}
	d, err = get(t, c, "github:o/r/limited/a.zip")
	wantBody(t, d, err, "asset")
	if log := www.requests(); !slices.Equal(log, []string{"/o/r/releases/download/limited/a.zip"}) {
		t.Errorf("%v", log)
	}
	config.GitHub.Token = "T\nX: y"
	_, err = get(t, newClient(t, config), "github:o/r/v1/a.zip")
	wantError(t, err, evidence.Unsupported, "the GitHub token has characters")
}

// TestGitHubForeignDownload: where the API names another host, the site itself is
// asked.
func TestGitHubForeignDownload(t *testing.T) {
	config := testConfig(t)
	www := newSite(t, map[string]string{"/o/r/releases/download/v1/a.zip": "site"})
	other := newSite(t, map[string]string{"/evil": "other"})
	api := newSite(t, map[string]string{"/repos/o/r/releases/tags/v1": `{"tag_name":"v1","assets":[{"name":"a.zip",` +
		`"browser_download_url":"` + other.base + `/evil"}]}`})
	config.GitHub = userconfig.GitHub{Base: www.base, API: api.base}
	d, err := get(t, newClient(t, config), "github:o/r/v1/a.zip")
	wantBody(t, d, err, "site")
}

func TestGitHubUserConfig(t *testing.T) {
	public, _ := url.Parse(model.RegistryURLGitHub)
	for _, tt := range []struct {
		env  map[string]string
		want userconfig.GitHub
		api  string
	}{
		{nil, userconfig.GitHub{}, "https://api." + public.Host},
		{map[string]string{"GITHUB_TOKEN": "a", "GH_TOKEN": "b", "GH_ENTERPRISE_TOKEN": "c"},
			userconfig.GitHub{Token: "b"}, "https://api." + public.Host},
		{map[string]string{"GITHUB_TOKEN": "a", "GH_HOST": public.Host}, userconfig.GitHub{Token: "a"},
			"https://api." + public.Host},
		{map[string]string{"GITHUB_TOKEN": "a", "GH_HOST": "Git.example.com"},
			userconfig.GitHub{Base: "https://git.example.com", API: "https://git.example.com/api/v3"},
			"https://git.example.com/api/v3"},
		{map[string]string{"GITHUB_ENTERPRISE_TOKEN": "c", "GH_TOKEN": "b", "GH_HOST": "git.example.com"},
			userconfig.GitHub{Base: "https://git.example.com", API: "https://git.example.com/api/v3", Token: "c"},
			"https://git.example.com/api/v3"},
		{map[string]string{"GH_TOKEN": "b", "GH_HOST": "acme.ghe.com"},
			userconfig.GitHub{Base: "https://acme.ghe.com", Token: "b"}, "https://api.acme.ghe.com"},
	} {
		got := (&userconfig.Reader{Env: func(key string) string { return tt.env[key] }}).GitHub()
		if got != tt.want || apiURL(got) != tt.api {
			t.Errorf("%v: %+v, %s", tt.env, got, apiURL(got))
		}
	}
}
