package serverjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const hexA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
const hexB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// base is a valid document; doc(member, value, ...) changes top-level members of it. An
// empty value removes one.
func doc(members ...string) string {
	m := map[string]json.RawMessage{
		"$schema":     json.RawMessage(`"` + CurrentSchema + `"`),
		"name":        json.RawMessage(`"com.example/notes"`),
		"description": json.RawMessage(`"Notes"`),
		"version":     json.RawMessage(`"1.4.0"`),
		"packages":    json.RawMessage(`[` + npmPackage + `]`),
	}
	for i := 0; i < len(members); i += 2 {
		if members[i+1] == "" {
			delete(m, members[i])
		} else {
			m[members[i]] = json.RawMessage(members[i+1])
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprint(members, err))
	}
	return string(out)
}

const (
	npmPackage  = `{"registryType":"npm","identifier":"@acme/notes","version":"1.4.0","transport":{"type":"stdio"}}`
	pypiPackage = `{"registryType":"pypi","identifier":"Acme_Notes","version":"1.4","transport":{"type":"stdio"}}`
	mcpbPackage = `{"registryType":"mcpb",` +
		`"identifier":"https://github.com/acme/notes/releases/download/v1/notes.mcpb","fileSha256":"` + hexA +
		`","transport":{"type":"stdio"}}`
)

func pkg(members string) string {
	return doc("packages",
		`[{"registryType":"npm","identifier":"a","version":"1.0.0","transport":{"type":"stdio"}`+members+`}]`)
}

// problems are "path reference" of all issues, warnings with "?" and information with
// "i" before them.
func problems(t *testing.T, text string) []string {
	t.Helper()
	var issues Issues
	d, err := Parse([]byte(text))
	if err != nil {
		var invalid *Invalid
		if !errors.As(err, &invalid) || len(invalid.Issues.Errors()) == 0 {
			t.Fatalf("%s: error %v", text, err)
		}
		issues = invalid.Issues
	} else {
		issues = d.Validate()
	}
	var out []string
	for _, i := range issues {
		mark := map[string]string{SeverityError: "", SeverityWarning: "?", SeverityInfo: "i"}[i.Severity]
		if i.Message == "" || i.Type == "" {
			t.Errorf("issue without text or type: %+v", i)
		}
		out = append(out, mark+i.Path+" "+i.Reference)
	}
	return out
}

func TestProblems(t *testing.T) {
	remote := func(s string) string { return doc("packages", "", "remotes", `[`+s+`]`) }
	hashes := func(s string) string {
		return doc("packages", `[`+npmPackage+`,`+pypiPackage+`,`+mcpbPackage+`]`, "file_hashes", `{`+s+`}`)
	}
	const meta = "/_meta/io.modelcontextprotocol.registry~1publisher-provided"
	long := strings.Repeat("ä", 101)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"valid", doc(), nil},
		{"x-member", doc("x-acme", `{"any":[1]}`), nil},

		// strict JSON
		{"duplicate member", `{"name":"a/b","name":"c/d"}`, []string{" duplicate-member"}},
		{"duplicate deep", pkg(`,"x-a":{"b":1,"\u0062":2}`), []string{" duplicate-member"}},
		{"trailing data", doc() + "{}", []string{" syntax"}},
		{"comment", "//\n" + doc(), []string{" syntax"}},
		{"byte order mark", "\ufeff" + doc(), []string{" syntax"}},
		{"lone surrogate", doc("title", `"\ud800"`), []string{" lone-surrogate"}},
		{"depth 64", doc("_meta", `{"`+publisherMeta+`":{"a":`+strings.Repeat("[", 61)+strings.Repeat("]", 61)+`}}`),
			nil},
		{"depth 65", doc("_meta", `{"`+publisherMeta+`":{"a":`+strings.Repeat("[", 62)+strings.Repeat("]", 62)+`}}`),
			[]string{" depth"}},
		{"1 MiB", doc("x-pad", `"`+strings.Repeat("a", MaxSize)+`"`), []string{" size"}},
		{"array", `[]`, []string{" wrong-type"}},
		{"null", `null`, []string{" wrong-type"}},
		{"a number beyond doubles", `{"_meta":{"x":-1e400}}`, []string{" number"}},
		{"empty", ``, []string{" syntax"}},

		// form
		{"nothing", `{}`,
			[]string{"i no-packages-or-remotes", "?/$schema schema-field-required", "/description required",
				"/name required", "/version required"}},
		{"unknown member", doc("nmae", `1`), []string{"/nmae unknown-member"}},
		{"status", doc("status", `"active"`), []string{"/status unknown-member"}},
		{"case matters", doc("Title", `"x"`), []string{"/Title unknown-member"}},
		{"unknown in package", pkg(`,"hash":"x"`), []string{"/packages/0/hash unknown-member"}},
		{"pointer escape", doc("a/b~c", `1`), []string{"/a~1b~0c unknown-member"}},
		{"types", doc("title", `1`, "packages", `{}`, "repository", `null`, "remotes", `[1]`), []string{
			"/packages wrong-type", "/remotes/0 wrong-type", "/repository null", "/title wrong-type"}},
		{"empty texts",
			doc("websiteUrl", `""`, "repository", `{"url":"","source":""}`, "packages",
				`[{"registryType":"npm","registryBaseUrl":"","identifier":"a","version":"1.0.0",`+
					`"transport":{"type":"stdio"}}]`), []string{
				"/packages/0/registryBaseUrl empty", "/repository/source empty", "/repository/url empty",
				"/websiteUrl empty"}},
		{"form and meaning at once", doc("title", `1`, "version", `"latest"`),
			[]string{"/title wrong-type", "/version reserved-version-string"}},
		{"lengths", doc("title", `"`+long+`"`, "description", `""`, "version", `"`+strings.Repeat("1", 256)+`"`),
			[]string{
				"/description empty", "/title too-long", "/version too-long"}},
		{"100 characters", doc("title", `"`+long[2:]+`"`), nil},
		{"name pattern", doc("name", `"com.example"`), []string{"/name pattern"}},
		{"two slashes", doc("name", `"com.example/a/b"`), []string{"/name pattern"}},
		{"name ends", doc("name", `"com.example-/notes"`), []string{"/name invalid-server-name"}},
		{"name one letter", doc("name", `"com.example/n"`), []string{"/name invalid-server-name"}},
		{"hash pattern", pkg(`,"fileSha256":"` + strings.ToUpper(hexA) + `"`),
			[]string{"/packages/0/fileSha256 pattern", "?/packages/0/fileSha256 file-sha256-not-mcpb"}},
		{"package members", doc("packages", `[{}]`),
			[]string{"/packages/0/identifier required", "/packages/0/registryType required",
				"/packages/0/transport required"}},
		{"argument enum", pkg(`,"packageArguments":[{"type":"flag"}]`),
			[]string{"/packages/0/packageArguments/0/type not-one-of"}},
		{"deep types",
			pkg(`,"environmentVariables":[{"name":"A","isSecret":"yes","choices":[1],` +
				`"variables":{"v":{"format":"int"}}}]`), []string{
				"/packages/0/environmentVariables/0/choices/0 wrong-type",
				"/packages/0/environmentVariables/0/isSecret wrong-type",
				"/packages/0/environmentVariables/0/variables/v/format not-one-of"}},
		{"icons", doc("icons",
			`[{"src":"http://example.com/i.png","mimeType":"text/html","sizes":["big"],"theme":"red"},{}]`), []string{
			"/icons/0/mimeType not-one-of", "/icons/0/sizes/0 pattern", "/icons/0/src icon-src-invalid-scheme",
			"/icons/0/theme not-one-of", "/icons/1/src required"}},

		// schema
		{"no schema", doc("$schema", ""), []string{"?/$schema schema-field-required"}},
		{"older schema", doc("$schema", `"`+strings.Replace(CurrentSchema, "2025-12-11", "2025-09-29", 1)+`"`),
			[]string{"?/$schema schema-version-deprecated"}},
		{"unknown schema", doc("$schema", `"https://example.com/schemas/2025-12-11/server.schema.json"`),
			[]string{"/$schema schema-version-not-available"}},
		{"source mode", `{"name":"a","version":"1.0.0","runtime":"node","entry":"x.js"}`,
			[]string{"/runtime source-mode"}},
		{"both kinds", doc("entry", `"x.js"`), []string{"/entry both-kinds"}},

		// meaning
		{"latest", doc("version", `"Latest"`), []string{"/version reserved-version-string"}},
		{"control character", doc("version", `"1.0\u0000"`),
			[]string{"/version version-not-addressable", "?/version hidden-characters"}},
		{"two lines", doc("version", `"1\n2"`), []string{"/version version-not-addressable"}},
		{"dots", doc("version", `".."`), []string{"/version version-not-addressable"}},
		{"ranges", doc("version", `"^1.2.3"`), []string{"/version version-looks-like-range"}},
		{"package range",
			doc("packages", `[{"registryType":"npm","identifier":"a","version":"1.x","transport":{"type":"stdio"}}]`),
			[]string{"/packages/0/version version-looks-like-range"}},
		{"not exact",
			doc("packages", `[{"registryType":"npm","identifier":"a","version":"1.0","transport":{"type":"stdio"}}]`),
			[]string{"/packages/0/version version-not-exact"}},
		{"no version", doc("packages", `[{"registryType":"npm","identifier":"a","transport":{"type":"stdio"}}]`),
			[]string{"/packages/0/version version-required"}},
		{"bad identifier",
			doc("packages",
				`[{"registryType":"npm","identifier":"a b","version":"1.0.0","transport":{"type":"stdio"}}]`),
			[]string{"/packages/0/identifier invalid-identifier"}},
		{"registry type",
			doc("packages",
				`[{"registryType":"docker","identifier":"a","version":"1.0.0","transport":{"type":"stdio"}}]`),
			[]string{"/packages/0/registryType unsupported-registry-type"}},
		{"placeholders", doc("version", `"{{ v }}"`, "packages",
			`[{"registryType":"npm","identifier":"a","version":"${VERSION}","transport":{"type":"stdio"}},`+
				`{"registryType":"oci","identifier":"oci.example.com/a/b:${VERSION}","transport":{"type":"stdio"}}]`),
			[]string{"/packages/0/version placeholder", "/packages/1/identifier placeholder", "/version placeholder"}},
		{"examples", doc("description", `"It [describe what your server does]"`, "packages",
			`[{"registryType":"pypi","identifier":"your-package","version":"1.0","transport":{"type":"stdio"},`+
				`"environmentVariables":[{"name":"YOUR_API_KEY"},{"name":"NOTES_API_KEY"}]}]`),
			[]string{"?/description example-left", "?/packages/0/environmentVariables/0/name example-left",
				"?/packages/0/identifier example-left"}},
		{"base url", pkg(`,"registryBaseUrl":"http://npm.example.com"`),
			[]string{"/packages/0/registryBaseUrl registry-base-url-invalid-scheme"}},
		{"oci", doc("packages",
			`[{"registryType":"oci","identifier":"oci.example.com/a/b:1","version":"1.0.0",`+
				`"transport":{"type":"stdio"}}]`), []string{"/packages/0/version member-not-allowed"}},
		{"oci tag", doc("packages",
			`[{"registryType":"oci","identifier":"oci.example.com/a/b","transport":{"type":"stdio"}}]`),
			[]string{"/packages/0/identifier invalid-identifier"}},
		{"mcpb without hash",
			doc("packages",
				`[{"registryType":"mcpb","identifier":"https://example.com/a.mcpb","transport":{"type":"stdio"}}]`),
			[]string{"?/packages/0/fileSha256 file-sha256-missing"}},
		{"mcpb http",
			doc("packages",
				`[{"registryType":"mcpb","identifier":"http://example.com/a.mcpb","fileSha256":"`+hexA+
					`","transport":{"type":"stdio"}}]`), []string{"/packages/0/identifier invalid-identifier"}},
		{"website", doc("websiteUrl", `"http://example.com"`), []string{"/websiteUrl website-url-invalid-scheme"}},
		{"website relative", doc("websiteUrl", `"example.com"`), []string{"/websiteUrl website-url-invalid"}},
		{"website no URL", doc("websiteUrl", `"https://["`), []string{"/websiteUrl website-url-invalid"}},
		{"website scheme", doc("websiteUrl", `"//example.com/x"`), []string{"/websiteUrl website-url-invalid"}},
		{"website opaque", doc("websiteUrl", `"javascript:alert(1)"`), []string{"/websiteUrl website-url-invalid"}},
		{"website user", doc("websiteUrl", `"https://u@example.com/"`), []string{"/websiteUrl website-url-invalid"}},
		{"website quotes", doc("websiteUrl", `"https://example.com/\"onclick"`),
			[]string{"/websiteUrl website-url-invalid-characters"}},
		{"title", doc("title", `"  "`), []string{"/title title-whitespace-only"}},
		{"hidden", doc("description", `"Notes\u202e"`), []string{"?/description hidden-characters"}},
		{"repository", doc("repository", `{"url":"https://github.com/acme","source":"github","subfolder":"../x"}`),
			[]string{"/repository/subfolder invalid-subfolder-path", "/repository/url invalid-repository-url"}},
		{"repository members", doc("repository", `{}`),
			[]string{"/repository/source required", "/repository/url required"}},
		{"repository elsewhere", doc("repository", `{"url":"https://git.example.com/acme/notes","source":"gitea"}`),
			[]string{"?/repository/source unknown-repository-source"}},
		{"stdio url",
			doc("packages",
				`[{"registryType":"npm","identifier":"a","version":"1.0.0","transport":{"type":"stdio",`+
					`"url":"https://example.com"}}]`),
			[]string{"/packages/0/transport/url stdio-transport-url-not-empty"}},
		{"no url", doc("packages",
			`[{"registryType":"npm","identifier":"a","version":"1.0.0","transport":{"type":"sse"}}]`),
			[]string{"/packages/0/transport/url transport-url-required"}},
		{"unknown variable",
			doc("packages",
				`[{"registryType":"npm","identifier":"a","version":"1.0.0","transport":{"type":"sse",`+
					`"url":"http://localhost:{PORT}/{x}"},"environmentVariables":[{"name":"PORT"}]}]`),
			[]string{"/packages/0/transport/url invalid-templated-url"}},
		{"remote", remote(
			`{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{}}}`), nil},
		{"remote stdio", remote(`{"type":"stdio"}`), []string{"/remotes/0/type unsupported-remote-transport-type"}},
		{"remote http", remote(`{"type":"sse","url":"http://example.com/mcp"}`),
			[]string{"/remotes/0/url invalid-remote-url"}},
		{"remote here", remote(`{"type":"sse","url":"https://LOCALHOST:1/mcp"}`),
			[]string{"/remotes/0/url invalid-remote-url"}},
		{"remote 127",
			remote(`{"type":"sse","url":"https://127.0.0.2/mcp"},{"type":"sse","url":"https://a.localhost/mcp"}`),
			[]string{"/remotes/0/url invalid-remote-url", "/remotes/1/url invalid-remote-url"}},
		{"remote user", remote(`{"type":"sse","url":"https://u:p@example.com/mcp"}`),
			[]string{"/remotes/0/url invalid-url"}},
		{"remote twice",
			remote(`{"type":"sse","url":"https://example.com/mcp"},{"type":"streamable-http",` +
				`"url":"https://example.com/mcp"}`), []string{"/remotes/1/url duplicate-remote-url"}},
		{"header", remote(
			`{"type":"sse","url":"https://example.com/mcp","headers":[{"name":"X: y"},{"name":"Y","value":"a\nb"}]}`),
			[]string{"/remotes/0/headers/0/name invalid-header-name", "/remotes/0/headers/1 invalid-header-value"}},
		{"arguments",
			pkg(`,"runtimeHint":"npx","runtimeArguments":[{"type":"positional"},{"type":"positional","value":""},` +
				`{"type":"named"},{"type":"named","name":"--port 80"},{"type":"named","name":"--p","value":"--p=1",` +
				`"default":"--p"}]`), []string{
				"/packages/0/runtimeArguments/0 positional-argument-value-or-hint-required",
				"/packages/0/runtimeArguments/2/name named-argument-name-required",
				"/packages/0/runtimeArguments/3/name invalid-named-argument-name",
				"/packages/0/runtimeArguments/4/default argument-default-starts-with-name",
				"/packages/0/runtimeArguments/4/value argument-value-starts-with-name"}},
		{"environment", pkg(`,"environmentVariables":[{"name":"A=B"},{"name":""}]`),
			[]string{"/packages/0/environmentVariables/0/name invalid-environment-variable",
				"/packages/0/environmentVariables/1/name invalid-environment-variable"}},
		{"meta", doc("_meta", `{"com.example/x":1}`), []string{"?/_meta/com.example~1x unknown-meta"}},
		{"meta 4096", doc("_meta", `{"`+publisherMeta+`": { "a" : "`+strings.Repeat("a", 4096-8)+`" } }`), nil},
		{"meta 4097", doc("_meta", `{"`+publisherMeta+`":{"a":"`+strings.Repeat("a", 4097-8)+`"}}`),
			[]string{meta + " publisher-meta-too-large"}},
		{"meta type", doc("_meta", `{"`+publisherMeta+`":[]}`), []string{meta + " wrong-type"}},

		// file_hashes
		{"hashes", hashes(
			`"npm:@acme/notes@1.4.0":"sha256:` + hexA +
				`","pypi:acme-notes==1.4.0/acme_notes-1.4-py3-none-any.whl":"sha256:` + hexA +
				`","pypi:acme-notes==1.4/acme_notes-1.4.tar.gz":"sha256:` + strings.ToUpper(hexB) +
				`","github:acme/notes/v1/notes.mcpb":"sha256:` + hexA + `"`), nil},
		{"hash types", hashes(`"npm:@acme/notes@1.4.0":1`), []string{"/file_hashes/npm:@acme~1notes@1.4.0 wrong-type"}},
		{"hash of other version", hashes(`"npm:@acme/notes@1.4.1":"sha256:` + hexA + `"`),
			[]string{"/file_hashes/npm:@acme~1notes@1.4.1 hash-key-stranger"}},
		{"hash of other file", hashes(`"github:acme/notes/v1/other":"sha256:` + hexA + `"`),
			[]string{"/file_hashes/github:acme~1notes~1v1~1other hash-key-stranger"}},
		{"hash of no Ref", hashes(`"notes":"sha256:` + hexA + `"`), []string{"/file_hashes/notes hash-key-invalid"}},
		{"hash of a range", hashes(`"npm:@acme/notes@^1.4.0":"sha256:` + hexA + `"`),
			[]string{"/file_hashes/npm:@acme~1notes@^1.4.0 hash-key-invalid"}},
		{"hash twice",
			hashes(`"pypi:acme-notes==1.4":"sha256:` + hexA + `","pypi:acme.notes==1.4.0":"sha256:` + hexA + `"`),
			[]string{"/file_hashes/pypi:acme.notes==1.4.0 hash-key-duplicate"}},
		{"hash values", hashes(`"npm:@acme/notes@1.4.0":"` + hexA + `","pypi:acme-notes==1.4":"sha256:abc"`),
			[]string{"/file_hashes/npm:@acme~1notes@1.4.0 hash-malformed",
				"/file_hashes/pypi:acme-notes==1.4 hash-malformed"}},
		{"hash algorithms",
			hashes(`"npm:@acme/notes@1.4.0":"blake3:` + hexA + `","pypi:acme-notes==1.4":"sha512:` + hexA + hexA + `"`),
			[]string{"/file_hashes/pypi:acme-notes==1.4 hash-not-sha256",
				"?/file_hashes/npm:@acme~1notes@1.4.0 hash-algorithm-unknown"}},
		{"hashes disagree", hashes(`"github:Acme/notes/v1/notes.mcpb":"sha256:` + hexB + `"`),
			[]string{"/packages/2/fileSha256 hashes-disagree"}},
		{"hash in meta",
			doc("_meta", `{"`+publisherMeta+`":{"file_hashes":{"npm:@acme/notes@1.4.0":"sha256:`+hexA+`","x":"sha256:`+
				hexA+`"}}}`, "file_hashes", `{"npm:@acme/notes@1.4.0":"sha256:`+hexA+`"}`),
			[]string{meta + "/file_hashes/x hash-key-invalid"}},
		{"meta disagrees",
			doc("_meta", `{"`+publisherMeta+`":{"file_hashes":{"npm:@acme/notes@1.4.0":"sha256:`+hexB+`"}}}`,
				"file_hashes", `{"npm:@acme/notes@1.4.0":"sha256:`+hexA+`"}`),
			[]string{meta + "/file_hashes/npm:@acme~1notes@1.4.0 hashes-disagree"}},

		// package_location
		{"location", doc("packages", "", "package_location", `{"type":"npm","package_name":"@acme/notes"}`), nil},
		{"location url",
			doc("packages", "", "package_location", `{"type":"npm","package_name":"a","url":"https://example.com"}`),
			[]string{"?/package_location/url location-url-ignored"}},
		{"location both", doc("package_location", `{"type":"npm","package_name":"a"}`),
			[]string{"/package_location both-locations"}},
		{"location github", doc("packages", "", "package_location", `{"type":"github","url":"https://example.com/a"}`),
			[]string{"/package_location/url invalid-identifier"}},
		{"location nothing", doc("packages", "", "package_location", `{"type":"url"}`),
			[]string{"/package_location/url required"}},
	} {
		got := problems(t, c.text)
		want := slices.Clone(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %.400s\n got %q\nwant %q", c.name, c.text, got, want)
		}
	}
}

func TestMissingSchemaAtPublish(t *testing.T) {
	d, err := Parse([]byte(doc("$schema", "")))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate().Err(); err != nil {
		t.Errorf("locally: %v", err)
	}
	if err := d.ValidateForPublish().Err(); err == nil {
		t.Error("published without $schema")
	}
}

func TestSourceMode(t *testing.T) {
	for text, want := range map[string]bool{
		`{"name":"a","version":"1.0.0","runtime":"node","entry":"x.js"}`: true,
		`{"runtime":"node","remotes":[]}`:                                false,
		`{"name":1}`:                                                     false,
	} {
		_, err := Parse([]byte(text))
		if e, ok := errors.AsType[*Invalid](err); !ok || e.SourceMode() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOldestSchema(t *testing.T) {
	schema := strings.Replace(CurrentSchema, "2025-12-11", "2025-07-09", 1)
	text := doc("$schema", `"`+schema+`"`, "status", `"active"`, "website_url", `"http://example.com"`, "packages",
		`[{"registry_type":"oci","registry_base_url":"https://oci.example.com","identifier":"acme/notes",`+
			`"version":"1.4.0","transport":{"type":"stdio"},"environment_variables":[{"name":"A",`+
			`"is_required":true}],"fileSha256":"`+hexA+`"}]`)
	want := []string{"/packages/0/fileSha256 unknown-member", "/website_url website-url-invalid-scheme",
		"?/$schema schema-version-deprecated", "?/packages/0/registry_base_url member-not-used",
		"?/packages/0/version member-not-used"}
	got := problems(t, text)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	d, err := Parse([]byte(strings.Replace(text, `,"fileSha256":"`+hexA+`"`, "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if ref, err := d.Packages[0].Ref(); err != nil || ref.String() != "oci:oci.example.com/acme/notes:1.4.0" {
		t.Errorf("%s, %v", ref, err)
	}
	if e := d.Packages[0].EnvironmentVariables; len(e) != 1 || !e[0].IsRequired {
		t.Errorf("environment %+v", e)
	}
}

// The official registry's documentation holds documents that must all be accepted.
func TestOfficialExamples(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?s)```json(?: [^\r\n]+)?\r?\n(.*?)\r?\n```")
	count, packages := 0, 0
	for _, file := range []string{"reference/server-json/generic-server-json.md",
		"modelcontextprotocol-io/package-types.mdx", "modelcontextprotocol-io/quickstart.mdx",
		"modelcontextprotocol-io/remote-servers.mdx"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "docs", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllSubmatch(data, -1) {
			var probe struct {
				Schema string `json:"$schema"`
				Server json.RawMessage
			}
			if json.Unmarshal(m[1], &probe) != nil {
				continue
			}
			text := m[1]
			if probe.Server != nil {
				text = probe.Server
			} else if probe.Schema == "" && !strings.Contains(file, "generic") {
				continue // a package.json or a client's configuration
			}
			count++
			d, err := Parse(text)
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, text)
				continue
			}
			if err := d.Validate().Err(); err != nil {
				t.Errorf("%s: %v\n%s", file, err, text)
			}
			for _, p := range d.Packages {
				packages++
				if _, err := p.Ref(); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
	if count != 31 || packages != 22 {
		t.Errorf("%d documents with %d packages, want 31 with 22", count, packages)
	}
}

func TestIssuesAreBounded(t *testing.T) {
	_, err := Parse([]byte(doc("icons", `[`+strings.TrimSuffix(strings.Repeat(`{},`, 5000), ",")+`]`)))
	e, ok := errors.AsType[*Invalid](err)
	if !ok || len(e.Issues) < maxIssues || len(e.Issues) > 2*maxIssues || len(err.Error()) > 5000 {
		t.Errorf("%d issues, message of %d bytes", len(e.Issues), len(err.Error()))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(doc()))
	f.Add([]byte(
		doc("packages", `[`+mcpbPackage+`,`+pypiPackage+`]`, "file_hashes", `{"npm:a@1.0.0":"sha256:`+hexA+`"}`)))
	f.Add([]byte(
		doc("packages", "", "remotes", `[{"type":"sse","url":"https://{a}/","variables":{"a":{}}}]`, "_meta",
			`{"`+publisherMeta+`":{"file_hashes":{"x":"y"}}}`)))
	f.Add([]byte(doc("package_location", `{"type":"github","url":"https://example.com"}`)))
	f.Add([]byte(pkg(`,"runtimeArguments":[{"type":"named","name":"--a","value":"b"}]`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			e, ok := errors.AsType[*Invalid](err)
			if !ok || e.Issues.Err() == nil || d != nil {
				t.Fatalf("error %v", err)
			}
			for _, i := range e.Issues {
				if i.Path == "" && i.Type == TypeSchema && strings.HasPrefix(i.Message, "json:") {
					t.Fatalf("the walk left what does not decode: %v", i)
				}
			}
			return
		}
		issues := d.Validate()
		claims, cannot := d.Claims("x")
		if len(claims)+len(cannot) < len(d.FileHashes) {
			t.Fatalf("%d claims and %d others of %d entries", len(claims), len(cannot), len(d.FileHashes))
		}
		set, err := SetFileHashes(data, []FileHash{{Key: "k", Value: "v"}})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(set)
		if err != nil {
			t.Fatalf("%v\n%s", err, set)
		}
		if i := slices.IndexFunc(again.FileHashes, func(h FileHash) bool {
			return h.Pointer == "/file_hashes/k"
		}); i < 0 || again.FileHashes[i].Value != "v" {
			t.Fatalf("file_hashes %v\n%s", again.FileHashes, set)
		}
		if issues.Err() == nil && len(issues) == 0 && d.Name == "" {
			t.Fatal("valid without a name")
		}
	})
}
