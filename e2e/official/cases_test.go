package official

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

// document is a valid document with further members, or with others in place of its own.
func document(members ...string) string {
	m := map[string]string{
		"$schema":     quote(model.CurrentSchemaURL),
		"name":        `"com.example/notes"`,
		"description": `"Notes"`,
		"version":     `"1.4.0"`,
	}
	order := []string{"$schema", "name", "description", "version"}
	for i := 0; i < len(members); i += 2 {
		if _, ok := m[members[i]]; !ok {
			order = append(order, members[i])
		}
		m[members[i]] = members[i+1]
	}
	var b strings.Builder
	for i, name := range order {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quote(name), m[name])
	}
	return "{" + b.String() + "}"
}

// withPackage is a document with one npm package of which members are as given.
func withPackage(members string) string {
	return document("packages", `[{"registryType":"npm","identifier":"notes","version":"1.4.0",`+members+`}]`)
}

func withTransport(transport string) string { return withPackage(`"transport":` + transport) }

func withRemote(url string) string {
	return document("remotes", `[{"type":"sse","url":`+quote(url)+`,"variables":{"a":{},"host":{}}}]`)
}

func withMeta(value string) string {
	return document("_meta", `{"io.modelcontextprotocol.registry/publisher-provided":`+value+`}`)
}

// cases are documents beside the mutations: what either side's code treats in a way of
// its own, and the edges of each limit.
var cases = []string{
	document(),
	document("name", `"a/b"`), document("name", `"ab/cd"`), document("name", `"a-/bc"`),
	document("name", `"ab/c.d_e-f"`),
	document("name", `"ab/`+strings.Repeat("c", 197)+`"`), document("name", `"ab/`+strings.Repeat("c", 198)+`"`),
	document("name", `"`+strings.Repeat("ä", 10)+`/x"`),
	document("title", `" "`), document("title", `""`), document("title", `"`+strings.Repeat("ä", 100)+`"`),
	document("description", `" "`), document("description", `"`+strings.Repeat("ä", 101)+`"`),
	document("title", `"a\u0000b"`), document("title", `"\ud800"`), document("title", `"a\u200bb"`),

	document("$schema", quote(strings.Replace(model.CurrentSchemaURL, model.CurrentSchemaVersion, "draft", 1))),
	document("$schema", quote(strings.Replace(model.CurrentSchemaURL, model.CurrentSchemaVersion, "2025-10-17", 1))),
	document("$schema", quote(strings.Replace(model.CurrentSchemaURL, model.CurrentSchemaVersion, "2025-09-16", 1))),
	document("$schema", `"https://example.com/schemas/2025-12-11/server.schema.json"`),
	document("$schema", `"https://example.com/a"`),

	document("websiteUrl", `"http://example.com"`), document("websiteUrl", `"https://user@example.com/"`),
	document("websiteUrl", `"https:example.com"`),
	document("websiteUrl", `"https://"`), document("websiteUrl", `"https://example.com/a b"`),
	document("websiteUrl", `"https://example.com/<b>"`), document("websiteUrl", `""`),
	document("icons", `[{"src":"https://example.com/i.png"}]`),
	document("icons", `[{"src":"https://user@example.com/i.png"}]`), document("icons", `[{"src":"https:i.png"}]`),
	document("icons", `[{"src":"https://example.com/i.png","sizes":["1x1","any"]}]`),
	document("icons", `[{"src":"https://example.com/i.png","sizes":["big"]}]`),
	document("icons", `[{"src":"https://example.com/<i>.png"}]`),
	document("repository", `{}`), document("repository", `{"url":"https://github.com/a/b","source":"github"}`),
	document("repository", `{"url":"https://github.com/a/b","source":"gitlab"}`),
	document("repository", `{"url":"https://git.example.com/a/b","source":"gitea"}`),
	document("repository", `{"url":"https://github.com/a/b","source":"github","subfolder":"/x"}`),
	document("repository", `{"url":"https://github.com/a/b","source":"github","subfolder":"x/../y"}`),
	document("repository", `{"url":"https://gitlab.com/a/b/c","source":"gitlab"}`),

	withTransport(`{"type":"stdio"}`), withTransport(`{"type":"stdio","url":"https://example.com"}`),
	withTransport(`{"type":"stdio","url":""}`),
	withTransport(`{"type":"sse"}`), withTransport(`{"type":"sse","url":"http://localhost:8080/sse"}`),
	withTransport(`{"type":"sse","url":"http://{a}/"}`),
	withTransport(`{"type":"sse","url":"http://{a}/","variables":{"a":{}}}`),
	withTransport(`{"type":"sse","url":"http://user@example.com/"}`),
	withTransport(`{"type":"sse","url":"ftp://example.com/"}`),
	withTransport(`{"type":"ws","url":"https://example.com/"}`),
	withTransport(`{"type":"sse","url":"http://example.com/{}"}`),
	withPackage(`"transport":{"type":"sse","url":"http://127.0.0.1:{PORT}/"},"environmentVariables":[{"name":"PORT"}]`),
	withPackage(`"transport":{"type":"sse","url":"http://127.0.0.1:{--port}/"},"packageArguments":[{"type":"named",` +
		`"name":"--port"}]`),
	withPackage(`"transport":{"type":"sse","url":"http://{A}:8080/"},"environmentVariables":[{"name":"A"}]`),
	withPackage(`"transport":{"type":"sse","url":"{A}://example.com/"},"environmentVariables":[{"name":"A"}]`),
	withPackage(`"transport":{"type":"stdio"},"packageArguments":[{"type":"positional"}]`),
	withPackage(`"transport":{"type":"stdio"},"packageArguments":[{"type":"positional","value":""}]`),
	withPackage(`"transport":{"type":"stdio"},"packageArguments":[{"type":"named"}]`),
	withPackage(`"transport":{"type":"stdio"},"packageArguments":[{"type":"named","name":"--a b"}]`),
	withPackage(`"transport":{"type":"stdio"},"packageArguments":[{"type":"named","name":"--a","value":"--a=b"}]`),
	withPackage(`"transport":{"type":"stdio"},"packageArguments":[{"type":"named","name":"--a","default":"--a"}]`),
	withPackage(`"transport":{"type":"stdio"},"environmentVariables":[{"name":""}]`),
	withPackage(`"transport":{"type":"stdio"},"environmentVariables":[{"name":"A=B"}]`),
	withPackage(`"transport":{"type":"sse","url":"https://example.com","headers":[{"name":"A","value":"a\r\nb"}]}`),
	document("version", `"${VERSION}"`),
	withPackage(`"transport":{"type":"stdio"},"registryBaseUrl":"http://npm.example.com"`),
	withPackage(`"transport":{"type":"stdio"},"registryBaseUrl":"https://npm.example.com"`),
	withPackage(`"transport":{"type":"stdio"},"registryBaseUrl":"https://npm.example.com/<"`),
	withPackage(`"transport":{"type":"stdio"},"registryBaseUrl":"npm.example.com"`),
	withPackage(`"transport":{"type":"stdio"},"fileSha256":"` + strings.Repeat("a", 64) + `"`),
	withPackage(`"transport":{"type":"stdio"},"fileSha256":"` + strings.Repeat("A", 64) + `"`),
	document("packages", `[{"registryType":"npm","identifier":"a b","version":"1.0.0","transport":{"type":"stdio"}}]`),
	document("packages",
		`[{"registryType":"oci","identifier":"oci.example.com/a:1","version":"1","transport":{"type":"stdio"}}]`),
	document("packages",
		`[{"registryType":"oci","identifier":"oci.example.com/a:1","registryBaseUrl":"https://oci.example.com",`+
			`"transport":{"type":"stdio"}}]`),
	document("packages", `[{"registryType":"oci","identifier":"oci.example.com/A:1","transport":{"type":"stdio"}}]`),
	document("packages",
		`[{"registryType":"mcpb","identifier":"https://example.com/a.mcpb","transport":{"type":"stdio"}}]`),
	document("packages",
		`[{"registryType":"mcpb","identifier":"http://example.com/a.mcpb","transport":{"type":"stdio"}}]`),

	withRemote("https://example.com/"), withRemote("http://example.com/"), withRemote("https://localhost/"),
	withRemote("https://a.localhost/"), withRemote("https://127.0.0.1/"),
	withRemote("https://127.0.0.2/"), withRemote("https://[::1]/"), withRemote("https://LOCALHOST/"),
	withRemote("https://{a}.example.com/"), withRemote("https://{b}.example.com/"),
	withRemote("https://user@example.com/"), withRemote("https://example.com:{a}/"), withRemote("{a}://example.com/"),
	withRemote("https://{host}/"), withRemote("https://example.com/{}"),
	withRemote("https://example.com/a b"), withRemote("https://example.com/{a"), withRemote("https://"), withRemote(""),

	withMeta(`{"a":1}`), withMeta(`"a"`), withMeta(`{"a":12345678901234567890}`), withMeta(`{"a":{"b":1,"b":2}}`),
	withMeta(`{"a":"` + strings.Repeat("a", 5000) + `"}`),
	document("_meta", `{"com.example/x":1}`), document("_meta", `{}`), document("status", `"active"`),
	document("package_location", `{"type":"npm","package_name":"notes"}`),
	document("packages", `[{"registryType":"npm","identifier":"notes","version":"1.4.0","transport":{"type":"stdio"}}]`,
		"file_hashes", `{"npm:notes@1.4.0":"sha256:`+strings.Repeat("a", 64)+`"}`),
	document("file_hashes", `{"npm:notes@1.4.0":"sha256:`+strings.Repeat("a", 64)+`"}`), document("runtime", `"node"`),
	`[]`, `null`, `"a"`, `{}`, `{"name":`, document() + `{}`, "\ufeff" + document(),
	strings.Repeat(" ", 1000) + document(), strings.Repeat(" ", 1<<20) + document(),
	document("x-deep", strings.Repeat("[", 100)+strings.Repeat("]", 100)), "// comment\n" + document(),
	document("\u0000", `1`),
}
