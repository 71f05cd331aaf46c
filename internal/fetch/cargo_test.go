package fetch

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
)

func indexLine(name, version, body, more string) string {
	return fmt.Sprintf(`{"name":"%s","vers":"%s","deps":[],"cksum":"%s"%s}`, name, version, sha(body), more) + "\n"
}

func TestCargo(t *testing.T) {
	config := testConfig(t)
	config.Limits.Retries = -1
	other := newSite(t, map[string]string{"/readme": "evil"})
	s := newSite(t, map[string]string{
		"/index/config.json": `{"dl":"BASE/dl","api":"BASE"}`,
		"/index/no/te/notes": indexLine("Notes", "1.0.0", "crate", "") +
			indexLine("Notes", "1.0.1", "crate", `,"yanked":true`) +
			indexLine("Notes", "1.0.2", "other", `,"yanked":false,"v":2`) +
			indexLine("Notes", "1.0.3", "x", `,"v":3`) + "not json\n\n" +
			indexLine("Notes", "1.0.4", "a", "") + indexLine("Notes", "1.0.4", "b", "") +
			indexLine("other", "1.0.5", "a", "") + `{"name":"Notes","vers":"1.0.6","cksum":"zz"}` + "\n" +
			`{"name":"Notes","vers":"1.0.7"}` + "\n" +
			indexLine("Notes", "1.0.8", "gone", ""),
		"/dl/Notes/1.0.0/download":          "crate",
		"/dl/Notes/1.0.1/download":          "crate",
		"/dl/Notes/1.0.2/download":          "crate",
		"/dl/Notes/1.0.7/download":          "crate",
		"/api/v1/crates/notes/1.0.0/readme": `{"url":"BASE/readmes/notes.html"}`,
		"/readmes/notes.html":               "<p>mcp-name: a/b</p>",
		"/api/v1/crates/notes/1.0.1/readme": `{"url":"` + other.base + `/readme"}`,
		"/api/v1/crates/notes/1.0.2/readme": `{"url":"BASE/forbidden"}`,
		"/forbidden":                        "403",
		"/api/v1/crates/notes/1.0.3/readme": `{"errors":[]}`,
		"/api/v1/crates/notes/1.0.4/readme": `{"url":"http://crates.example.com/"}`,
		"/apart/config.json":                `{"dl":"https://dl.example.com/","api":"BASE"}`,
		"/noapi/config.json":                `{"dl":"BASE/dl"}`,
		"/html/config.json":                 `<html>`,
		"/plain/config.json":                `{"dl":"http://crates.example.com/dl"}`,
		"/plain/no/te/notes":                indexLine("notes", "1.0.0", "crate", ""),
	})
	config.Cargo.Index = "sparse+" + s.base + "/index/"
	c := newClient(t, config)
	for version, want := range map[string]struct{ yanked, outcomes string }{
		"1.0.0": {"", "[match]"},
		"1.0.1": {"no reason given", "[match]"},
		"1.0.2": {"", "[mismatch]"},
		"1.0.7": {"", "[]"},
	} {
		d, err := get(t, c, "cargo:notes@"+version)
		if err != nil {
			t.Fatal(err)
		}
		if d.Yanked != want.yanked || d.Observed.From != s.base+"/dl/Notes/"+version+"/download" {
			t.Errorf("%s: %+v", version, d)
		}
		if got := fmt.Sprint(outcomes(t, d, nil)); got != want.outcomes {
			t.Errorf("%s: %s", version, got)
		}
	}
	// Replaced after it was published.
	s.pages["/dl/Notes/1.0.0/download"] = "another"
	d, err := get(t, c, "cargo:notes@1.0.0")
	if got := outcomes(t, d, err); !slices.Equal(got, []evidence.Outcome{evidence.Mismatch}) {
		t.Errorf("%v", got)
	}
	for ref, want := range map[string]struct {
		cause evidence.Cause
		part  string
	}{
		"notes@2.0.0": {evidence.NotFound, "no such version"},
		"notes@1.0.3": {evidence.NotFound, "no such version"},
		"notes@1.0.4": {evidence.Ambiguous, "twice"},
		"notes@1.0.5": {evidence.NotFound, "no such version"},
		"notes@1.0.6": {evidence.Unsupported, "not hex"},
		"notes@1.0.8": {evidence.NotFound, "/download: answered 404"},
		"lost@1.0.0":  {evidence.NotFound, "/index/lo/st/lost: answered 404"},
	} {
		_, err := get(t, c, "cargo:"+ref)
		wantError(t, err, want.cause, want.part)
	}

	text, err := c.Description(context.Background(), mustRef(t, "cargo:notes@1.0.0"))
	if err != nil || !OwnerToken(text, "a/b") {
		t.Errorf("%q, %v", text, err)
	}
	for version, want := range map[string]struct {
		cause evidence.Cause
		part  string
	}{
		"1.0.1": {evidence.Unsupported, "not the registry's"},
		"1.0.2": {evidence.NotFound, "403"},
		"1.0.3": {evidence.NotFound, "no readme"},
		"1.0.4": {evidence.Unsupported, "not the registry's"},
		"9.0.0": {evidence.NotFound, "404"},
	} {
		_, err := c.Description(context.Background(), mustRef(t, "cargo:notes@"+version))
		wantError(t, err, want.cause, want.part)
	}
	if log := other.requests(); len(log) != 0 {
		t.Errorf("%v", log)
	}
	for index, want := range map[string]struct {
		cause evidence.Cause
		part  string
	}{
		s.base + "/none":                    {evidence.Unreachable, "404"},
		s.base + "/html":                    {evidence.Unreachable, "not the configuration"},
		s.base + "/plain":                   {evidence.Unsupported, "plain http"},
		"sparse+http://crates.example.com/": {evidence.Unsupported, "plain http"},
		"source:vendored":                   {evidence.Unsupported, "sparse index"},
		"sparse+https://u:secret@[::1":      {evidence.Unsupported, "cannot be parsed"},
	} {
		config.Cargo.Index = index
		_, err := get(t, newClient(t, config), "cargo:notes@1.0.0")
		e := wantError(t, err, want.cause)
		if text := err.Error() + e.Hint; !strings.Contains(text, want.part) || strings.Contains(text, "secret") {
			t.Errorf("%s: %q", index, text)
		}
	}
	// Readmes at the API's host, crates from another.
	config.Cargo.Index = s.base + "/apart"
	if text, err := newClient(t, config).Description(context.Background(),
		mustRef(t, "cargo:notes@1.0.0")); err != nil || text == "" {
		t.Errorf("%q, %v", text, err)
	}
	_, err = newClient(t, config).Description(context.Background(), mustRef(t, "cargo:notes@1.0.1"))
	wantError(t, err, evidence.Unsupported, "not the registry's")
	config.Cargo.Index = s.base + "/noapi"
	_, err = newClient(t, config).Description(context.Background(), mustRef(t, "cargo:notes@1.0.0"))
	wantError(t, err, evidence.Unsupported, "names no API")
}

func TestCargoURLs(t *testing.T) {
	from, _ := url.Parse("https://index.example.com/config.json")
	for _, tt := range []struct{ name, template, want string }{
		{"Notes", "https://dl.example.com/c/", "https://dl.example.com/c/Notes/1.0.0+b/download"},
		{"Notes", "https://dl.example.com/{crate}-{version}.crate", "https://dl.example.com/Notes-1.0.0+b.crate"},
		{"Notes", "https://dl.example.com/{prefix}/{lowerprefix}/{sha256-checksum}",
			"https://dl.example.com/No/te/no/te/00ff"},
		{"Abc", "https://dl.example.com/{prefix}/{lowerprefix}", "https://dl.example.com/3/A/3/a"},
		{"Ab", "https://dl.example.com/{prefix}/{lowerprefix}", "https://dl.example.com/2/2"},
		{"A", "https://dl.example.com/{prefix}/{lowerprefix}", "https://dl.example.com/1/1"},
		{"A", "/dl", "https://index.example.com/dl/A/1.0.0+b/download"},
	} {
		u, err := crate{tt.name, "1.0.0+b", "00ff", false}.downloadURL(from, tt.template)
		if err != nil || u.String() != tt.want {
			t.Errorf("%s %s: %v, %v", tt.name, tt.template, u, err)
		}
	}
	for name, want := range map[string]string{"A": "1/a", "aB": "2/ab", "Abc": "3/a/abc", "Abcd": "ab/cd/abcd",
		"serde_json": "se/rd/serde_json"} {
		if got := strings.Join(indexPath(name), "/"); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	public, _ := url.Parse(model.RegistryURLCrates)
	if got := indexURL(userconfig.Cargo{}); got != "https://index."+public.Host {
		t.Errorf("%s", got)
	}
}

func TestCargoUserConfig(t *testing.T) {
	const mirror = "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = " +
		"\"sparse+https://crates.example.com/index/\"\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing": {nil, ""},
		"other": {map[string]string{"home/.cargo/config.toml": "[build]\njobs = 1\n[registries.x]\nindex = " +
			"\"sparse+https://x.example.com/\""}, ""},
		"mirror": {map[string]string{"home/.cargo/config.toml": mirror}, "sparse+https://crates.example.com/index/"},
		"registry": {map[string]string{"home/.cargo/config.toml": "[source.crates-io]\nreplace-with = \"x\"\n" +
			"[registries.x]\nindex = \"sparse+https://x.example.com/\""}, "sparse+https://x.example.com/"},
		"chain": {map[string]string{"home/.cargo/config.toml": mirror +
			"replace-with = \"n\"\n[source.n]\nregistry = \"sparse+https://n.example.com/\""},
			"sparse+https://n.example.com/"},
		"loop": {map[string]string{"home/.cargo/config.toml": "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\n" +
			"replace-with = \"crates-io\""}, ""},
		"project": {map[string]string{"home/.cargo/config.toml": mirror,
			"project/.cargo/config.toml": "[source.m]\nregistry = \"sparse+https://p.example.com/\""},
			"sparse+https://p.example.com/"},
		"vendored": {map[string]string{"project/.cargo/config.toml": "[source.crates-io]\nreplace-with = \"v x\"\n" +
			"[source.\"v x\"]\ndirectory = \"vendor\""}, "source:v%20x"},
		"git": {map[string]string{"project/.cargo/config.toml": "[source.crates-io]\nreplace-with = \"g\"\n" +
			"[source.g]\nregistry = \"https://git.example.com/index\""}, "source:g"},
	} {
		config, err := userOf(t, tt.files, nil)
		if err != nil || config.Cargo.Index != tt.want {
			t.Errorf("%s: %q, %v", name, config.Cargo.Index, err)
		}
	}
}

func FuzzCargoIndex(f *testing.F) {
	f.Add(indexLine("notes", "1.0.0", "x", `,"yanked":true,"v":2`), "https://dl.example.com/{prefix}/{crate}")
	f.Add("{}\n[]\n", "/")
	from, _ := url.Parse("https://index.example.com/config.json")
	f.Fuzz(func(t *testing.T, lines, template string) {
		k, cause, err := parseIndexLines([]byte(lines), "notes", "1.0.0")
		if err != nil {
			if cause == "" {
				t.Error("no cause")
			}
			return
		}
		if !strings.EqualFold(k.name, "notes") || k.version != "1.0.0" {
			t.Errorf("%+v", k)
		}
		if u, err := k.downloadURL(from, template); err == nil && (u.Scheme != "https" || u.User != nil) {
			t.Errorf("%s", u)
		}
	})
}
