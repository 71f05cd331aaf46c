package serverjson

import (
	"strconv"
	"strings"
	"testing"
)

// What an author may have meant is said with what is wrong, once.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ text, want, not string }{
		"a member with an underscore": {strings.Replace(doc(), `"registryType"`, `"registry_type"`, 1),
			`unknown member "registry_type"; did you mean registryType? Only the schema of 2025-07-09 has names with an underscore`, "is missing"},
		"a letter too few": {strings.Replace(doc(), `"description"`, `"descripton"`, 1), `did you mean description?`, "is missing"},
		"another case":     {strings.Replace(doc(), `"identifier"`, `"Identifier"`, 1), `did you mean identifier?`, "is missing"},
		"a name of before the first schema": {strings.Replace(doc(), `"registryType"`, `"registry_name"`, 1),
			`unknown member "registry_name"; did you mean registryType?`, "is missing"},
		"a package that says its name": {strings.Replace(doc(), `"identifier"`, `"name"`, 1),
			`/packages/0/name: unknown member "name"; did you mean identifier?`, "is missing"},
		"a page as npm calls it": {doc("homepage", `"https://example.com"`), `did you mean websiteUrl?`, "is missing"},
		"nothing like it":        {doc("license", `"MIT"`), `unknown member "license"`, "did you mean"},
		"an old schema": {strings.Replace(doc(), "2025-12-11", "2025-07-09", 1),
			`the schema of 2025-07-09, which $schema names, writes it registry_type: if the rest is newer, $schema is what is old`, "is missing"},
		"a digest with its algorithm": {pkg(`,"fileSha256":"sha256:` + hexA + `"`), "is not 64 lower-case hex digits, without sha256: before them", "^["},
		"a bundle by its name": {doc("packages", `[{"registryType":"mcpb","identifier":"notes","transport":{"type":"stdio"}}]`),
			"the identifier of an mcpb package is the URL of its file", "kind of artifact"},
		"a type as it is run":   {strings.Replace(doc(), `"npm"`, `"npx"`, 1), `"npx" is not one of npm, pypi, oci, nuget, cargo, mcpb; did you mean npm?`, ""},
		"a type as it is built": {strings.Replace(doc(), `"npm"`, `"docker"`, 1), "did you mean oci?", ""},
		"a type of bundles":     {strings.Replace(doc(), `"npm"`, `"github_release"`, 1), "did you mean mcpb?", ""},
		"a type in capitals":    {strings.Replace(doc(), `"npm"`, `"NPM"`, 1), "did you mean npm?", ""},
		"a type like no other":  {strings.Replace(doc(), `"npm"`, `"maven"`, 1), `"maven" is not one of`, "did you mean"},
		"the name of the official template": {doc("name", `"io.github.<your-username>/notes"`),
			"holds the placeholder <your-username>: write what it stands for", "does not match"},
		"the package of a template": {strings.Replace(doc(), `"@acme/notes"`, `"<your package ID here>"`, 1),
			"holds the placeholder <your package ID here>: write what it stands for", "malformed"},
		"the repository of a template": {doc("repository", `{"source":"github","url":"https://github.com/<your name>/<repo>"}`),
			"/repository/url: ", "is not the URL"},
		"a variable as a text": {pkg(`,"environmentVariables":["X"]`),
			"/packages/0/environmentVariables/0: must be an object", "cannot name"},
		"a byte order mark": {"\ufeff" + doc(), "begins with a byte order mark", "line 1"},
		"a comma too many":  {"{\n  \"name\": \"a\",\n}", "line 3, column 1: not JSON at byte", ""},
		"a quote too few":   {"{\n  \"name: 1\n}", "line 2, column 11: ", ""},
	} {
		_, err := Parse([]byte(c.text))
		if err == nil {
			d, _ := Parse([]byte(c.text))
			err = d.Validate().Err()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || c.not != "" && strings.Contains(err.Error(), c.not) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Emoji have code points that are not displayed, which hide nothing.
func TestEmojiIsText(t *testing.T) {
	for text, hides := range map[string]bool{"\U0001f5c2\ufe0f Notes": false, "\U0001f468\u200d\U0001f469\u200d\U0001f467": false,
		"Notes\ufe0f": true, "Notes \u200b": true} {
		d, err := Parse([]byte(doc("description", strconv.Quote(text))))
		if err != nil {
			t.Fatal(err)
		}
		if issues := d.Validate(); len(issues) > 0 != hides {
			t.Errorf("%+q: %v", text, issues)
		}
	}
}

// What an issue quotes is escaped once.
func TestIssueIsEscapedOnce(t *testing.T) {
	d, err := Parse([]byte(doc("description", `"Notes\u202e"`)))
	if err != nil {
		t.Fatal(err)
	}
	want := `/description: holds characters that are not visible: Notes\u{202e}`
	if issues := d.Validate(); len(issues) != 1 || issues[0].String() != want {
		t.Errorf("issues %q, want %q", issues, want)
	}
}
