package serverjson

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

// What the official registry refuses, and is valid here, is said with the date of its schema; e2e/official compares the two.
func TestOfficialIssues(t *testing.T) {
	const head = `{"$schema":"` + CurrentSchema + `","name":"com.example/notes","description":"Notes",`
	npm := func(version, more string) string {
		return `"version":"` + version + `","packages":[{"registryType":"npm","identifier":"notes","version":"1.0.0","transport":` + more + `}]}`
	}
	const stdio = `{"type":"stdio"}`
	mcpb := func(url string) string {
		return `"version":"1.0.0","packages":[{"registryType":"mcpb","identifier":"` + url + `","transport":` + stdio + `}]}`
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":          {head + npm("1.0.0", stdio), nil},
		"an extension":     {head + `"x-acme":1,` + npm("1.0.0", stdio), []string{"/x-acme official-member"}},
		"one below":        {head + npm("1.0.0", `{"type":"stdio","x-acme":1}`), []string{"/packages/0/transport/x-acme official-member"}},
		"hashes":           {head + `"file_hashes":{},` + npm("1.0.0", stdio), []string{"/file_hashes official-hashes"}},
		"the older member": {head + `"version":"1.0.0","package_location":{"type":"npm","package_name":"notes"}}`, []string{"/package_location official-member"}},
		"a pre-release":    {head + npm("1.0.0-x.1", stdio), []string{"/version official-range"}},
		"a plain one":      {head + npm("1.0.0-rc.1", stdio), nil},
		"the transport's own variable": {head + npm("1.0.0", `{"type":"sse","url":"https://{host}/sse","variables":{"host":{}}}`),
			[]string{"/packages/0/transport/url official-variable"}},
		"a bundle elsewhere": {head + mcpb("https://example.com/notes.mcpb"), []string{"/packages/0/identifier official-bundle-host"}},
		"a bundle in a tree": {head + mcpb("https://github.com/acme/mcp/raw/main/notes.mcpb"), []string{"/packages/0/identifier official-bundle-host"}},
		"a bundle without mcp": {head + mcpb("https://github.com/acme/notes/releases/download/v1/notes.zip"),
			[]string{"/packages/0/identifier official-bundle-host"}},
		"a released bundle":  {head + mcpb("https://github.com/acme/notes/releases/download/v1/notes.mcpb"), nil},
		"a bundle of GitLab": {head + mcpb("https://gitlab.com/acme/notes/-/releases/v1/downloads/notes.mcpb"), nil},
		"a slash too many": {head + strings.Replace(npm("1.0.0", stdio), `"identifier"`, `"registryBaseUrl":"`+model.RegistryURLNPM+`/","identifier"`, 1),
			[]string{"/packages/0/registryBaseUrl official-base-url"}},
		"the usual registry": {head + strings.Replace(npm("1.0.0", stdio), `"identifier"`, `"registryBaseUrl":"`+model.RegistryURLNPM+`","identifier"`, 1), nil},
		"the oldest spelling": {`{"$schema":"` + strings.Replace(CurrentSchema, "2025-12-11", "2025-07-09", 1) + `","name":"com.example/notes",` +
			`"description":"Notes","version":"1.0.0","status":"active"}`, []string{"/$schema official-spelling", "/status official-member"}},
	} {
		doc, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, i := range doc.OfficialIssues() {
			if got = append(got, i.Path+" "+i.Reference); !strings.Contains(i.Message, "(schema of 2025-12-11)") || i.Severity == SeverityError {
				t.Errorf("%s: %s %s", name, i.Severity, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
