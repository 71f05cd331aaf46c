package workspace

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/archive"
)

// writeDatabase makes a zip of documents by their names.
func writeDatabase(t *testing.T, documents map[string]string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "all.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for path, text := range documents {
		w, err := z.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, text)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// findAdvisories returns the ids of what a zip has against packages, each with the version that fixes it.
func findAdvisories(t *testing.T, name string, refs ...string) ([]string, error) {
	t.Helper()
	var all []artifact.Ref
	for _, text := range refs {
		ref, err := artifact.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ref)
	}
	d, err := openDatabase(t.Context(), name, all[0].Kind(), databaseLimits{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	found, err := d.Find(t.Context(), all)
	var out []string
	for _, a := range found {
		out = append(out, fmt.Sprintf("%s %s %s", a.Ref, a.ID, a.Fixed))
	}
	return out, err
}

// affecting is a document with one entry of what is affected.
func affecting(id, ecosystem, name, rest string) string {
	return fmt.Sprintf(`{"schema_version": "1.7.3", "id": %q, "modified": "2026-01-02T03:04:05Z", "summary": "Bad things",
		"affected": [{"package": {"ecosystem": %q, "name": %q, "purl": "pkg:x/y"}, %s,
			"database_specific": {"source": "https://osv.example.com/a.json"}}],
		"severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}],
		"references": [{"type": "WEB", "url": "https://osv.example.com/a"}],
		"credits": [{"name": "Somebody", "type": "FINDER"}]}`, id, ecosystem, name, rest)
}

func ranges(kind, events string) string {
	return fmt.Sprintf(`"ranges": [{"type": %q, "events": [%s]}]`, kind, events)
}

// TestAffected: whether a version is affected is decided as OSV's schema says.
func TestAffected(t *testing.T) {
	semver := func(events string) string { return ranges("SEMVER", events) }
	all := semver(`{"introduced": "0"}`)
	one := semver(`{"introduced": "1.0.0"}, {"fixed": "1.4.0"}`)
	pep := ranges("ECOSYSTEM", `{"introduced": "1.0"}, {"fixed": "2.0"}`)
	for name, c := range map[string]struct {
		ecosystem, name, rest string
		ref                   string
		want                  string // the version that fixes it, "none" for affected without one, "" for not affected
	}{
		"all versions":               {"npm", "a", all, "npm:a@0.0.0-alpha", "none"},
		"another package":            {"npm", "a", all, "npm:ab@1.0.0", ""},
		"another case":               {"npm", "A", all, "npm:a@1.0.0", ""},
		"another ecosystem":          {"PyPI", "a", all, "npm:a@1.0.0", ""},
		"a part of an ecosystem":     {"npm:x", "a", all, "npm:a@1.0.0", "none"},
		"a scope":                    {"npm", "@acme/a", one, "npm:@acme/a@1.3.9", "1.4.0"},
		"before":                     {"npm", "a", one, "npm:a@0.9.9", ""},
		"the first":                  {"npm", "a", one, "npm:a@1.0.0", "1.4.0"},
		"the last":                   {"npm", "a", one, "npm:a@1.3.99", "1.4.0"},
		"fixed":                      {"npm", "a", one, "npm:a@1.4.0", ""},
		"a build of it":              {"npm", "a", one, "npm:a@1.4.0+b", ""},
		"a pre-release of the first": {"npm", "a", one, "npm:a@1.0.0-rc.1", ""},
		"a pre-release of the fix":   {"npm", "a", one, "npm:a@1.4.0-rc.1", "1.4.0"},
		"no text order":              {"npm", "a", one, "npm:a@1.10.0", ""},

		"last affected": {"npm", "a", semver(`{"introduced": "1.0.0"}, {"last_affected": "1.2.0"}`), "npm:a@1.2.0", "none"},
		"after it":      {"npm", "a", semver(`{"introduced": "1.0.0"}, {"last_affected": "1.2.0"}`), "npm:a@1.2.1", ""},
		"one version":   {"npm", "a", semver(`{"last_affected": "1.2.0"}, {"introduced": "1.2.0"}`), "npm:a@1.2.0", "none"},
		"and no more":   {"npm", "a", semver(`{"last_affected": "1.2.0"}, {"introduced": "1.2.0"}`), "npm:a@1.2.1", ""},
		"no order of events": {"npm", "a", semver(`{"fixed": "2.1.0"}, {"introduced": "2.0.0"}, {"fixed": "1.1.0"},
			{"introduced": "0"}`), "npm:a@2.0.5", "2.1.0"},
		"between":      {"npm", "a", semver(`{"introduced": "0"}, {"fixed": "1.1.0"}, {"introduced": "2.0.0"}`), "npm:a@1.5.0", ""},
		"again":        {"npm", "a", semver(`{"introduced": "0"}, {"fixed": "1.1.0"}, {"introduced": "1.1.0"}`), "npm:a@1.1.0", "none"},
		"below limit":  {"npm", "a", semver(`{"introduced": "1.0.0"}, {"limit": "1.5.0"}`), "npm:a@1.4.0", "none"},
		"at the limit": {"npm", "a", semver(`{"introduced": "1.0.0"}, {"limit": "1.5.0"}`), "npm:a@1.5.0", ""},
		"no limit":     {"npm", "a", semver(`{"introduced": "1.0.0"}, {"limit": "*"}`), "npm:a@9.0.0", "none"},

		"listed":         {"npm", "a", `"versions": ["1.0.0", "1.0.2"]`, "npm:a@1.0.2", "none"},
		"not listed":     {"npm", "a", `"versions": ["1.0.0", "1.0.2"]`, "npm:a@1.0.1", ""},
		"list or range":  {"npm", "a", `"versions": ["9.0.0"], ` + one, "npm:a@1.1.0", "1.4.0"},
		"range or list":  {"npm", "a", `"versions": ["9.0.0"], ` + one, "npm:a@9.0.0", "none"},
		"nothing said":   {"npm", "a", `"versions": []`, "npm:a@1.0.0", ""},
		"commits":        {"npm", "a", ranges("GIT", `{"introduced": "0"}`), "npm:a@1.0.0", ""},
		"null":           {"npm", "a", `"versions": null, "ranges": null`, "npm:a@1.0.0", ""},
		"no version":     {"npm", "a", semver(`{"introduced": "one"}`), "npm:a@1.0.0", "none"},
		"no such event":  {"npm", "a", semver(`{"introduced": "0"}, {"begun": "1"}`), "npm:a@1.0.0", "none"},
		"no beginning":   {"npm", "a", semver(`{"fixed": "1.0.0"}`), "npm:a@2.0.0", "none"},
		"no such type":   {"npm", "a", ranges("DATE", `{"introduced": "0"}`), "npm:a@1.0.0", "none"},
		"a list decides": {"npm", "a", `"versions": ["2.0.0"], ` + semver(`{"introduced": "one"}`), "npm:a@1.0.0", ""},

		"PyPI":                 {"PyPI", "a", pep, "pypi:a==1.10", "2.0"},
		"PyPI, a name":         {"PyPI", "Zope.Interface__X", pep, "pypi:zope-interface-x==1.1", "2.0"},
		"PyPI, asked so":       {"PyPI", "zope-interface", pep, "pypi:Zope.Interface==1.1", "2.0"},
		"PyPI, pre-release":    {"PyPI", "a", pep, "pypi:a==2.0rc1", "2.0"},
		"PyPI, first's":        {"PyPI", "a", pep, "pypi:a==1.0b1", ""},
		"PyPI, the same":       {"PyPI", "a", pep, "pypi:a==2.0.0", ""},
		"PyPI, post":           {"PyPI", "a", pep, "pypi:a==2.0.post1", ""},
		"PyPI, listed":         {"PyPI", "a", `"versions": ["1.0"]`, "pypi:a==1.0.0", "none"},
		"PyPI, listed oddly":   {"PyPI", "a", `"versions": ["dev-2", "1.0-r1"]`, "pypi:a==1.0", ""},
		"Go, without v":        {"Go", "example.com/a", one, "go:example.com/a@v1.2.0", "1.4.0"},
		"Go, fixed":            {"Go", "example.com/a", one, "go:example.com/a@v1.4.0", ""},
		"Go, a pseudo-version": {"Go", "example.com/a", one, "go:example.com/a@v1.4.0-0.20260101000000-0123456789ab", "1.4.0"},
		"Go, incompatible": {"Go", "example.com/a", semver(`{"introduced": "0"}, {"fixed": "2.1.0+incompatible"}`),
			"go:example.com/a@v2.0.0+incompatible", "2.1.0+incompatible"},
		"Go, listed": {"Go", "example.com/a", `"versions": ["1.2.0"]`, "go:example.com/a@v1.2.0", "none"},
	} {
		got, err := findAdvisories(t, writeDatabase(t, map[string]string{"X-1.json": affecting("X-1", c.ecosystem, c.name, c.rest)}), c.ref)
		var want []string
		if c.want != "" {
			want = []string{c.ref + " X-1 " + strings.TrimPrefix(c.want, "none")}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// TestFind: of several packages each has what is known against it, once; what is withdrawn does not count, and a name
// that is written with escapes is the same name.
func TestFind(t *testing.T) {
	all := ranges("SEMVER", `{"introduced": "0"}`)
	twice := strings.Replace(affecting("X-6", "npm", "a", all), `"affected": [`,
		`"affected": [{"package": {"ecosystem": "npm", "name": "@acme/b"}, "versions": ["1.0.0"]},
		{"package": {"ecosystem": "npm", "name": "a"}, `+ranges("SEMVER", `{"introduced": "0"}, {"fixed": "3.0.0"}`)+`}, `, 1)
	name := writeDatabase(t, map[string]string{
		"MAL-2.json":     affecting("MAL-2", "npm", "a", all),
		"X-3.json":       strings.Replace(affecting("X-3", "npm", "a", all), `{`, `{"withdrawn": "2026-01-01T00:00:00Z",`, 1),
		"X-4.json":       affecting("X-4", "npm", "@acme\u002fb", all),
		"more/X-5.json":  strings.Replace(affecting("X-5", "npm", "@acme/b", all), `@acme/b`, `@acme\/b`, 1),
		"X-6.json":       twice,
		"X-7.json":       strings.ReplaceAll(affecting("X-7", "npm", "a", all), `"name"`, `"n\u0061me"`),
		"X-8.json":       `{"id": "X-8", "summary": "about nothing"}`,
		"README.md":      "name",
		"__MACOSX/a.txt": "",
	})
	got, err := findAdvisories(t, name, "npm:a@1.0.0", "npm:@acme/b@1.0.0", "npm:other@1.0.0")
	want := []string{"npm:@acme/b@1.0.0 X-4 ", "npm:@acme/b@1.0.0 X-5 ", "npm:@acme/b@1.0.0 X-6 ", "npm:a@1.0.0 MAL-2 ",
		"npm:a@1.0.0 X-6 3.0.0", "npm:a@1.0.0 X-7 "}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestTexts: the summary is one line, of the details if there is no other.
func TestTexts(t *testing.T) {
	for doc, want := range map[string]string{
		`"summary": " short ", "details": "long"`: "short", `"details": "\n# First\nsecond"`: "# First", `"summary": ""`: "",
	} {
		name := writeDatabase(t, map[string]string{"A.json": `{"id": "A", ` + doc +
			`, "affected": [{"package": {"ecosystem": "npm", "name": "a"}, "versions": ["1.0.0"]}]}`})
		d, err := openDatabase(t.Context(), name, artifact.NPM, databaseLimits{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		ref, _ := artifact.NewNPM("a", "1.0.0")
		found, err := d.Find(t.Context(), []artifact.Ref{ref})
		if err != nil || len(found) != 1 || found[0].Summary != want || found[0].Malware() {
			t.Errorf("%s: %+v, %v", doc, found, err)
		}
	}
}

// TestBroken: what is broken, or too much, is an error that says which document it is about, and never no advisory.
func TestBroken(t *testing.T) {
	good := affecting("X-1", "npm", "a", ranges("SEMVER", `{"introduced": "0"}`))
	for name, c := range map[string]struct {
		documents map[string]string
		want      string
	}{
		"no JSON":         {map[string]string{"X-1.json": "name"}, "X-1.json: is no JSON"},
		"empty":           {map[string]string{"X-1.json": ""}, "X-1.json: is no JSON"},
		"cut off":         {map[string]string{"X-1.json": good[:len(good)-20]}, "X-1.json: unexpected end of JSON input"},
		"in a name":       {map[string]string{"X-1.json": `{"name": "a`}, "X-1.json: is no JSON"},
		"a list":          {map[string]string{"X-1.json": "[" + good + "]"}, "X-1.json: json: cannot unmarshal array"},
		"another id":      {map[string]string{"X-2.json": good}, `X-2.json: its id is "X-1", and not the name of the file`},
		"another case":    {map[string]string{"X-1.json": strings.Replace(good, `"affected"`, `"Affected"`, 1)}, "X-1.json: "},
		"another type":    {map[string]string{"X-1.json": strings.Replace(good, `"ranges": [`, `"versions": 3, "ranges": [`, 1)}, "X-1.json: "},
		"a path upwards":  {map[string]string{"../X-1.json": good}, "../X-1.json"},
		"one of them bad": {map[string]string{"X-1.json": good, "X-2.json": `<html>`}, "X-2.json: is no JSON"},
	} {
		got, err := findAdvisories(t, writeDatabase(t, c.documents), "npm:a@1.0.0")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	documents := map[string]string{"X-1.json": good, "X-2.json": strings.ReplaceAll(good, "X-1", "X-2")}
	for want, limits := range map[string]databaseLimits{
		"more than 500 bytes": {Zip: 500}, "more than 1 entries": {Documents: 1}, "json: has": {Document: 200},
	} {
		d, err := openDatabase(t.Context(), writeDatabase(t, documents), artifact.NPM, limits)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, %v", limits, d, err)
		}
	}
	bomb := writeDatabase(t, map[string]string{"X-1.json": strings.Repeat(" ", 6<<20)})
	if _, err := openDatabase(t.Context(), bomb, artifact.NPM, databaseLimits{}); !errors.As(err, new(*archive.Error)) {
		t.Error(err)
	}
	dir := t.TempDir()
	if _, err := openDatabase(t.Context(), filepath.Join(dir, "all.zip"), artifact.NPM, databaseLimits{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := openDatabase(t.Context(), dir, artifact.NPM, databaseLimits{}); err == nil {
		t.Error("a directory is opened")
	}
	page := filepath.Join(dir, "page.zip")
	os.WriteFile(page, []byte("<html>not found</html>"), 0o600)
	if _, err := openDatabase(t.Context(), page, artifact.NPM, databaseLimits{}); !errors.As(err, new(*archive.Error)) {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := openDatabase(stopped, writeDatabase(t, documents), artifact.NPM, databaseLimits{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
