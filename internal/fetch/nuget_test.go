package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// nupkg is a package with files "name=text".
func nupkg(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const nugetIndexPage = `{"version":"3.0.0","resources":[
	{"@id":"BASE/old/","@type":"PackageBaseAddress/2.0.0"},
	{"@id":"BASE/flat/","@type":"PackageBaseAddress/3.0.0"},
	{"@id":"BASE/second/","@type":"PackageBaseAddress/3.0.0"}%s]}`

func TestNuGet(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	nuspec := func(id, readme string) string {
		return "x.nuspec=<?xml version='1.0'?><package xmlns='urn:x'><metadata><id>" + id + "</id>" + readme +
			"</metadata></package>"
	}
	s := newSite(t, map[string]string{
		"/index.json": fmt.Sprintf(nugetIndexPage,
			`,{"@id":"BASE/readme/{lower_id}/{lower_version}","@type":"ReadmeUriTemplate/6.13.0"}`),
		"/bare.json": fmt.Sprintf(nugetIndexPage, ""),
		"/flat/acme.notes/1.2.0/acme.notes.1.2.0.nupkg":           "package",
		"/flat/acme.notes/1.2.0-rc.1/acme.notes.1.2.0-rc.1.nupkg": "candidate",
		"/readme/acme.notes/1.2.0":                                "the readme",
		"/empty.json":                                             `{"resources":[]}`,
		"/html.json":                                              "<html>",
		"/plain.json": `{"resources":[{"@id":"http://nuget.example.com/",` +
			`"@type":"PackageBaseAddress/3.0.0"}]}`,
		"/flat/packed/1.0.0/packed.1.0.0.nupkg": nupkg(t, nuspec("Packed", `<readme>docs\README.md</readme>`),
			"docs/README.md=packed readme"),
		"/flat/none/1.0.0/none.1.0.0.nupkg":   nupkg(t, nuspec("none", "")),
		"/flat/other/1.0.0/other.1.0.0.nupkg": nupkg(t, nuspec("another", "<readme>r</readme>"), "r=x"),
		"/flat/lost/1.0.0/lost.1.0.0.nupkg":   nupkg(t, nuspec("lost", "<readme>r</readme>")),
		"/flat/deep/1.0.0/deep.1.0.0.nupkg":   nupkg(t, "d/"+nuspec("deep", "<readme>r</readme>"), "r=x"),
		"/flat/large/1.0.0/large.1.0.0.nupkg": nupkg(t, nuspec("large", "<readme>r</readme>"),
			"r="+strings.Repeat("x", 5001)),
		"/flat/nozip/1.0.0/nozip.1.0.0.nupkg": "x",
	})
	config.Limits.DocumentSize = 5000
	config.NuGet.Index = s.base + "/index.json"
	c := newClient(t, config)
	d, err := get(t, c, "nuget:Acme.Notes@1.2")
	if err == nil && len(d.Claims)+len(d.Unverifiable) != 0 {
		t.Errorf("%+v", d)
	}
	wantBody(t, d, err, "package")
	d, err = get(t, c, "nuget:acme.NOTES@1.2.0-RC.1+build")
	wantBody(t, d, err, "candidate")
	_, err = get(t, c, "nuget:acme.notes@9.0.0")
	if e := wantError(t, err, evidence.NotFound, "/flat/acme.notes/9.0.0/"); e.Hint == "" {
		t.Error("no hint")
	}
	if log := s.requests(); slices.ContainsFunc(log, func(r string) bool { return strings.Contains(r, "<-") }) {
		t.Errorf("%v", log)
	}

	describe := func(ref string) (string, error) { return c.Description(context.Background(), mustRef(t, ref)) }
	if text, err := describe("nuget:Acme.Notes@1.2"); err != nil || text != "the readme" {
		t.Errorf("%q, %v", text, err)
	}
	_, err = describe("nuget:packed@1.0.0") // its registry has readmes, but none of it
	wantError(t, err, evidence.NotFound, "404")

	config.NuGet.Index = s.base + "/bare.json"
	c = newClient(t, config)
	if text, err := describe("nuget:packed@1.0.0"); err != nil || text != "packed readme" {
		t.Errorf("%q, %v", text, err)
	}
	for _, id := range []string{"none", "lost"} {
		if text, err := describe("nuget:" + id + "@1.0.0"); err != nil || text != "" {
			t.Errorf("%s: %q, %v", id, text, err)
		}
	}
	for id, part := range map[string]string{"other": `"another"`, "deep": "no .nuspec", "large": "larger than 5,000",
		"nozip": "cannot be read"} {
		_, err := describe("nuget:" + id + "@1.0.0")
		wantError(t, err, evidence.Unreachable, part)
	}
	for index, want := range map[string]struct {
		cause evidence.Cause
		part  string
	}{
		s.base + "/empty.json":          {evidence.Unreachable, "not a service index"},
		s.base + "/html.json":           {evidence.Unreachable, "not a service index"},
		s.base + "/missing.json":        {evidence.Unreachable, "404"},
		s.base + "/plain.json":          {evidence.Unsupported, "not a URL to fetch from"},
		"http://nuget.example.com/":     {evidence.Unsupported, "plain http"},
		"https://u:secret@example.com/": {evidence.Unsupported, "user name or password"},
		"https://[::1":                  {evidence.Unsupported, "cannot be parsed"},
	} {
		config.NuGet.Index = index
		_, err := get(t, newClient(t, config), "nuget:acme.notes@1.2.0")
		wantError(t, err, want.cause, want.part)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}
